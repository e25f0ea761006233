#include "sim/rules.h"

namespace timelake::sim {

namespace {

template <bool table::Rules::*rule>
bool& Of(Switches& switches) {
  return switches.rules.*rule;
}
template <bool table::RewriteChecks::*check>
bool& OfRewrites(Switches& switches) {
  return switches.rewrites.*check;
}
bool& OfAppends(Switches& switches) { return switches.match_columns; }

}  // namespace

const std::vector<RuleSwitch>& RuleSwitches() {
  using table::Rules;
  using Checks = table::RewriteChecks;
  static const std::vector<RuleSwitch> switches = {
      {"probe_base_check", Of<&Rules::probe_base_check>},
      {"proof_before", Of<&Rules::proof_before>},
      {"cold_list", Of<&Rules::cold_list>},
      {"base_check", Of<&Rules::base_check>},
      {"base_skip", Of<&Rules::base_skip>,
       "step 4 is then always asked: more requests, no other answer"},
      {"shared_list", Of<&Rules::shared_list>},
      {"list_same", Of<&Rules::list_same>},
      {"again_unknown", Of<&Rules::again_unknown>},
      {"own_name", Of<&Rules::own_name>},
      {"unsettled_unknown", Of<&Rules::unsettled_unknown>},
      {"clean_known", Of<&Rules::clean_known>},
      {"verdict_fixed", Of<&Rules::verdict_fixed>},
      {"uuid", Of<&Rules::uuid>},
      {"hint_cas", Of<&Rules::hint_cas>},
      {"hint_valid", Of<&Rules::hint_valid>},
      {"hint_repair", Of<&Rules::hint_repair>},
      {"free_age", Of<&Rules::free_age>},
      {"free_hint", Of<&Rules::free_hint>},
      {"free_order", Of<&Rules::free_order>},
      {"free_files_first", Of<&Rules::free_files_first>},
      {"free_diff", Of<&Rules::free_diff>},
      {"free_chain", Of<&Rules::free_chain>},
      {"batch_ids", Of<&Rules::batch_ids>},
      {"batch_each", Of<&Rules::batch_each>},
      {"batch_ancestors", Of<&Rules::batch_ancestors>},
      {"batch_fold", Of<&Rules::batch_fold>},
      {"batch_anchor", Of<&Rules::batch_anchor>},
      {"batch_gap", Of<&Rules::batch_gap>},
      // An attempt that had effect is acknowledged by its name, before its id is looked for.
      {"batch_own", Of<&Rules::batch_own>, "", Of<&Rules::own_name>},
      {"index_chain", Of<&Rules::index_chain>},
      {"rewrite_there", OfRewrites<&Checks::there>,
       "who takes files out has looked for them in the same version"},
      // A file that is not there cannot be taken out.
      {"merge_inputs", OfRewrites<&Checks::merged>, "", OfRewrites<&Checks::there>},
      {"delete_inputs", OfRewrites<&Checks::deleted_from>, "", OfRewrites<&Checks::there>},
      {"delete_watched", OfRewrites<&Checks::watched>},
      {"columns_each", OfAppends},
      {"retention_each", OfRewrites<&Checks::each>},
  };
  return switches;
}

const RuleSwitch* FindRule(std::string_view name) {
  for (const RuleSwitch& rule : RuleSwitches()) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace timelake::sim
