#include "sim/config.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace timelake::sim {
namespace {

// Leans the mix to where the fault of a switched-off rule can be. The schedule itself stays a
// matter of chance.
void Lean(const std::string& rule, Config* config) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), rule) != names.end();
  };
  if (is({"shared_list", "index_chain", "list_same"})) config->foreign = true;
  if (is({"uuid"})) config->droppers = 1;
  // Requests whose outcome is not known, and long sleeps among them.
  if (is({"own_name", "unsettled_unknown", "batch_own", "free_chain"})) {
    config->faults = 0.3;
    config->late = 0.3;
    config->suspensions = 0.03;
    config->maintainers = 2;
    config->more_turns = 4;
  }
  // Sends that take effect late, while the next send of the same bytes waits for very long.
  if (is({"again_unknown"})) {
    config->late = 0.3;
    config->put_sleeps = 0.1;
    config->maintainers = 2;
    config->more_turns = 8;
    config->step_us = 4000;
  }
  // Replies that are read long after they were given.
  if (is({"proof_before"})) {
    config->load_share = 1;
    config->probe_sleeps = 0.1;
    config->maintainers = 2;
    config->more_turns = 4;
  }
  // Dead forks that nobody deletes, and hints that name them.
  if (is({"cold_list", "free_chain"})) {
    config->put_sleeps = 0.1;
    config->maintainers = 2;
    config->more_turns = 4;
    config->crashes = 0.002;
    config->foreign = config->power_loss = false;
  }
  if (is({"cold_list"})) {
    config->readers = 3;
    config->restarts = 0.7;
    config->faults = 0.1;
    config->injected_hints = true;
    config->hint_spoils = 0.05;
  }
  // A table that nobody writes for long, is read, and then loses snapshots.
  if (is({"free_diff"})) {
    config->writers = 2;
    config->readers = 4;
    config->maintainers = 2;
    config->jumps = 0.03;
    config->step_us = 2000;
    config->more_turns = 4;
    config->droppers = 0;
    config->foreign = config->power_loss = false;
  }
  // Listings that sleeps tear to pieces.
  if (is({"list_same"})) {
    config->list_page = 1;
    config->suspensions = 0.05;
  }
  // Runs that are cut off, on disks that forget nothing.
  if (is({"free_files_first"})) {
    config->crashes = 0.005;
    config->maintainers = 3;
    config->foreign = config->power_loss = false;
  }
  // Those who rewrite the same files.
  if (is({"rewrite_there", "merge_inputs", "delete_inputs", "delete_watched"})) {
    config->rewriters = 4;
    config->writers = 2;
    config->more_turns = 4;
    config->foreign = false;
  }
  // Files taken out as no writer of ours does.
  if (is({"delete_watched"})) {
    config->foreign = config->dedup = true;
    config->foreign_deletes = 0.6;
    config->merge_share = 0.1;
    config->writers = 3;
  }
  if (is({"columns_each", "retention_each"})) {
    config->changers = 2;
    config->retainers = is({"retention_each"}) ? 2 : 0;
    config->more_turns = 4;
    config->foreign = false;
  }
  if (is({"batch_own"})) {
    config->batch_share = 1;
    config->batch_ids = 40;
    config->put_sleeps = 0.1;
  }
  if (rule.starts_with("batch_")) config->rollers = 2;
  if (rule.starts_with("hint_") || rule == "free_hint") {
    config->foreign = false;
    config->compare_and_swap = true;
    config->injected_hints = is({"hint_valid"});
  }
  // The hint is hard to write, and nobody moves it any more in the end.
  if (is({"hint_repair", "free_hint"})) {
    config->hint_faults = rule == "free_hint" ? 0.9 : 0.5;
    config->last_append = config->last_expiry = false;
  }
}

}  // namespace

Config MakeConfig(uint64_t seed, const std::string& lean, const Switches& switches) {
  Config config;
  config.seed = seed;
  config.rules = std::make_shared<const table::Rules>(switches.rules);
  config.rewrite_checks = switches.rewrites;
  config.match_columns = switches.match_columns;
  const auto random = SeededRandom(seed * 7 + 1);
  const auto maybe = [&](double probability) { return Chance(*random, probability); };
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random->Below(static_cast<uint64_t>(high - low + 1)));
  };
  config.dedup = maybe(0.7);
  config.foreign = maybe(0.2);
  config.power_loss = maybe(0.15);
  config.compare_and_swap = maybe(0.9);
  config.injected_hints = maybe(0.5);
  config.wrong_clocks = maybe(0.25);
  config.racing_creates = maybe(0.1);
  constexpr double kFaults[] = {0.02, 0.04, 0.08};
  config.faults = kFaults[random->Below(std::size(kFaults))];
  config.late = config.faults / 2;
  constexpr size_t kListPages[] = {1, 2, 7};
  config.list_page = kListPages[random->Below(std::size(kListPages))];
  constexpr int64_t kSteps[] = {1000, 2000, 4000, 8000};
  config.step_us = kSteps[random->Below(std::size(kSteps))];
  constexpr double kSuspensions[] = {0.005, 0.015, 0.03};
  config.suspensions = kSuspensions[random->Below(std::size(kSuspensions))];
  config.writers = between(2, 4);
  config.maintainers = between(1, 2);
  config.readers = between(0, 2);
  config.rollers = maybe(0.4) ? 1 : 0;
  config.droppers = maybe(0.15) ? 1 : 0;
  const int foreigners = between(1, 2);
  config.shared_handle = maybe(0.3);
  config.put_sleeps = maybe(0.3) ? 0.05 : 0;
  config.last_append = maybe(0.5);
  config.last_expiry = maybe(0.7);
  if (maybe(0.4)) {  // indexes grow by parts
    auto small = std::make_shared<table::Rules>(*config.rules);
    small->index_whole_rows = 1;
    config.rules = std::move(small);
  }
  // Last, so that what else a seed decides stays what it was; a rule's fault is looked for without.
  if (lean.empty()) {
    config.rewriters = between(0, 2);
    config.refreshers = between(0, 2);
    config.retainers = maybe(0.4) ? 1 : 0;
    config.changers = maybe(0.4) ? 1 : 0;
  }
  Lean(lean, &config);
  if (config.foreign) config.foreigners = foreigners;
  return config;
}

}  // namespace timelake::sim
