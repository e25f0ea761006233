#include "suggest.h"

#include <algorithm>
#include <numeric>

namespace timelake::cli {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const bool extends = word.size() >= 2 && candidate.starts_with(word);
    const size_t distance = extends ? 1 : EditDistance(word, candidate);
    if (distance >= best || distance >= word.size()) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace timelake::cli
