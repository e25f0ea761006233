#include <optional>

#include "base/uuid.h"
#include "sim/append_index.h"
#include "sim/data_files.h"
#include "sim/processes.h"
#include "table/append.h"
#include "table/manifests.h"

namespace timelake::sim {
namespace {

constexpr int kSeries = 3;
constexpr int kTimes = 4;
constexpr int kMostRewritings = 5;  // of one append, as others keep changing columns

// The columns that an append writes: those of a version that its writer saw.
class Columns {
 public:
  Status Look(Process& process, table::Handle& handle) {
    if (process.scene().config.changers == 0) {
      schema_ = NewSchema();
      return Status::OK();
    }
    TL_ASSIGN_OR_RAISE(const table::Version seen, Load(process, handle));
    written_ = ColumnsFor(*seen.metadata);
    schema_ = written_->schema;
    return Status::OK();
  }

  std::vector<Row> Place(std::vector<Row> rows) const {
    for (Row& row : rows) row.column = ValueColumn(schema_);
    return rows;
  }
  const iceberg::Schema& schema() const { return schema_; }
  const std::optional<table::WrittenColumns>& written() const { return written_; }

 private:
  iceberg::Schema schema_;
  std::optional<table::WrittenColumns> written_;
};

// Stores the data files of one append under names of their own.
Status Store(Process& process, const DataFiles& data, table::AppendRequest* request) {
  const table::Env& env = process.env();
  for (const auto& made : data.files) {
    auto file = made.file;
    const std::string name = file.file_path + FormatUuid(NewUuidV4(*env.random)) + ".parquet";
    const std::string key = std::string(kFolder) + "/data/" + name;
    file.file_path = store::UriOf(*env.store, key);
    process.world().AddFile(key, made.rows);
    request->data_keys.push_back(key);
    request->files.push_back(std::move(file));
    TL_RETURN_NOT_OK(table::Retried(env, [&] { return env.store->Put(key, made.bytes); }).status());
  }
  return Status::OK();
}

// Most appends carry the index on; all show on what they build.
table::IndexFn IndexOf(Process& process, table::Handle& handle, const DataFiles& data) {
  table::IndexFn extend = AppendIndex(handle, data);
  return [&process, extend, wanted = process.Maybe(0.8)](
             const table::Version& base, int64_t id) -> Result<std::optional<table::IndexObject>> {
    process.world().CheckBase(base);
    if (!wanted) return std::nullopt;
    return extend(base, id);
  };
}

Outcome OutcomeOf(Process& process, const std::string& call,
                  const Result<table::AppendOutcome>& result) {
  if (!result.ok()) {
    Judge(process, "append", result.status());
    const bool unknown = KindOf(result.status()) == ErrorKind::kCommitUnknown;
    return unknown ? Outcome::kUnknown : Outcome::kFailed;
  }
  if (!result->duplicate) return Outcome::kOk;
  process.world().CheckDuplicate(call, result->duplicate_snapshot, result->duplicate_rows);
  return Outcome::kDuplicate;
}

std::vector<Row> NewRows(Process& process) {
  std::vector<Row> rows;
  const int64_t first = process.world().NextValue();
  for (int64_t i = 0; i < (process.Maybe(0.5) ? 2 : 1); ++i) {
    rows.push_back({static_cast<int64_t>(process.Below(kSeries)),
                    static_cast<int64_t>(process.Below(kTimes)), first + i});
  }
  const bool same =
      rows.size() == 2 && rows[0].series == rows[1].series && rows[0].time == rows[1].time;
  if (same) rows.pop_back();
  return rows;
}

}  // namespace

Outcome Append(Process& process, const std::vector<Row>& rows, const std::string& batch_id) {
  table::Handle& handle = process.handle();  // another thread may take a fresh one meanwhile
  Columns columns;
  Status status = columns.Look(process, handle);
  const std::string call = process.world().Begin('A', batch_id, handle.table_uuid());
  process.Note(fmt::format("append {} {}", call, batch_id));
  Outcome outcome = Outcome::kFailed;
  for (int i = 0; i < kMostRewritings && status.ok(); ++i) {
    const DataFiles& data = FilesOf(columns.Place(rows), columns.schema());
    table::AppendRequest request;
    request.started_boot_us = process.env().clock->BootMicros();
    request.batch_id = batch_id;
    request.columns = columns.written();
    request.match_columns = process.scene().config.match_columns;
    status = Store(process, data, &request);
    if (!status.ok()) break;
    process.world().SetChange(call, {request.data_keys, {}, batch_id});
    request.summary[kCallKey] = call;
    request.index = IndexOf(process, handle, data);
    const auto result = table::CommitAppend(handle, request, CommitOptionsOf(process));
    if (!result.ok() || !result->columns_moved) {
      outcome = OutcomeOf(process, call, result);
      break;
    }
    process.Note(fmt::format("append {}: the columns have moved", call));
    process.world().Count("appends written anew");
    const table::Env& env = process.env();
    (void)table::Retried(env, [&] { return env.store->DeleteAll(request.data_keys); });
    status = columns.Look(process, handle);
  }
  process.Note(fmt::format("append {} is {}", call, OutcomeName(outcome)));
  process.world().End(call, outcome);
  return outcome;
}

void WriterTurn(Process& process) {
  const Config& config = process.scene().config;
  if (process.Maybe(config.load_share) && !Load(process).ok()) return;
  const std::vector<Row> rows = NewRows(process);
  const bool named = process.Maybe(config.batch_share);
  const std::string batch_id =
      named ? fmt::format("b{}", process.Below(static_cast<uint64_t>(config.batch_ids))) : "";
  Outcome outcome = Append(process, rows, batch_id);
  while (named && process.Maybe(0.6) &&
         (outcome == Outcome::kUnknown || outcome == Outcome::kFailed)) {
    outcome = Append(process, rows, batch_id);
  }
}

}  // namespace timelake::sim
