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
// Read before they go to the write-ahead file together, where so many are there.
constexpr size_t kKeptBytes = size_t{4} << 20;

class Follower {
 public:
  Follower(Table table, const FollowOptions& options)
      : table_(std::move(table)), options_(options) {}

  Status Run(std::string* after_error);

 private:
  struct Done {
    int64_t rows = 0, skipped = 0, duplicates = 0, version = 0;
  };

  Status Start();
  Status Read();
  bool MoreIsThere() const;
  int64_t Waiting() const { return kept_ + records_.records(); }
  int WaitMs() const;
  bool IsDue() const;
  Status Take(ImportOptions* import);
  Status Keep();
  Status Commit();
  Result<Done> ImportTaken();
  Result<Done> FlushKept();
  Status Report(const Done& done);
  // An error that names the scratch file names the input instead.
  Status OfInput(const Status& status, int64_t first_line) const;

  Table table_;
  const FollowOptions& options_;
  std::shared_ptr<Appender> appender_;  // with a write-ahead file
  AppenderStats stats_;                 // of the appender when it last told
  ScratchFile scratch_;
  RecordCutter records_;
  int64_t kept_ = 0;         // records that wait in the write-ahead file
  Clock::time_point since_;  // of the oldest waiting record
  bool ended_ = false;
  int64_t rows_ = 0;
  int64_t commits_ = 0;
};

// What an earlier process left in the write-ahead file is committed here.
Status Follower::Start() {
  ARROW_RETURN_NOT_OK(scratch_.Make());
  if (options_.write_ahead.empty()) return Status::OK();
  AppenderOptions options;
  options.append = options_.import.append;
  options.write_ahead = options_.write_ahead;
  // When to commit is decided here, where each commit is reported.
  options.flush_rows = INT64_MAX / 8;
  options.flush_interval_ms = int64_t{1} << 40;
  ARROW_ASSIGN_OR_RAISE(appender_, Appender::Open(table_, options));
  ARROW_ASSIGN_OR_RAISE(stats_, appender_->Flush());
  if (stats_.recovered == 0) return Status::OK();
  rows_ = stats_.recovered;
  const Json json = {{"table", table_.name()},
                     {"recovered", stats_.recovered},
                     {"version", stats_.version},
                     {"total_rows", rows_}};
  const std::string text =
      fmt::format("{}: {} of the write-ahead file durable in version {}", table_.name(),
                  Counted(stats_.recovered, "row"), stats_.version);
  return PrintOut((options_.json ? json.dump() : text) + "\n");
}

int Follower::WaitMs() const {
  if (Waiting() == 0) return 100;  // Ctrl-C may come between two looks
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_).count();
  return static_cast<int>(std::clamp<int64_t>(options_.flush_interval_ms - waited, 0, 100));
}

bool Follower::IsDue() const {
  if (Waiting() == 0) return false;
  return ended_ || Stopping() || Waiting() >= options_.flush_rows ||
         records_.bytes() >= kMostBytes ||
         Clock::now() - since_ >= std::chrono::milliseconds(options_.flush_interval_ms);
}

bool Follower::MoreIsThere() const {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return !ended_ && ::poll(&input, 1, 0) > 0;
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
  const bool waited = Waiting() > 0;
  if (got == 0) {
    ended_ = true;
    records_.End();
  } else {
    records_.Feed(std::string_view(piece).substr(0, static_cast<size_t>(got)));
  }
  if (!waited) since_ = Clock::now();
  return Status::OK();
}

Status Follower::OfInput(const Status& status, int64_t first_line) const {
  std::string message = status.message();
  const std::string place =
      fmt::format("standard input (counting from its line {}, behind the header)", first_line);
  for (size_t at; (at = message.find(scratch_.path())) != std::string::npos;) {
    message.replace(at, scratch_.path().size(), place);
  }
  return status.WithMessage(message);
}

// The records that were read, as a file of their own.
Status Follower::Take(ImportOptions* import) {
  ARROW_RETURN_NOT_OK(scratch_.Clear());
  ARROW_RETURN_NOT_OK(scratch_.Append(records_.Take()));
  *import = options_.import;
  import->rows_per_commit = INT64_MAX;
  return Status::OK();
}

Status Follower::Keep() {
  const int64_t first_line = records_.first_line();
  const int64_t records = records_.records();
  ImportOptions import;
  ARROW_RETURN_NOT_OK(Take(&import));
  const auto reader = ReadFiles(table_, {scratch_.path()}, import);
  if (!reader.ok()) return OfInput(reader.status(), first_line);
  const auto kept = appender_->Append(reader->get());
  if (!kept.ok()) return OfInput(kept.status(), first_line);
  kept_ += records;
  return Status::OK();
}

Result<Follower::Done> Follower::ImportTaken() {
  const int64_t first_line = records_.first_line();
  ImportOptions import;
  ARROW_RETURN_NOT_OK(Take(&import));
  if (!import.append.batch_id.empty()) import.append.batch_id += fmt::format("-{}", commits_);
  const auto done = ImportFiles(table_, {scratch_.path()}, import);
  if (!done.ok()) return OfInput(done.status(), first_line);
  return Done{done->rows, done->skipped, done->duplicates, done->version};
}

Result<Follower::Done> Follower::FlushKept() {
  kept_ = 0;
  const AppenderStats before = stats_;
  ARROW_ASSIGN_OR_RAISE(stats_, appender_->Flush());
  return Done{stats_.rows - before.rows, stats_.skipped - before.skipped, 0, stats_.version};
}

Status Follower::Report(const Done& done) {
  ++commits_;
  rows_ += done.rows;
  const Json json = {{"table", table_.name()},  {"rows", done.rows},
                     {"skipped", done.skipped}, {"duplicates", done.duplicates},
                     {"version", done.version}, {"total_rows", rows_}};
  std::string text = fmt::format("{}: {} durable in version {}, {} in all", table_.name(),
                                 Counted(done.rows, "row"), done.version, rows_);
  if (done.duplicates > 0) text += "; known by batch id and not repeated";
  return PrintOut((options_.json ? json.dump() : text) + "\n");
}

Status Follower::Commit() {
  ARROW_ASSIGN_OR_RAISE(const Done done, appender_ ? FlushKept() : ImportTaken());
  return Report(done);
}

Status Follower::Run(std::string* after_error) {
  Status status = Start();
  while (status.ok() && !ended_ && !Stopping()) {
    status = Read();
    // Records that came together are kept together.
    const bool enough = records_.bytes() >= kKeptBytes || IsDue() || !MoreIsThere();
    if (status.ok() && appender_ && records_.records() > 0 && enough) status = Keep();
    if (status.ok() && IsDue()) status = Commit();
  }
  if (kept_ > 0 || (status.ok() && IsDue())) {
    const Status last = Commit();
    if (status.ok()) status = last;
  }
  if (appender_) {
    const Status closed = appender_->Close().status();
    if (status.ok()) status = closed;
  }
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
