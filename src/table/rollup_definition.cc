#include "table/rollup_definition.h"

#include <fmt/format.h>

#include "base/civil_time.h"

namespace timelake::table {
namespace {

struct Named {
  RollupKind kind;
  std::string_view name;  // the first of a kind is the one that is written
};

constexpr Named kNames[] = {
    {RollupKind::kCount, "count"},
    {RollupKind::kCount, "count_star"},
    {RollupKind::kSum, "sum"},
    {RollupKind::kMin, "min"},
    {RollupKind::kMax, "max"},
    {RollupKind::kAvg, "avg"},
    {RollupKind::kAvg, "mean"},
    {RollupKind::kStddevSamp, "stddev_samp"},
    {RollupKind::kStddevSamp, "stddev"},
    {RollupKind::kStddevPop, "stddev_pop"},
    {RollupKind::kVarSamp, "var_samp"},
    {RollupKind::kVarSamp, "variance"},
    {RollupKind::kVarPop, "var_pop"},
    {RollupKind::kFirst, "first"},
    {RollupKind::kFirst, "first_by"},
    {RollupKind::kLast, "last"},
    {RollupKind::kLast, "last_by"},
    {RollupKind::kM4, "m4"},
    {RollupKind::kTimeWeightedMean, "time_weighted_mean"},
    {RollupKind::kTimeWeightedMeanLinear, "time_weighted_mean_linear"},
};

}  // namespace

const RollupAggregate* SameArgument(const std::vector<RollupAggregate>& aggregates, RollupKind kind,
                                    const std::string& argument) {
  for (const auto& other : aggregates) {
    if (other.kind == kind && other.argument == argument) return &other;
  }
  return nullptr;
}

std::string RollupKindsText() {
  return "count, sum, min, max, avg, stddev_samp, stddev_pop, var_samp, var_pop, "
         "first(value, time), last(value, time), m4(time, value) and "
         "time_weighted_mean(time, value[, 'linear'])";
}

std::optional<size_t> TimeArgument(RollupKind kind) {
  if (kind == RollupKind::kM4 || IsOfCurve(kind)) return 0;
  if (kind == RollupKind::kFirst || kind == RollupKind::kLast) return 1;
  return std::nullopt;
}

bool IsOfCurve(RollupKind kind) {
  return kind == RollupKind::kTimeWeightedMean || kind == RollupKind::kTimeWeightedMeanLinear;
}

std::string_view RollupKindName(RollupKind kind) {
  for (const Named& named : kNames) {
    if (named.kind == kind) return named.name;
  }
  return "";
}

std::optional<RollupKind> FindRollupKind(std::string_view function) {
  for (const Named& named : kNames) {
    if (named.name == function) return named.kind;
  }
  return std::nullopt;
}

void NameStates(std::vector<RollupAggregate>* aggregates) {
  for (auto& aggregate : *aggregates) {
    const auto named = [&](const char* suffix) { return aggregate.name + suffix; };
    switch (aggregate.kind) {
      case RollupKind::kCount:
      case RollupKind::kSum:
      case RollupKind::kMin:
      case RollupKind::kMax:
      case RollupKind::kM4: aggregate.state = {aggregate.name}; break;
      case RollupKind::kAvg: {
        const auto* sum = SameArgument(*aggregates, RollupKind::kSum, aggregate.argument);
        const auto* count = SameArgument(*aggregates, RollupKind::kCount, aggregate.argument);
        aggregate.state = {sum ? sum->name : named("_sum"), count ? count->name : named("_count")};
        break;
      }
      case RollupKind::kStddevSamp:
      case RollupKind::kStddevPop:
      case RollupKind::kVarSamp:
      case RollupKind::kVarPop:
        aggregate.state = {named("_count"), named("_mean"), named("_m2")};
        break;
      case RollupKind::kFirst:
      case RollupKind::kLast: aggregate.state = {aggregate.name, named("_time")}; break;
      case RollupKind::kTimeWeightedMean:
      case RollupKind::kTimeWeightedMeanLinear:
        aggregate.state = {aggregate.name, named("_first_time"), named("_first"),
                           named("_last_time"), named("_last")};
        break;
    }
  }
}

std::string WidthText(const RollupWidth& width) {
  if (width.months > 0) {
    return width.months % 12 == 0 ? fmt::format("{}y", width.months / 12)
                                  : fmt::format("{}mo", width.months);
  }
  constexpr struct {
    int64_t micros;
    const char* unit;
  } kUnits[] = {{kMicrosPerDay, "d"},
                {3600 * kMicrosPerSecond, "h"},
                {60 * kMicrosPerSecond, "m"},
                {kMicrosPerSecond, "s"},
                {kMicrosPerMilli, "ms"}};
  for (const auto& unit : kUnits) {
    if (width.micros % unit.micros == 0) {
      return fmt::format("{}{}", width.micros / unit.micros, unit.unit);
    }
  }
  return fmt::format("{}us", width.micros);
}

}  // namespace timelake::table
