#pragma once

#include <string_view>
#include <vector>

#include "table/env.h"

namespace timelake::sim {

// A rule of the protocol that can be switched off, to show that the simulation finds the fault
// which the rule prevents.
struct RuleSwitch {
  std::string_view name;
  bool table::Rules::*member;
  std::string_view harmless = "";  // why nothing is lost without it; "" where something is
  // A second line of defence: found only when this one is off, too, which alone harms nothing
  // there.
  bool table::Rules::*behind = nullptr;
};
const std::vector<RuleSwitch>& RuleSwitches();

const RuleSwitch* FindRule(std::string_view name);

}  // namespace timelake::sim
