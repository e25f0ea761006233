#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "base/error.h"

namespace timelake::api {

// The file in which an Appender keeps the rows that it has taken and not yet committed. It is of
// one table and of one appender at a time (flock). Records, each synced before the call returns:
//
//   header  magic "TLWA", kind, length of the payload, Murmur3 of kind, length and payload
//   table   uuid of the table; the first record
//   rows    one write: Arrow IPC streams, each after its length
//   commit  batch id: of all writes since the last such record
//   done    that commit is in the table, or has failed for good
//
// What a process left is committed by the next one with the same batch ids, so that it counts once.
// Not thread-safe.
class WriteAhead {
 public:
  using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

  // Rows of one commit that is not known to be over; without a batch id it has not begun.
  struct Left {
    std::string batch_id;
    Batches batches;
  };

  // Makes the file if it is not there. kInvalidArgument: it is in use, another table's or none of
  // ours. What a write that was cut off left behind the last whole record is moved to `path`.torn:
  // nobody was told that it was taken.
  static Result<std::unique_ptr<WriteAhead>> Open(const std::string& path,
                                                  const std::string& table_name,
                                                  const std::string& table_uuid);
  ~WriteAhead();

  // What was in the file when it was opened, in order.
  const std::vector<Left>& left() const { return left_; }
  const std::string& torn_path() const { return torn_path_; }  // empty: nothing was cut off

  Status Write(const Batches& batches);
  Status BeginCommit(std::string_view batch_id);
  Status EndCommit();

  // No commit is under way or unknown, and no rows wait.
  bool empty() const { return open_commits_ == 0 && waiting_writes_ == 0; }
  int64_t size() const { return end_; }

  // Forgets all that is in it.
  Status Reset();
  // Forgets all, and the file goes.
  Status Remove();

 private:
  enum class Kind : uint32_t { kTable = 1, kRows = 2, kCommit = 3, kDone = 4 };

  WriteAhead(std::string path, std::string table_name, std::string table_uuid)
      : path_(std::move(path)),
        table_name_(std::move(table_name)),
        table_uuid_(std::move(table_uuid)) {}

  Status Lock();
  Status Load();
  Status Take(Kind kind, std::string_view payload, bool first);
  Status KeepTorn(std::string_view bytes);
  Status Append(Kind kind, std::string_view payload);
  Status Failed(std::string_view what) const;  // with errno

  const std::string path_, table_name_, table_uuid_;
  int fd_ = -1;
  int64_t end_ = 0;
  bool broken_ = false;  // a record could be neither written nor taken back
  int64_t open_commits_ = 0;
  int64_t waiting_writes_ = 0;
  std::vector<Left> left_;
  std::string torn_path_;
};

}  // namespace timelake::api
