#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace timelake::table {

// A rollup is a table whose rows are aggregates of another table's, one a group and time bucket.

enum class RollupKind {
  kCount,
  kSum,
  kMin,
  kMax,
  kAvg,
  kStddevSamp,
  kStddevPop,
  kVarSamp,
  kVarPop,
  kFirst,
  kLast,
  kM4,
  kTimeWeightedMean,  // each value holds until the next
  kTimeWeightedMeanLinear,
};

// The place of the time among the arguments; nullopt: it is none of them.
std::optional<size_t> TimeArgument(RollupKind kind);

// Whether states can be merged only where their times are apart: those of one group.
bool IsOfCurve(RollupKind kind);

// One aggregate, and the columns of which it can be merged: of kCount, kSum, kMin and kMax its own;
// of kM4 likewise; of kAvg sum and count; of the deviations count, mean and sum of squared
// differences; of kFirst and kLast its own and the time; of the time-weighted means their own, and
// time and value of the first and of the last reading.
struct RollupAggregate {
  std::string name;  // of its column
  RollupKind kind = RollupKind::kCount;
  std::string argument;  // SQL; empty: count(*)
  std::string type;      // of the result, as SQL has it
  std::vector<std::string> state;

  bool operator==(const RollupAggregate&) const = default;
};

// Width of the buckets: exactly one of the two is > 0. As the function time_bucket takes them.
struct RollupWidth {
  int64_t months = 0;
  int64_t micros = 0;
  std::string zone;                  // empty: UTC
  std::optional<int64_t> origin_us;  // absent: the function's own

  bool operator==(const RollupWidth&) const = default;
};

struct RollupDefinition {
  std::string source;  // "namespace.table"
  std::string time;    // its time column
  std::string bucket;  // the column of bucket starts, time column of the rollup
  RollupWidth width;
  std::vector<std::string> keys;    // columns, the same in both tables
  std::vector<std::string> filter;  // SQL; rows count for which all are true
  std::vector<RollupAggregate> aggregates;

  bool operator==(const RollupDefinition&) const = default;
};

// What a definition can hold, for messages.
std::string RollupKindsText();
// "sum", "stddev_samp", ...
std::string_view RollupKindName(RollupKind kind);
// By the name of an aggregate function, in lower case; synonyms, too.
std::optional<RollupKind> FindRollupKind(std::string_view function);

// The aggregate of a kind and argument, whose column can stand for a state; null: there is none.
const RollupAggregate* SameArgument(const std::vector<RollupAggregate>& aggregates, RollupKind kind,
                                    const std::string& argument);

// The state columns of an aggregate that have no column in `aggregates` yet, named after it.
void NameStates(std::vector<RollupAggregate>* aggregates);

// "1h", "90s", "7d": one unit.
std::string WidthText(const RollupWidth& width);

}  // namespace timelake::table
