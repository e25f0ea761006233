#include "follow.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "human.h"
#include "interrupt.h"
#include "output_stream.h"
#include "report.h"
#include "scratch_file.h"

namespace timelake::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A commit need not hold more, however many rows were asked for.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kReadBytes = size_t{64} << 10;

class Follower {
 public:
  Follower(Table table, const FollowOptions& options)
      : table_(std::move(table)), options_(options) {}

  Status Run(std::string* after_error);

 private:
  Status Read();
  int WaitMs() const;
  bool IsDue() const;
  Status Commit();

  Table table_;
  const FollowOptions& options_;
  ScratchFile scratch_;
  RecordCutter records_;
  Clock::time_point since_;  // of the oldest waiting record
  bool ended_ = false;
  int64_t rows_ = 0;
  int64_t commits_ = 0;
};

int Follower::WaitMs() const {
  if (records_.records() == 0) return 100;  // Ctrl-C may come between two looks
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_).count();
  return static_cast<int>(std::clamp<int64_t>(options_.flush_interval_ms - waited, 0, 100));
}

bool Follower::IsDue() const {
  if (records_.records() == 0) return false;
  return ended_ || Stopping() || records_.records() >= options_.flush_rows ||
         records_.bytes() >= kMostBytes ||
         Clock::now() - since_ >= std::chrono::milliseconds(options_.flush_interval_ms);
}

Status Follower::Read() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&input, 1, WaitMs());
  if (ready <= 0) {
    return ready == 0 || errno == EINTR
               ? Status::OK()
               : Status::IOError("cannot wait for standard input: ", std::strerror(errno));
  }
  std::string piece(kReadBytes, '\0');
  const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
  if (got < 0) {
    return errno == EINTR ? Status::OK()
                          : Status::IOError("cannot read standard input: ", std::strerror(errno));
  }
  const bool waited = records_.records() > 0;
  if (got == 0) {
    ended_ = true;
    records_.End();
  } else {
    records_.Feed(std::string_view(piece).substr(0, static_cast<size_t>(got)));
  }
  if (!waited) since_ = Clock::now();
  return Status::OK();
}

Status Follower::Commit() {
  const int64_t first_line = records_.first_line();
  ARROW_RETURN_NOT_OK(scratch_.Clear());
  ARROW_RETURN_NOT_OK(scratch_.Append(records_.Take()));
  ImportOptions import = options_.import;
  if (!import.append.batch_id.empty()) import.append.batch_id += fmt::format("-{}", commits_);
  import.rows_per_commit = INT64_MAX;
  const auto done = ImportFiles(table_, {scratch_.path()}, import);
  if (!done.ok()) {
    std::string message = done.status().message();
    const std::string place =
        fmt::format("standard input (counting from its line {}, behind the header)", first_line);
    for (size_t at; (at = message.find(scratch_.path())) != std::string::npos;) {
      message.replace(at, scratch_.path().size(), place);
    }
    return done.status().WithMessage(message);
  }
  ++commits_;
  rows_ += done->rows;
  const Json json = {{"table", table_.name()},   {"rows", done->rows},
                     {"skipped", done->skipped}, {"duplicates", done->duplicates},
                     {"version", done->version}, {"total_rows", rows_}};
  std::string text = fmt::format("{}: {} durable in version {}, {} in all", table_.name(),
                                 Counted(done->rows, "row"), done->version, rows_);
  if (done->duplicates > 0) text += "; known by batch id and not repeated";
  return PrintOut((options_.json ? json.dump() : text) + "\n");
}

Status Follower::Run(std::string* after_error) {
  ARROW_RETURN_NOT_OK(scratch_.Make());
  Status status;
  while (status.ok() && !ended_ && !Stopping()) {
    status = Read();
    if (status.ok() && IsDue()) status = Commit();
  }
  if (status.ok() && IsDue()) status = Commit();
  if (!status.ok()) {
    *after_error = fmt::format("{} with {} made before the error stay", Counted(commits_, "commit"),
                               Counted(rows_, "row"));
  }
  return status;
}

}  // namespace

void RecordCutter::Cut(size_t end) {
  const std::string_view record = std::string_view(rest_).substr(0, end);
  if (header_.empty()) {
    header_ = record;
  } else {
    if (records_ == 0) first_line_ = next_line_;
    complete_ += record;
    ++records_;
  }
  rest_.erase(0, end);
  scanned_ = 0;
  next_line_ += std::exchange(lines_, 0);
}

void RecordCutter::Feed(std::string_view text) {
  rest_ += text;
  // Records are cut from the front of rest_, which is short: a piece of input and one record.
  while (scanned_ < rest_.size()) {
    const char c = rest_[scanned_++];
    if (c == '"') quoted_ = !quoted_;
    if (c != '\n') continue;
    ++lines_;
    if (!quoted_) Cut(scanned_);
  }
}

void RecordCutter::End() {
  if (rest_.empty()) return;
  rest_ += '\n';
  ++lines_;
  Cut(rest_.size());
  quoted_ = false;
}

std::string RecordCutter::Take() {
  std::string text = header_ + complete_;
  complete_.clear();
  records_ = 0;
  return text;
}

Status Follow(Context* context, Table table, const FollowOptions& options) {
  return Follower(std::move(table), options).Run(&context->after_error);
}

}  // namespace timelake::cli
