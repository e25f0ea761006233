#include "console.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "human.h"

namespace timelake::cli {
namespace {

constexpr int64_t kRedrawMs = 100;
constexpr int kBarCells = 30;

std::mutex mutex;
bool bar_shown = false;

void EraseBar() {
  if (bar_shown) std::fputs("\r\033[K", stderr);
  bar_shown = false;
}

int64_t NowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void Say(std::string_view label, std::string_view text) {
  const std::lock_guard lock(mutex);
  EraseBar();
  const std::string line = fmt::format("{}: {}\n", label, text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool StderrIsTerminal() {
  static const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  return is_terminal;
}

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)) {}

ProgressBar::~ProgressBar() {
  const std::lock_guard lock(mutex);
  EraseBar();
}

void ProgressBar::Update(int64_t rows, int64_t bytes_done, int64_t bytes_total) {
  if (!StderrIsTerminal()) return;
  const std::lock_guard lock(mutex);
  const int64_t now = NowMs();
  if (now - last_draw_ms_ < kRedrawMs) return;
  last_draw_ms_ = now;
  const double share =
      bytes_total > 0 ? std::clamp(static_cast<double>(bytes_done) / bytes_total, 0.0, 1.0) : 0.0;
  const int cells = static_cast<int>(share * kBarCells);
  const std::string line = fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f} % {}", what_, "", cells,
                                       "", kBarCells - cells, share * 100, Counted(rows, "row"));
  std::fwrite(line.data(), 1, line.size(), stderr);
  bar_shown = true;
}

}  // namespace timelake::cli
