#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "sim/config.h"
#include "sim/oracle.h"
#include "sim/raw_table.h"
#include "sim/scheduler.h"
#include "sim/trace.h"
#include "store/memory_store.h"
#include "table/handle.h"

namespace timelake::sim {

inline constexpr char kFolder[] = "wh/default/cpu";
inline constexpr char kCallKey[] = "sim.call";  // in the summary of a snapshot: whose it is

// What became of a call, as its caller was told.
enum class Outcome { kRunning, kOk, kFailed, kUnknown, kDuplicate };
inline constexpr int kOutcomes = 5;
std::string_view OutcomeName(Outcome outcome);

// Sees every effect in its order, knows which versions are real, and says when a promise is broken.
// The first fault ends the run.
class World {
 public:
  World(const Config& config, Scheduler* scheduler, Trace* trace,
        std::shared_ptr<store::MemoryStore> disk);

  // --- effects ---
  void Written(const std::string& key, const std::shared_ptr<arrow::Buffer>& bytes);
  void Deleted(const std::string& key);
  void HintInjected();  // after that nothing is said about the hint until maintenance
  void PowerLost();     // the disk holds what it holds

  // --- calls ---
  // An append ('A') or a foreign change ('F') begins; returns its id. What it changes is said
  // before it commits. `table_uuid`: of the table that the caller knows, "" for none.
  std::string Begin(char kind, const std::string& batch_id, const std::string& table_uuid);
  void SetChange(const std::string& call, Oracle::Change change);
  void AddFile(const std::string& key, std::vector<Row> rows);
  const std::vector<Row>& RowsOf(const std::string& key) const { return oracle_.rows(key); }
  void End(const std::string& call, Outcome outcome);
  void CheckDuplicate(const std::string& call, int64_t snapshot_id, int64_t rows);
  // A load that began when v`newest_before` was the newest.
  void CheckLoaded(int64_t newest_before, const table::Version& loaded);
  // A commit is built on this version: it may be old, but is a real one.
  void CheckBase(const table::Version& base);
  // A commit that added no snapshot was acknowledged.
  void CheckAcknowledged(const iceberg::TableMetadata& metadata);
  // Of all calls, whose outcomes are final.
  void CheckEnd();
  void CheckBatchIds(const table::Env& env);
  // All that was ever real is gone or named by what is there.
  void CheckNoLeak();

  void Fail(const std::string& what);
  const std::string& failure() const { return failure_; }

  // --- knowledge ---
  int64_t newest() const { return newest_; }
  int64_t NextValue() { return values_ += 2; }  // of rows: this and the next
  const iceberg::TableMetadata* metadata() const { return metadata_.get(); }  // null: no table yet
  bool dropped() const;
  bool ever_dropped() const { return ever_dropped_; }
  std::optional<int64_t> hint() const;
  std::set<int64_t> present() const;  // versions, real or not
  const std::map<std::string, int64_t>& counts() const { return counts_; }
  void Count(const std::string& what) { ++counts_[what]; }

 private:
  struct Call {
    Oracle::Change change;
    std::string table_uuid;
    Outcome outcome = Outcome::kRunning;
    int applied = 0;
    bool batch_seen = false;  // an ancestor of the head carried the id while the call ran
  };
  using MetadataPtr = std::shared_ptr<const iceberg::TableMetadata>;

  void VersionWritten(int64_t number, const arrow::Buffer& bytes);
  Status BecomeReal(int64_t number, MetadataPtr next);
  Status FollowHead(const iceberg::TableMetadata& next, const iceberg::Snapshot& head);
  Result<Oracle::Past> PastOf(const iceberg::TableMetadata& metadata) const;
  Status CheckNamed(const iceberg::TableMetadata& metadata, std::set<std::string>* keys);
  bool IsReal(const table::Version& version) const;
  void HintWritten();
  bool hint_promised() const;
  std::shared_ptr<arrow::Buffer> ObjectBytes(const std::string& key) const;

  const Config& config_;
  Scheduler* const scheduler_;
  Trace* const trace_;
  const std::shared_ptr<store::MemoryStore> disk_;
  RawTable raw_;
  Oracle oracle_;

  int64_t newest_ = 0;
  MetadataPtr metadata_;
  std::set<std::string> reach_;          // objects that the newest version names
  std::set<std::string> ever_;           // ... that any real version has named
  std::map<int64_t, std::string> real_;  // version -> identity of its object
  std::set<std::string> commit_ids_;     // of real versions
  bool ever_dropped_ = false;
  bool hint_injected_ = false;
  int64_t hint_highest_ = 0;
  std::map<std::string, std::shared_ptr<arrow::Buffer>> written_;
  std::map<std::string, Call> calls_;
  int64_t values_ = 0;
  std::map<std::string, int64_t> counts_;
  std::string failure_;
};

}  // namespace timelake::sim
