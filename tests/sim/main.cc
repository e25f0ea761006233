// The seeded simulation of the commit protocol (docs/commit-protocol.md): the real code of
// src/table, src/maintain and src/index under a scheduler, a clock and a store that a seed decides.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/rules.h"
#include "sim/run.h"

namespace timelake::sim {
namespace {

constexpr char kUsage[] =
    "usage: test_sim [--seeds N] [--first S] [--rule NAME=off]... [--lean NAME]\n"
    "       test_sim --seed S [--trace] [--rule NAME=off]... [--lean NAME]\n"
    "       test_sim --check-rules [--seeds-per-rule N] [--only NAME]\n";

struct Arguments {
  uint64_t seeds = 200;
  uint64_t first = 0;
  std::optional<uint64_t> seed;
  bool trace = false;
  bool check_rules = false;
  uint64_t seeds_per_rule = 2000;
  std::string only;
  Switches switches;
  std::string
      lean;  // to the mix that shows this rule's fault; by default the last one switched off
};

[[noreturn]] void Usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

void SwitchOff(const std::string& text, Arguments* arguments) {
  const size_t equals = text.find('=');
  const RuleSwitch* rule = FindRule(text.substr(0, equals));
  if (rule == nullptr || equals == std::string::npos || text.substr(equals) != "=off") {
    std::cerr << "unknown rule " << text << "; known are:";
    for (const RuleSwitch& known : RuleSwitches()) std::cerr << ' ' << known.name;
    std::cerr << '\n';
    std::exit(2);
  }
  rule->of(arguments->switches) = false;
  arguments->lean = rule->name;
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) Usage();
      return argv[i];
    };
    if (name == "--seeds") {
      arguments.seeds = std::stoull(value());
    } else if (name == "--first") {
      arguments.first = std::stoull(value());
    } else if (name == "--seed") {
      arguments.seed = std::stoull(value());
    } else if (name == "--trace") {
      arguments.trace = true;
    } else if (name == "--rule") {
      SwitchOff(value(), &arguments);
    } else if (name == "--lean") {
      arguments.lean = value();
    } else if (name == "--check-rules") {
      arguments.check_rules = true;
    } else if (name == "--seeds-per-rule") {
      arguments.seeds_per_rule = std::stoull(value());
    } else if (name == "--only") {
      arguments.only = value();
    } else {
      Usage();
    }
  }
  return arguments;
}

RunReport RunSeed(uint64_t seed, const std::string& lean, const Switches& switches, bool trace) {
  return Run(MakeConfig(seed, lean, switches), trace);
}

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// One kind of failure is one text without its numbers.
std::string KindOfFailure(const std::string& failure) {
  std::string kind;
  for (const char c : failure) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('#')) kind += '#';
  }
  return kind.substr(0, 70);
}

// Runs a range of seeds; the first one of each kind of failure, and every hundredth, twice.
class Series {
 public:
  explicit Series(const Arguments& arguments) : arguments_(arguments) {}

  int Run() {
    for (uint64_t i = 0; i < arguments_.seeds; ++i) {
      One(arguments_.first + i);
      if ((i + 1) % 100 == 0 || i + 1 == arguments_.seeds) {
        std::cerr << fmt::format("{} of {} seeds, {} failed, {:.0f} s of CPU\n", i + 1,
                                 arguments_.seeds, failed_, CpuSeconds());
      }
    }
    Print();
    return failed_ == 0 ? 0 : 1;
  }

 private:
  struct Group {
    uint64_t count = 0, first_seed = 0;
    std::string first;
  };

  void One(uint64_t seed) {
    const RunReport report = RunSeed(seed, arguments_.lean, arguments_.switches, false);
    for (const auto& [name, count] : report.counts) counts_[name] += count;
    std::string failure = report.failure;
    if (!failure.empty() || seed % 100 == 0) {
      const RunReport again = RunSeed(seed, arguments_.lean, arguments_.switches, false);
      if (again.hash != report.hash) failure = "the seed does not replay; " + failure;
    }
    if (failure.empty()) return;
    ++failed_;
    Group& group = groups_[KindOfFailure(failure)];
    if (group.count++ == 0) {
      group.first_seed = seed;
      group.first = failure;
    }
  }

  void Print() const {
    for (const auto& [name, count] : counts_) fmt::print("{:10} {}\n", count, name);
    for (const auto& [kind, group] : groups_) {
      fmt::print("{:6} x  first seed {}: {}\n", group.count, group.first_seed, group.first);
    }
    fmt::print("{} passed, {} failed\n", arguments_.seeds - failed_, failed_);
  }

  const Arguments& arguments_;
  uint64_t failed_ = 0;
  std::map<std::string, Group> groups_;
  std::map<std::string, int64_t> counts_;
};

int RunOne(const Arguments& arguments) {
  const RunReport report =
      RunSeed(*arguments.seed, arguments.lean, arguments.switches, arguments.trace);
  for (const auto& line : report.lines) std::cout << line << '\n';
  for (const auto& [name, count] : report.counts) fmt::print("{:10} {}\n", count, name);
  fmt::print("trace {:016x}\n", report.hash);
  if (!report.failure.empty()) std::cout << report.failure << '\n';
  fmt::print("{} passed, {} failed\n", report.failure.empty() ? 1 : 0,
             report.failure.empty() ? 0 : 1);
  return report.failure.empty() ? 0 : 1;
}

// Whether `seed` shows the fault that a rule prevents: it fails without the rule and not with it.
struct Finding {
  std::string fault;    // "" for none
  std::string control;  // what fails with the rule, too
};

Finding FindFault(uint64_t seed, const RuleSwitch& rule) {
  const std::string lean(rule.name);
  Switches switches;
  if (rule.behind != nullptr) rule.behind(switches) = false;
  const Switches with = switches;
  rule.of(switches) = false;
  Finding finding;
  finding.fault = RunSeed(seed, lean, switches, false).failure;
  if (finding.fault.empty()) return finding;
  finding.control = RunSeed(seed, lean, with, false).failure;
  // What the other rule prevents is no finding.
  if (!finding.control.empty() && rule.behind != nullptr) return {};
  return finding;
}

constexpr uint64_t kHarmlessSeeds = 200;

int CheckRules(const Arguments& arguments) {
  int passed = 0, failed = 0;
  for (const RuleSwitch& rule : RuleSwitches()) {
    if (!arguments.only.empty() && arguments.only != rule.name) continue;
    Finding finding;
    uint64_t tried = 0;
    const uint64_t most = !rule.harmless.empty()
                              ? std::min(kHarmlessSeeds, arguments.seeds_per_rule)
                              : arguments.seeds_per_rule;
    while (finding.fault.empty() && tried < most) {
      finding = FindFault(arguments.first + tried++, rule);
    }
    const bool good = finding.fault.empty() == !rule.harmless.empty() && finding.control.empty();
    ++(good ? passed : failed);
    std::string text = finding.fault.empty() ? "nothing" : finding.fault;
    if (!rule.harmless.empty()) text += fmt::format(" (harmless: {})", rule.harmless);
    fmt::print("{:18} {:>6} seeds  {}\n", rule.name, tried, text);
    if (!finding.control.empty()) fmt::print("  WITH THE RULE, TOO: {}\n", finding.control);
    std::fflush(stdout);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  if (arguments.check_rules) return CheckRules(arguments);
  if (arguments.seed) return RunOne(arguments);
  return Series(arguments).Run();
}

}  // namespace
}  // namespace timelake::sim

int main(int argc, char** argv) { return timelake::sim::Main(argc, argv); }
