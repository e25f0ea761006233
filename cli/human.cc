#include "human.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace timelake::cli {

std::string Count(int64_t number) {
  std::string text = fmt::format("{}", number);
  const size_t first_digit = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first_digit + 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string Counted(int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", Count(number), noun, number == 1 ? "" : "s");
}

std::string Bytes(int64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (size >= 1023.95 && unit + 1 < kUnits.size()) size /= 1024, ++unit;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string Seconds(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  return fmt::format("{:.1f} s", seconds);
}

std::string Duration(int64_t microseconds) {
  constexpr int64_t kMicrosPerSecond = 1'000'000;
  constexpr std::pair<int64_t, const char*> kUnits[] = {
      {86'400 * kMicrosPerSecond, "d"},
      {3'600 * kMicrosPerSecond, "h"},
      {60 * kMicrosPerSecond, "m"},
      {kMicrosPerSecond, "s"},
      {1'000, "ms"},
      {1, "us"},
  };
  std::string text;
  for (const auto& [size, unit] : kUnits) {
    if (microseconds < size) continue;
    text += fmt::format("{}{}", microseconds / size, unit);
    microseconds %= size;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace timelake::cli
