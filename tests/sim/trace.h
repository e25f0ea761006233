#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace timelake::sim {

// What happened, in order. The hash is always kept, since two runs of a seed must agree in it; the
// lines only when asked for.
class Trace {
 public:
  explicit Trace(bool keep) : keep_(keep) {}

  void Add(double time, std::string_view who, std::string_view what) {
    const std::string line = fmt::format("{:9.2f} {:4} {}", time, who, what);
    for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    if (keep_) lines_.push_back(line);
  }

  uint64_t hash() const { return hash_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const bool keep_;
  uint64_t hash_ = 14695981039346656037u;  // FNV-1a
  std::vector<std::string> lines_;
};

}  // namespace timelake::sim
