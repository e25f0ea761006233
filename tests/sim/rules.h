#pragma once

#include <string_view>
#include <vector>

#include "sim/config.h"

namespace timelake::sim {

// A rule of the protocol that can be switched off, to show that the simulation finds the fault
// which the rule prevents.
struct RuleSwitch {
  std::string_view name;
  bool& (*of)(Switches& switches);
  std::string_view harmless = "";  // why nothing is lost without it; "" where something is
  // A second line of defence: found only when this one is off, too, which alone harms nothing
  // there.
  bool& (*behind)(Switches& switches) = nullptr;
};
const std::vector<RuleSwitch>& RuleSwitches();

const RuleSwitch* FindRule(std::string_view name);

}  // namespace timelake::sim
