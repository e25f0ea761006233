#include "base/text.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace timelake {
namespace {

constexpr size_t kQuotedCodePoints = 80;
constexpr std::string_view kSpace = " \t\r\n";

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment: Levenshtein plus swaps of neighbours. Quadratic, but names are short.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

// Takes the quoted name at the start of `*rest`, which begins with its opening quote.
Result<std::string> TakeQuotedName(std::string_view* rest, std::string_view whole) {
  std::string name;
  for (size_t i = 1; i < rest->size(); ++i) {
    if ((*rest)[i] != '"') {
      name += (*rest)[i];
    } else if (i + 1 < rest->size() && (*rest)[i + 1] == '"') {
      name += '"';
      ++i;
    } else {
      rest->remove_prefix(i + 1);
      return name;
    }
  }
  return InvalidArgument("list of names {}: a quoted name is not closed", Quote(whole));
}

}  // namespace

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string ToLowerAscii(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerChar);
  return lower;
}

Result<int64_t> ParseInt64(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    return InvalidArgument("{} does not fit in a 64-bit integer", Quote(text));
  }
  if (error != std::errc() || stop != end) {
    return InvalidArgument("{} is not an integer", Quote(text));
  }
  return value;
}

Result<std::vector<std::string>> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  std::string_view rest = Trim(text);
  if (rest.empty()) return names;
  while (true) {
    std::string name;
    if (rest.starts_with('"')) {
      TL_ASSIGN_OR_RAISE(name, TakeQuotedName(&rest, text));
      rest = Trim(rest);
      if (!rest.empty() && rest[0] != ',') {
        return InvalidArgument("list of names {}: a comma is missing after {}", Quote(text),
                               Quote(name));
      }
    } else {
      const size_t end = std::min(rest.find(','), rest.size());
      name = Trim(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    if (name.empty()) {
      return InvalidArgument("list of names {}: name {} is empty", Quote(text), names.size() + 1);
    }
    names.push_back(std::move(name));
    if (rest.empty()) return names;
    rest = Trim(rest.substr(1));
  }
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    if (name.find_first_of(",\"") == name.npos && Trim(name).size() == name.size()) {
      text += name;
      continue;
    }
    text += '"';
    for (char c : name) text.append(c == '"' ? 2 : 1, c);
    text += '"';
  }
  return text;
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  size_t position = 0;
  for (size_t shown = 0; position < text.size() && shown < kQuotedCodePoints; ++shown) {
    const unsigned char c = static_cast<unsigned char>(text[position]);
    const size_t length = SequenceLength(text.substr(position));
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += text[position];
    } else if (c == '\n' || c == '\r' || c == '\t') {
      quoted += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (length == 0 || c < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", c);
    } else {
      quoted += text.substr(position, length);
    }
    position += std::max<size_t>(length, 1);
  }
  quoted += position < text.size() ? "\"..." : "\"";
  return quoted;
}

std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates) {
  const std::string wanted = ToLowerAscii(name);
  const size_t limit = wanted.size() >= 5 ? 2 : wanted.size() >= 2 ? 1 : 0;
  const std::string* nearest = nullptr;
  size_t best = limit + 1;
  for (const std::string& candidate : candidates) {
    // A length gap is a lower bound of the distance; it also keeps long candidates cheap.
    const size_t gap = std::max(candidate.size(), wanted.size()) -
                       std::min(candidate.size(), wanted.size());
    if (gap >= best) continue;
    const size_t distance = EditDistance(wanted, ToLowerAscii(candidate));
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  if (nearest == nullptr) return std::nullopt;
  return *nearest;
}

std::string HumanBytes(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  constexpr std::string_view kUnits = "KMGTPE";
  size_t unit = 0;
  // 1023.95 would print as "1024.0".
  while ((value >= 1023.95 || value <= -1023.95) && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}iB", value, kUnits[unit]);
}

std::string HumanCount(int64_t count) {
  std::string text = fmt::format("{}", count);
  const size_t first_digit = count < 0 ? 1 : 0;
  for (size_t i = text.size(); i > first_digit + 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

}  // namespace timelake
