#include "base/duration.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/civil_time.h"
#include "base/text.h"

namespace timelake {
namespace {

struct Unit {
  std::string_view symbol;
  std::string_view short_word;
  std::string_view word;  // also with an 's'
  int64_t micros;
};

// Large to small.
constexpr Unit kUnits[] = {
    {"y", "yr", "year", 365 * kMicrosPerDay},
    {"w", "wk", "week", 7 * kMicrosPerDay},
    {"d", "d", "day", kMicrosPerDay},
    {"h", "hr", "hour", kMicrosPerHour},
    {"m", "min", "minute", kMicrosPerMinute},
    {"s", "sec", "second", kMicrosPerSecond},
    {"ms", "msec", "millisecond", kMicrosPerMilli},
    {"us", "usec", "microsecond", 1},
};

// Symbols of one letter keep their case: "M" is a month to many, "m" is a minute here.
std::optional<int64_t> MicrosOfUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (name == unit.symbol) return unit.micros;
  }
  if (name.size() < 2) return std::nullopt;
  const std::string lower = ToLowerAscii(name);
  std::string_view singular = lower;
  if (singular.size() > 2 && singular.ends_with('s')) singular.remove_suffix(1);
  for (const Unit& unit : kUnits) {
    if (lower == unit.symbol || singular == unit.short_word || singular == unit.word) {
      return unit.micros;
    }
  }
  return std::nullopt;
}

Status BadDuration(std::string_view text, std::string_view why) {
  return InvalidArgument(
      "duration {}: {}; write whole numbers with units y (365 days), w, d, h, m, s, ms or us, "
      "such as 90d or 1h30m",
      Quote(text), why);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes the longest prefix of `*rest` whose characters satisfy `belongs`.
std::string_view TakeWhile(std::string_view* rest, bool (*belongs)(char)) {
  const auto end = std::find_if_not(rest->begin(), rest->end(), belongs);
  const std::string_view taken = rest->substr(0, static_cast<size_t>(end - rest->begin()));
  rest->remove_prefix(taken.size());
  return taken;
}

}  // namespace

Result<int64_t> ParseDuration(std::string_view text) {
  std::string_view rest = Trim(text);
  if (rest.empty()) return BadDuration(text, "it is empty");
  if (rest[0] == '-') return BadDuration(text, "it is negative");
  int64_t total = 0;
  int64_t previous_unit = INT64_MAX;
  for (; !rest.empty(); rest = Trim(rest)) {
    const std::string_view digits = TakeWhile(&rest, IsDigit);
    if (digits.empty()) return BadDuration(text, fmt::format("no number before {}", Quote(rest)));
    rest = Trim(rest);
    const std::string_view name = TakeWhile(&rest, IsLetter);
    if (name.empty()) return BadDuration(text, fmt::format("no unit after {}", digits));
    const std::optional<int64_t> unit = MicrosOfUnit(name);
    if (!unit) return BadDuration(text, fmt::format("{} is not a unit", Quote(name)));
    if (*unit >= previous_unit) {
      return BadDuration(text, fmt::format("{} repeats a unit or follows a smaller one",
                                           Quote(name)));
    }
    previous_unit = *unit;
    int64_t number;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc() ||
        __builtin_mul_overflow(number, *unit, &number) ||
        __builtin_add_overflow(total, number, &total)) {
      return BadDuration(text, "it is out of range (about 292,000 years)");
    }
  }
  return total;
}

std::string FormatDuration(int64_t micros) {
  if (micros == 0) return "0s";
  std::string text = micros < 0 ? "-" : "";
  // Unsigned, as the minimum of int64 has no positive counterpart.
  uint64_t rest = static_cast<uint64_t>(micros);
  if (micros < 0) rest = 0 - rest;
  for (const Unit& unit : kUnits) {
    if (unit.micros > kMicrosPerDay) continue;  // "90d" says more than "12w6d"
    const uint64_t width = static_cast<uint64_t>(unit.micros);
    if (rest >= width) text += fmt::format("{}{}", rest / width, unit.symbol);
    rest %= width;
  }
  return text;
}

}  // namespace timelake
