#include "sim/rules.h"

namespace timelake::sim {

const std::vector<RuleSwitch>& RuleSwitches() {
  using table::Rules;
  static const std::vector<RuleSwitch> switches = {
      {"probe_base_check", &Rules::probe_base_check},
      {"proof_before", &Rules::proof_before},
      {"cold_list", &Rules::cold_list},
      {"base_check", &Rules::base_check},
      {"base_skip", &Rules::base_skip,
       "step 4 is then always asked: more requests, no other answer"},
      {"shared_list", &Rules::shared_list},
      {"list_same", &Rules::list_same},
      {"again_unknown", &Rules::again_unknown},
      {"own_name", &Rules::own_name},
      {"unsettled_unknown", &Rules::unsettled_unknown},
      {"clean_known", &Rules::clean_known},
      {"verdict_fixed", &Rules::verdict_fixed},
      {"uuid", &Rules::uuid},
      {"hint_cas", &Rules::hint_cas},
      {"hint_valid", &Rules::hint_valid},
      {"hint_repair", &Rules::hint_repair},
      {"free_age", &Rules::free_age},
      {"free_hint", &Rules::free_hint},
      {"free_order", &Rules::free_order},
      {"free_files_first", &Rules::free_files_first},
      {"free_diff", &Rules::free_diff},
      {"free_chain", &Rules::free_chain},
      {"batch_ids", &Rules::batch_ids},
      {"batch_each", &Rules::batch_each},
      {"batch_ancestors", &Rules::batch_ancestors},
      {"batch_fold", &Rules::batch_fold},
      {"batch_anchor", &Rules::batch_anchor},
      {"batch_gap", &Rules::batch_gap},
      // An attempt that had effect is acknowledged by its name, before its id is looked for.
      {"batch_own", &Rules::batch_own, "", &Rules::own_name},
      {"index_chain", &Rules::index_chain},
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
