#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Everything that goes to stderr: notes, warnings, the one error line, a progress bar on a
// terminal. Thread-safe.

namespace timelake::cli {

// "<label>: <text>" on a line of its own; a progress bar gives way and comes back.
void Say(std::string_view label, std::string_view text);

bool StderrIsTerminal();

// One bar, redrawn at most ten times a second; does nothing unless stderr is a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(int64_t rows, int64_t bytes_done, int64_t bytes_total);

 private:
  std::string what_;
  int64_t last_draw_ms_ = -1000;
};

}  // namespace timelake::cli
