#include "sql/functions/bucket_width.h"

#include <algorithm>
#include <string>

#include "base/civil_time.h"
#include "base/text.h"

namespace timelake::sql {

namespace {

struct Unit {
  std::string_view symbol;
  std::string_view short_word;
  std::string_view word;  // words also with an 's'
  int64_t months;
  int64_t micros;
};

constexpr Unit kUnits[] = {
    {"us", "usec", "microsecond", 0, 1},
    {"ms", "msec", "millisecond", 0, kMicrosPerMilli},
    {"s", "sec", "second", 0, kMicrosPerSecond},
    {"m", "min", "minute", 0, kMicrosPerMinute},
    {"h", "hr", "hour", 0, kMicrosPerHour},
    {"d", "d", "day", 0, kMicrosPerDay},
    {"w", "wk", "week", 0, 7 * kMicrosPerDay},
    {"mo", "mon", "month", 1, 0},
    {"q", "qtr", "quarter", 3, 0},
    {"y", "yr", "year", 12, 0},
};

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (name == unit.symbol) return &unit;
  }
  if (name == "M") return nullptr;
  const std::string lower = ToLowerAscii(name);
  std::string_view singular = lower;
  if (singular.size() > 2 && singular.ends_with('s')) singular.remove_suffix(1);
  for (const Unit& unit : kUnits) {
    if (lower == unit.symbol || singular == unit.short_word || singular == unit.word) return &unit;
  }
  return nullptr;
}

Status BadWidth(std::string_view text, std::string_view why) {
  return InvalidArgument(
      "width {}: {}; write whole numbers with units us, ms, s, m (minutes), h, d, w, mo (months), "
      "q or y, such as 15m, 1 day or 1mo, or an INTERVAL",
      Quote(text), why);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view TakeWhile(std::string_view* rest, bool (*belongs)(char)) {
  const auto end = std::find_if_not(rest->begin(), rest->end(), belongs);
  const std::string_view taken = rest->substr(0, static_cast<size_t>(end - rest->begin()));
  rest->remove_prefix(taken.size());
  return taken;
}

bool AddProduct(int64_t count, int64_t unit, int64_t* sum) {
  int64_t product = 0;
  return !__builtin_mul_overflow(count, unit, &product) &&
         !__builtin_add_overflow(*sum, product, sum);
}

}  // namespace

Result<BucketWidth> ParseBucketWidth(std::string_view text) {
  std::string_view rest = Trim(text);
  if (rest.empty()) return BadWidth(text, "it is empty");
  if (rest[0] == '-') return BadWidth(text, "must be greater than 0");
  BucketWidth width;
  for (; !rest.empty(); rest = Trim(rest)) {
    const std::string_view digits = TakeWhile(&rest, IsDigit);
    if (digits.empty()) return BadWidth(text, fmt::format("no number before {}", Quote(rest)));
    rest = Trim(rest);
    const std::string_view name = TakeWhile(&rest, IsLetter);
    if (name.empty()) return BadWidth(text, fmt::format("no unit after {}", digits));
    const Unit* unit = FindUnit(name);
    if (!unit) return BadWidth(text, fmt::format("unknown unit {}", Quote(name)));
    const auto count = ParseInt64(digits);
    if (!count.ok() || !AddProduct(*count, unit->months, &width.months) ||
        !AddProduct(*count, unit->micros, &width.micros)) {
      return BadWidth(text, "it is too large");
    }
  }
  if (width.months > 0 && width.micros > 0) {
    return BadWidth(text, "months do not go together with shorter units");
  }
  if (width.months > INT32_MAX) return BadWidth(text, "it is too large");
  if (width == BucketWidth{}) return BadWidth(text, "must be greater than 0");
  return width;
}

Result<BucketWidth> MakeBucketWidth(int64_t months, int64_t days, int64_t micros) {
  if (months != 0 && (days != 0 || micros != 0)) {
    return InvalidArgument("width: months do not go together with days or times in one INTERVAL");
  }
  BucketWidth width{months, micros};
  if (!AddProduct(days, kMicrosPerDay, &width.micros)) {
    return InvalidArgument("width: {} days are too many", days);
  }
  if (width.months <= 0 && width.micros <= 0) {
    return InvalidArgument("width: must be greater than 0");
  }
  return width;
}

}  // namespace timelake::sql
