#include "table/batch_ids.h"

#include <algorithm>
#include <map>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/uuid.h"
#include "table/contract.h"
#include "table/manifests.h"

namespace timelake::table {
namespace {

using nlohmann::json;

const iceberg::Snapshot* ParentOf(const iceberg::TableMetadata& metadata,
                                  const iceberg::Snapshot& snapshot) {
  if (!snapshot.parent_snapshot_id) return nullptr;
  return iceberg::SnapshotById(metadata, *snapshot.parent_snapshot_id);
}

int64_t AddedRows(const iceberg::Snapshot& snapshot) {
  auto it = snapshot.summary.find("added-records");
  if (it == snapshot.summary.end()) return 0;
  auto rows = ParseInt64(it->second);
  return rows.ok() ? *rows : 0;
}

const std::string* IdOf(const iceberg::Snapshot& snapshot) {
  auto it = snapshot.summary.find(kBatchId);
  return it == snapshot.summary.end() ? nullptr : &it->second;
}

std::string ToJson(const BatchIdLog& log) {
  json rows = json::array();
  for (const BatchIdRow& row : log) {
    rows.push_back(json::array({row.id, row.snapshot_id, row.timestamp_ms, row.rows, row.behind}));
  }
  return rows.dump();
}

std::optional<BatchIdLog> FromJson(const std::string& text) {
  const json rows = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!rows.is_array()) return std::nullopt;
  BatchIdLog log;
  for (const json& item : rows) {
    const bool good = item.is_array() && item.size() == 5 && item[0].is_string() &&
                      item[1].is_number_integer() && item[2].is_number_integer() &&
                      item[3].is_number_integer() && item[4].is_array();
    if (!good) return std::nullopt;
    BatchIdRow row{item[0], item[1], item[2], item[3], {}};
    for (const json& snapshot : item[4]) {
      if (!snapshot.is_number_integer()) return std::nullopt;
      row.behind.insert(snapshot.get<int64_t>());
    }
    log.push_back(std::move(row));
  }
  return log;
}

std::shared_ptr<arrow::Schema> LogSchema() {
  return arrow::schema({arrow::field("id", arrow::utf8(), false),
                        arrow::field("snapshot_id", arrow::int64(), false),
                        arrow::field("timestamp_ms", arrow::int64(), false),
                        arrow::field("rows", arrow::int64(), false),
                        arrow::field("behind", arrow::list(arrow::int64()), false)});
}

Result<std::shared_ptr<arrow::Buffer>> ToParquet(const BatchIdLog& log) {
  arrow::StringBuilder ids;
  arrow::Int64Builder snapshots, times, rows;
  auto values = std::make_shared<arrow::Int64Builder>();
  arrow::ListBuilder behind(arrow::default_memory_pool(), values);
  for (const BatchIdRow& row : log) {
    TL_RETURN_NOT_OK(ids.Append(row.id));
    TL_RETURN_NOT_OK(snapshots.Append(row.snapshot_id));
    TL_RETURN_NOT_OK(times.Append(row.timestamp_ms));
    TL_RETURN_NOT_OK(rows.Append(row.rows));
    TL_RETURN_NOT_OK(behind.Append());
    for (int64_t snapshot : row.behind) TL_RETURN_NOT_OK(values->Append(snapshot));
  }
  arrow::ArrayVector columns(5);
  TL_RETURN_NOT_OK(ids.Finish(&columns[0]));
  TL_RETURN_NOT_OK(snapshots.Finish(&columns[1]));
  TL_RETURN_NOT_OK(times.Finish(&columns[2]));
  TL_RETURN_NOT_OK(rows.Finish(&columns[3]));
  TL_RETURN_NOT_OK(behind.Finish(&columns[4]));
  auto table = arrow::Table::Make(LogSchema(), columns);
  TL_ASSIGN_OR_RAISE(auto out, arrow::io::BufferOutputStream::Create());
  auto properties =
      parquet::WriterProperties::Builder().compression(arrow::Compression::ZSTD)->build();
  TL_RETURN_NOT_OK(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 1 << 20, properties));
  return out->Finish();
}

Result<BatchIdLog> FromParquet(std::shared_ptr<arrow::Buffer> bytes) {
  auto input = std::make_shared<arrow::io::BufferReader>(std::move(bytes));
  TL_ASSIGN_OR_RAISE(auto reader, parquet::arrow::OpenFile(input, arrow::default_memory_pool()));
  std::shared_ptr<arrow::Table> table;
  TL_ASSIGN_OR_RAISE(table, reader->ReadTable());
  TL_ASSIGN_OR_RAISE(table, table->CombineChunks());
  if (!table->schema()->Equals(*LogSchema(), false)) return Corrupt("not a batch-id log");
  BatchIdLog log;
  if (table->num_rows() == 0) return log;
  const auto& ids = static_cast<const arrow::StringArray&>(*table->column(0)->chunk(0));
  const auto at = [&](int column, int64_t i) {
    return static_cast<const arrow::Int64Array&>(*table->column(column)->chunk(0)).Value(i);
  };
  const auto& behind = static_cast<const arrow::ListArray&>(*table->column(4)->chunk(0));
  const auto& values = static_cast<const arrow::Int64Array&>(*behind.values());
  for (int64_t i = 0; i < table->num_rows(); ++i) {
    BatchIdRow row{std::string(ids.GetView(i)), at(1, i), at(2, i), at(3, i), {}};
    for (int64_t k = behind.value_offset(i); k < behind.value_offset(i + 1); ++k) {
      row.behind.insert(values.Value(k));
    }
    log.push_back(std::move(row));
  }
  return log;
}

Result<BatchIdLog> ReadLogFile(const Env& env, const std::string& uri) {
  TL_ASSIGN_OR_RAISE(auto bytes, ReadObject(env, uri));
  return FromParquet(std::move(bytes));
}

}  // namespace

std::optional<std::string> BatchIdLogFile(const iceberg::TableMetadata& metadata) {
  auto it = metadata.properties.find(kBatchIdLog);
  if (it == metadata.properties.end() || it->second.starts_with('[')) return std::nullopt;
  return it->second;
}

BatchIdLog ReadBatchIdLog(const Env& env, const iceberg::TableMetadata& metadata) {
  auto it = metadata.properties.find(kBatchIdLog);
  if (it == metadata.properties.end()) return {};
  if (auto file = BatchIdLogFile(metadata)) {
    auto log = ReadLogFile(env, *file);
    if (log.ok()) return std::move(*log);
    env.Log(LogLevel::kWarning, "the batch-id log " + *file + " cannot be read (" +
                                    log.status().message() + "): older batch ids are forgotten");
    return {};
  }
  auto log = FromJson(it->second);
  if (log) return std::move(*log);
  env.Log(LogLevel::kWarning, std::string("the property ") + kBatchIdLog +
                                  " is not a batch-id log: older batch ids are forgotten");
  return {};
}

Result<EncodedBatchIdLog> EncodeBatchIdLog(const Env& env, const std::string& folder,
                                           const BatchIdLog& log) {
  EncodedBatchIdLog encoded;
  if (log.empty()) return encoded;
  if (log.size() <= kInlineBatchIds) {
    encoded.property = ToJson(log);
    return encoded;
  }
  const std::string key =
      folder + "/metadata/batch-ids-" + FormatUuid(NewUuidV4(*env.random)) + ".parquet";
  TL_ASSIGN_OR_RAISE(auto bytes, ToParquet(log));
  encoded.property = store::UriOf(*env.store, key);
  encoded.object = store::PutRequest{key, std::move(bytes)};
  return encoded;
}

std::optional<BatchIdHit> FindBatchId(const Env& env, const iceberg::TableMetadata& metadata,
                                      const std::string& id) {
  const Rules& rules = *env.rules;
  if (!rules.batch_ancestors) {
    for (const auto& snapshot : metadata.snapshots) {
      if (auto* found = IdOf(snapshot); found && *found == id) {
        return BatchIdHit{snapshot.snapshot_id, AddedRows(snapshot)};
      }
    }
  }
  std::set<int64_t> ancestors;
  for (const auto* s = iceberg::CurrentSnapshot(metadata); s != nullptr;
       s = ParentOf(metadata, *s)) {
    if (!ancestors.insert(s->snapshot_id).second) break;  // a cycle: corrupt, but never endless
    if (auto* found = IdOf(*s); found && *found == id) {
      return BatchIdHit{s->snapshot_id, AddedRows(*s)};
    }
  }
  for (const BatchIdRow& row : ReadBatchIdLog(env, metadata)) {
    if (row.id != id) continue;
    const bool counts = std::any_of(row.behind.begin(), row.behind.end(),
                                    [&](int64_t s) { return ancestors.contains(s); });
    if (counts || !rules.batch_anchor) return BatchIdHit{row.snapshot_id, row.rows};
  }
  return std::nullopt;
}

BatchIdLog FoldBatchIds(const Env& env, const iceberg::TableMetadata& metadata,
                        const BatchIdLog& log, const std::set<int64_t>& keep, int64_t oldest_ms) {
  const Rules& rules = *env.rules;
  std::map<std::pair<std::string, int64_t>, BatchIdRow> folded;
  const auto anchor = [&](const BatchIdRow& row, int64_t kept) {
    auto& entry = folded.try_emplace({row.id, row.snapshot_id}, row).first->second;
    entry.behind.insert(kept);
  };
  std::set<int64_t> anchors = keep;
  if (!rules.batch_anchor) {
    anchors.clear();
    if (metadata.current_snapshot_id) anchors.insert(*metadata.current_snapshot_id);
  }
  if (!rules.batch_fold) anchors.clear();
  // What the log held before hides behind kept snapshots anew; entries start from empty sets.
  BatchIdLog bare = log;
  for (BatchIdRow& row : bare) row.behind.clear();
  for (int64_t kept : anchors) {
    const iceberg::Snapshot* start = iceberg::SnapshotById(metadata, kept);
    if (start == nullptr) continue;
    std::set<int64_t> walked = {kept};
    bool gap = false;  // behind a gap kept ancestors cannot be recognised either
    for (const auto* s = ParentOf(metadata, *start); s != nullptr; s = ParentOf(metadata, *s)) {
      gap |= !keep.contains(s->snapshot_id);
      if (!gap || !walked.insert(s->snapshot_id).second) break;
      const std::string* id = IdOf(*s);
      if (id && (!keep.contains(s->snapshot_id) || rules.batch_gap)) {
        anchor({*id, s->snapshot_id, s->timestamp_ms, AddedRows(*s), {}}, kept);
      }
    }
    for (size_t i = 0; i < log.size(); ++i) {
      const bool hidden = std::any_of(log[i].behind.begin(), log[i].behind.end(),
                                      [&](int64_t b) { return walked.contains(b); });
      if (hidden || !rules.batch_anchor) anchor(bare[i], kept);
    }
  }
  BatchIdLog result;
  for (auto& [key, row] : folded) {
    if (row.timestamp_ms >= oldest_ms) result.push_back(std::move(row));
  }
  std::sort(result.begin(), result.end(), [](const BatchIdRow& a, const BatchIdRow& b) {
    return std::tie(a.timestamp_ms, a.snapshot_id, a.id) <
           std::tie(b.timestamp_ms, b.snapshot_id, b.id);
  });
  return result;
}

}  // namespace timelake::table
