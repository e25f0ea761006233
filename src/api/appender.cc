#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "api/append.h"
#include "api/new_columns.h"
#include "api/write_ahead.h"
#include "base/uuid.h"
#include "table/load.h"
#include "table/table_impl.h"
#include "timelake/ingest.h"
#include "write/align.h"
#include "write/array_bytes.h"

namespace timelake {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;
using Steady = std::chrono::steady_clock;

// Commits' worth of rows that may wait before writers have to.
constexpr int64_t kMostWaiting = 4;
// Size from which on the write-ahead file is emptied when nothing is in it that is needed, and that
// at which writers wait until it can be.
constexpr int64_t kAheadBytes = int64_t{1} << 20;
constexpr int64_t kMostAheadBytes = int64_t{256} << 20;
// Times that a commit is sent again while its outcome is unknown.
constexpr int kRepeats = 3;

// Aligned batches, each with the columns that its write had, as one stream with the columns of all.
// Strings are dense or in dictionaries as they came.
class WaitingRows : public arrow::RecordBatchReader {
 public:
  explicit WaitingRows(const Batches& batches) : batches_(batches) {
    arrow::FieldVector fields;
    std::set<std::string> known;
    for (const auto& batch : batches) {
      for (const auto& field : batch->schema()->fields()) {
        if (known.insert(field->name()).second) fields.push_back(field->WithNullable(true));
      }
    }
    schema_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (next_ == batches_.size()) return Status::OK();
    const auto& own = batches_[next_++];
    arrow::ArrayVector columns;
    arrow::FieldVector fields;
    for (const auto& field : schema_->fields()) {
      auto& column = columns.emplace_back(own->GetColumnByName(field->name()));
      if (!column) {
        TL_ASSIGN_OR_RAISE(column, arrow::MakeArrayOfNull(field->type(), own->num_rows()));
      }
      fields.push_back(field->WithType(column->type()));
    }
    *batch = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), own->num_rows(),
                                      std::move(columns));
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  const Batches& batches_;
  size_t next_ = 0;
};

}  // namespace

class Appender::Impl {
 public:
  Impl(Table table, AppenderOptions options, int schema_id, write::Target target,
       std::unique_ptr<api::WriteAhead> ahead)
      : table_(std::move(table)),
        options_(std::move(options)),
        write_memory_bytes_(target.settings.write_memory_bytes),
        schema_id_(schema_id),
        target_(std::make_shared<const write::Target>(std::move(target))),
        ahead_(std::move(ahead)) {
    if (options_.append.batch_id.empty()) {
      options_.append.batch_id = FormatUuid(NewUuidV4(*env().random));
    }
  }
  ~Impl() { Stop(); }

  const table::Env& env() const { return table_.impl()->handle->env(); }
  const std::string& name() const { return table_.name(); }

  // Commits what the write-ahead file holds, then takes writes.
  Status Start();
  Result<int64_t> Append(arrow::RecordBatchReader* reader);
  Status Wait(int64_t write);
  Result<AppenderStats> Flush();
  void Stop();

 private:
  // Writes that were taken, and not yet committed.
  struct Group {
    Batches batches;
    int64_t rows = 0;
    int64_t bytes = 0;
    int64_t last = 0;          // number of the last write in it
    Steady::time_point since;  // of the oldest
  };
  struct Failure {
    int64_t first, last;  // writes
    Status status;
  };

  Result<std::shared_ptr<const write::Target>> TargetFor(const arrow::Schema& data);
  Result<Batches> Align(arrow::RecordBatchReader* reader, int64_t* skipped);
  bool IsDue() const;
  // The write-ahead file is as large as it may be.
  bool IsFull() const {
    return ahead_ && ahead_->size() >= kMostAheadBytes && settled_ < last_write_;
  }
  void Run();
  std::string NextBatchId() { return fmt::format("{}-{}", options_.append.batch_id, commits_++); }
  Result<AppendResult> Commit(const Batches& batches, const std::string& batch_id) const;
  void EndCommit(const Status& status);

  Table table_;
  AppenderOptions options_;
  const int64_t write_memory_bytes_;
  std::thread thread_;

  std::mutex target_mutex_;  // of what writes are aligned to
  int schema_id_;            // of the table's columns in `target_`
  std::shared_ptr<const write::Target> target_;
  arrow::FieldVector new_columns_;  // that writes have had beyond them

  mutable std::mutex mutex_;
  std::unique_ptr<api::WriteAhead> ahead_;  // null: none
  std::condition_variable changed_;
  Group waiting_;
  int64_t last_write_ = 0;
  int64_t settled_ = 0;   // writes up to this one are committed or have failed
  int64_t flush_to_ = 0;  // writes up to this one are wanted now
  int64_t commits_ = 0;   // tried, for batch ids
  bool stopping_ = false;
  std::vector<Failure> failures_;
  size_t reported_ = 0;  // failures that Flush has told
  AppenderStats stats_;
};

// The table's columns as the handle knows them, which commits keep up to date, and those that
// writes add to them (setting `new-columns`).
Result<std::shared_ptr<const write::Target>> Appender::Impl::TargetFor(const arrow::Schema& data) {
  std::lock_guard lock(target_mutex_);
  table::Handle& handle = *table_.impl()->handle;
  table::Version version = handle.known();
  const bool lacks = api::HasNewColumns(target_->schema, data);
  if (!lacks && version.metadata->current_schema_id == schema_id_) return target_;
  if (lacks) {
    TL_ASSIGN_OR_RAISE(version, table::LoadNewest(handle));
  }
  TL_ASSIGN_OR_RAISE(auto target, api::MakeTarget(handle, *version.metadata,
                                                  table_.impl()->catalog->session_settings(),
                                                  options_.append.settings));
  if (target.settings.add_new_columns) {
    arrow::FieldVector wanted = new_columns_;
    for (const auto& field : data.fields()) {
      if (iceberg::FindField(target.schema, field->name()) != nullptr) continue;
      const bool known = std::any_of(wanted.begin(), wanted.end(), [&](const auto& other) {
        return other->name() == field->name();
      });
      if (!known) wanted.push_back(field);
    }
    auto metadata = api::WithNewColumns(name(), version.metadata, *arrow::schema(wanted));
    if (!metadata.ok() && version.metadata->current_schema_id != schema_id_) {
      // What earlier writes had may clash with what others have added since; the commit tells them.
      wanted = data.fields();
      metadata = api::WithNewColumns(name(), version.metadata, data);
    }
    TL_RETURN_NOT_OK(metadata.status());
    target.schema = *iceberg::CurrentSchema(**metadata);
    new_columns_ = std::move(wanted);
  }
  schema_id_ = version.metadata->current_schema_id;
  target_ = std::make_shared<const write::Target>(std::move(target));
  return target_;
}

Result<Batches> Appender::Impl::Align(arrow::RecordBatchReader* reader, int64_t* skipped) {
  write::WriteOptions options;
  options.on_future = options_.append.on_future.value_or(OnFuture::kError);
  options.now_us = env().clock->NowMicros();
  TL_ASSIGN_OR_RAISE(const auto target, TargetFor(*reader->schema()));
  TL_ASSIGN_OR_RAISE(auto aligner, write::Aligner::Make(*target, *reader->schema(), options));
  // Columns that the write lacks are left to the commit: by then the table may lack them, too.
  std::vector<int> given;
  for (size_t i = 0; i < target->schema.fields.size(); ++i) {
    const iceberg::Field& field = target->schema.fields[i];
    if (target->contract.ingest_time_id == field.id ||
        reader->schema()->GetFieldIndex(field.name) >= 0) {
      given.push_back(static_cast<int>(i));
    }
  }
  Batches aligned;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    TL_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    TL_ASSIGN_OR_RAISE(batch, aligner.Align(*batch));
    if (batch->num_rows() == 0) continue;
    TL_ASSIGN_OR_RAISE(batch, batch->SelectColumns(given));
    aligned.push_back(std::move(batch));
  }
  *skipped = aligner.skipped();
  return aligned;
}

Result<int64_t> Appender::Impl::Append(arrow::RecordBatchReader* reader) {
  int64_t skipped = 0;
  auto aligned = Align(reader, &skipped);
  if (!aligned.ok()) {
    std::lock_guard lock(target_mutex_);
    return api::CheckStale(*table_.impl()->handle, schema_id_, aligned.status());
  }
  Batches batches = *std::move(aligned);
  std::unique_lock lock(mutex_);
  const auto closed = [this] {
    return InvalidArgument("table {}: the appender is closed", table_.name());
  };
  changed_.wait(lock, [this] {
    return stopping_ || (waiting_.rows < kMostWaiting * options_.flush_rows && !IsFull());
  });
  if (stopping_) return closed();
  if (ahead_) TL_RETURN_NOT_OK(ahead_->Write(batches));
  stats_.skipped += skipped;
  if (waiting_.batches.empty()) waiting_.since = Steady::now();
  for (auto& batch : batches) {
    waiting_.rows += batch->num_rows();
    for (const auto& column : batch->column_data()) waiting_.bytes += write::BytesOf(*column);
    waiting_.batches.push_back(std::move(batch));
  }
  waiting_.last = ++last_write_;
  changed_.notify_all();
  return last_write_;
}

Status Appender::Impl::Wait(int64_t write) {
  std::unique_lock lock(mutex_);
  if (write < 1 || write > last_write_) {
    return InvalidArgument("table {}: there is no write {}; the last was {}", table_.name(), write,
                           last_write_);
  }
  changed_.wait(lock, [&] { return settled_ >= write; });
  for (const Failure& failure : failures_) {
    if (failure.first <= write && write <= failure.last) return failure.status;
  }
  return Status::OK();
}

Result<AppenderStats> Appender::Impl::Flush() {
  std::unique_lock lock(mutex_);
  const int64_t wanted = last_write_;
  flush_to_ = std::max(flush_to_, wanted);
  changed_.notify_all();
  changed_.wait(lock, [&] { return settled_ >= wanted; });
  if (reported_ == failures_.size()) return stats_;
  const Status status = failures_[reported_].status;
  reported_ = failures_.size();
  return status;
}

void Appender::Impl::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  if (!ahead_) return;
  // What is not known to be over is for the next appender.
  const Status removed = ahead_->empty() ? ahead_->Remove() : Status::OK();
  if (!removed.ok()) env().Log(LogLevel::kWarning, MessageOf(removed));
  ahead_.reset();
}

Status Appender::Impl::Start() {
  if (ahead_) {
    if (!ahead_->torn_path().empty()) {
      env().Log(LogLevel::kWarning,
                fmt::format("table {}: the last write to write-ahead file {} was cut off before it "
                            "was taken; what is left of it is in {}",
                            name(), options_.write_ahead, ahead_->torn_path()));
    }
    for (const api::WriteAhead::Left& left : std::vector<api::WriteAhead::Left>(ahead_->left())) {
      std::string batch_id = left.batch_id;
      if (batch_id.empty()) {
        batch_id = NextBatchId();
        TL_RETURN_NOT_OK(ahead_->BeginCommit(batch_id));
      }
      auto committed = Commit(left.batches, batch_id);
      if (!committed.ok()) {
        return WithContext(committed.status(),
                           "rows left in write-ahead file " + options_.write_ahead);
      }
      if (!committed->duplicate) stats_.recovered += committed->rows;
      stats_.version = committed->version;
    }
    if (!ahead_->left().empty()) TL_RETURN_NOT_OK(ahead_->Reset());
  }
  thread_ = std::thread([this] { Run(); });
  return Status::OK();
}

bool Appender::Impl::IsDue() const {
  if (waiting_.batches.empty()) return false;
  return stopping_ || flush_to_ > settled_ || IsFull() || waiting_.rows >= options_.flush_rows ||
         // A commit that need not let rows wait on disk.
         2 * waiting_.bytes >= write_memory_bytes_ ||
         Steady::now() - waiting_.since >= std::chrono::milliseconds(options_.flush_interval_ms);
}

void Appender::Impl::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    while (!IsDue()) {
      // Writes without rows have nothing to wait for.
      if (waiting_.batches.empty() && settled_ < last_write_) {
        settled_ = last_write_;
        changed_.notify_all();
      }
      if (stopping_) return;
      if (waiting_.batches.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock,
                            waiting_.since + std::chrono::milliseconds(options_.flush_interval_ms));
      }
    }
    const Group group = std::exchange(waiting_, {});
    const std::string batch_id = NextBatchId();
    Result<AppendResult> committed = InternalError("no commit");
    const Status begun = ahead_ ? ahead_->BeginCommit(batch_id) : Status::OK();
    lock.unlock();
    try {
      if (begun.ok()) {
        committed = Commit(group.batches, batch_id);
      } else {
        committed = begun;
      }
    } catch (const std::exception& e) {  // out of memory: it must not leave the thread
      committed = IoError("the append failed: {}", e.what());
    }
    lock.lock();
    if (begun.ok()) EndCommit(committed.status());
    if (committed.ok()) {
      stats_.rows += committed->rows;
      stats_.version = committed->version;
      ++stats_.commits;
    } else {
      failures_.push_back({settled_ + 1, group.last, committed.status()});
    }
    settled_ = group.last;
    changed_.notify_all();
  }
}

// A commit whose outcome is unknown stays in the write-ahead file, whose next reader finds out.
void Appender::Impl::EndCommit(const Status& status) {
  if (!ahead_ || KindOf(status) == ErrorKind::kCommitUnknown) return;
  Status ended = ahead_->EndCommit();
  if (ended.ok() && ahead_->empty() && ahead_->size() >= kAheadBytes) ended = ahead_->Reset();
  if (!ended.ok()) env().Log(LogLevel::kWarning, MessageOf(ended));
}

Result<AppendResult> Appender::Impl::Commit(const Batches& batches,
                                            const std::string& batch_id) const {
  AppendOptions options = options_.append;
  options.batch_id = batch_id;
  Table table = table_;
  for (int repeat = 0;; ++repeat) {
    WaitingRows rows(batches);
    auto result = table.Append(&rows, options);
    const bool unknown = !result.ok() && KindOf(result.status()) == ErrorKind::kCommitUnknown;
    if (!unknown || repeat == kRepeats) {
      if (!unknown) return result;
      return WithContext(result.status(), "batch id " + options.batch_id);
    }
    env().Log(LogLevel::kWarning, name() + ": repeating a commit whose outcome is unknown: " +
                                      MessageOf(result.status()));
  }
}

Appender::Appender(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Appender::~Appender() {
  const auto closed = Close();
  if (!closed.ok()) {
    impl_->env().Log(LogLevel::kWarning, impl_->name() + ": rows of an appender are lost: " +
                                             MessageOf(closed.status()));
  }
}

arrow::Result<std::shared_ptr<Appender>> Appender::Open(const Table& table,
                                                        const AppenderOptions& options) {
  if (options.flush_rows < 1 || options.flush_interval_ms < 1) {
    return InvalidArgument("flush rows {}, flush interval {} ms: accepted are 1 and up",
                           options.flush_rows, options.flush_interval_ms);
  }
  table::Handle& handle = *table.impl()->handle;
  table::Version version = handle.known();
  if (!version) {
    TL_ASSIGN_OR_RAISE(version, table::LoadNewest(handle));
  }
  TL_ASSIGN_OR_RAISE(auto target, api::MakeTarget(handle, *version.metadata,
                                                  table.impl()->catalog->session_settings(),
                                                  options.append.settings));
  std::unique_ptr<api::WriteAhead> ahead;
  if (!options.write_ahead.empty()) {
    TL_ASSIGN_OR_RAISE(ahead, api::WriteAhead::Open(options.write_ahead, table.name(),
                                                    version.metadata->table_uuid));
  }
  auto impl = std::make_unique<Impl>(table, options, version.metadata->current_schema_id,
                                     std::move(target), std::move(ahead));
  TL_RETURN_NOT_OK(impl->Start());
  return std::shared_ptr<Appender>(new Appender(std::move(impl)));
}

arrow::Result<int64_t> Appender::Append(arrow::RecordBatchReader* reader) {
  return impl_->Append(reader);
}

arrow::Result<int64_t> Appender::Append(const std::shared_ptr<arrow::RecordBatch>& batch) {
  TL_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make({batch}, batch->schema()));
  return impl_->Append(reader.get());
}

arrow::Status Appender::Wait(int64_t write) { return impl_->Wait(write); }

arrow::Result<AppenderStats> Appender::Flush() { return impl_->Flush(); }

arrow::Result<AppenderStats> Appender::Close() {
  impl_->Stop();
  return impl_->Flush();
}

}  // namespace timelake
