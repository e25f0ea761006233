#include "sql/scan_statistics.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/compute/api_aggregate.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/storage/statistics/base_statistics.hpp>
#include <duckdb/storage/statistics/node_statistics.hpp>
#include <duckdb/storage/statistics/numeric_stats.hpp>
#include <duckdb/storage/statistics/string_stats.hpp>

#include "scan/prune.h"
#include "sql/newest_rows.h"
#include "sql/scan_bind.h"
#include "sql/scan_function.h"
#include "sql/types.h"
#include "table/meta_cache.h"

namespace timelake::sql {

namespace {

using duckdb::BaseStatistics;
using duckdb::idx_t;
using iceberg::TypeId;
using iceberg::Value;

// Beyond this many files the bounds of all take longer to gather than they are worth.
constexpr size_t kMostFiles = 512;

const scan::FileList* FilesOf(const ScanBindData& bind) {
  const TableVersion& table = *bind.table;
  if (!table.files) return nullptr;
  PlannedFiles& planned = bind.planned;
  const size_t tests = bind.predicate.all_of.size();
  if (planned.table != &table || planned.tests != tests) {
    auto files = table.files(table, bind.predicate);
    planned.files =
        files.ok() ? std::make_shared<const scan::FileList>(*std::move(files)) : nullptr;
    planned.table = &table;
    planned.tests = tests;
  }
  return planned.files.get();
}

int64_t RowsOf(const scan::FileList& files) {
  int64_t rows = 0;
  for (const auto& file : files) rows += std::max<int64_t>(0, file->record_count);
  return rows;
}

// Series whose keys are counted column by column; more take too long for an estimate.
constexpr int64_t kCountedSeries = 1 << 16;

// Values of a column of the key, from the last-value index; nothing without one.
std::optional<int64_t> DistinctOfKey(const TableVersion& table, int field_id) {
  const auto& key = table.contract.key_ids;
  if (!table.latest || !table.snapshot ||
      std::find(key.begin(), key.end(), field_id) == key.end()) {
    return std::nullopt;
  }
  const std::string name = "distinct:" + table.metadata->table_uuid + ":" +
                           std::to_string(table.snapshot->snapshot_id) + ":" +
                           std::to_string(field_id);
  if (table.env.cache) {
    if (const auto known = table.env.cache->Get<int64_t>(name)) return *known;
  }
  const auto series = CountSeries(table);
  if (!series) return std::nullopt;
  int64_t count = *series;
  if (key.size() > 1) {
    if (count > kCountedSeries) return std::nullopt;
    const auto rows = table.latest(table, {});
    if (!rows) return std::nullopt;
    const auto& fields = table.schema->fields;
    const auto place = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& field) { return field.id == field_id; });
    if (place == fields.end()) return std::nullopt;
    const arrow::compute::CountOptions all(arrow::compute::CountOptions::ALL);
    auto distinct = arrow::compute::CallFunction(
        "count_distinct", {rows->column(static_cast<int>(place - fields.begin()))}, &all);
    if (!distinct.ok()) return std::nullopt;
    count = distinct->scalar_as<arrow::Int64Scalar>().value;
  }
  if (table.env.cache) {
    table.env.cache->Put<int64_t>(name, std::make_shared<const int64_t>(count), 256);
  }
  return count;
}

// What holds for the values of all files.
struct Merged {
  std::optional<Value> lower, upper;
  bool may_be_null = false;
};

void Widen(const std::optional<Value>& bound, bool upper, bool* known, std::optional<Value>* all) {
  if (!*known) return;
  if (!bound) {
    *known = false;
    all->reset();
    return;
  }
  if (!*all) {
    *all = bound;
    return;
  }
  const auto order = scan::CompareValues(*bound, **all);
  if (!order) {
    *known = false;
    all->reset();
  } else if (upper ? *order > 0 : *order < 0) {
    *all = bound;
  }
}

Merged Merge(const scan::FileList& files, const iceberg::Field& field) {
  Merged merged;
  bool has_lower = true;
  bool has_upper = true;
  const bool is_float = field.type.id == TypeId::kFloat || field.type.id == TypeId::kDouble;
  for (const auto& file : files) {
    const scan::ColumnFacts facts = scan::FactsOf(*file, field);
    merged.may_be_null = merged.may_be_null || facts.may_be_null;
    const bool nan = is_float && facts.may_be_nan;
    if (!facts.may_be_value && !nan) continue;
    Widen(facts.lower, false, &has_lower, &merged.lower);
    Widen(nan ? std::nullopt : facts.upper, true, &has_upper, &merged.upper);
  }
  return merged;
}

void SetBounds(const Merged& merged, const iceberg::Type& type, BaseStatistics* stats) {
  switch (BaseStatistics::GetStatsType(stats->GetType())) {
    case duckdb::StatisticsType::NUMERIC_STATS: {
      if (type.id == TypeId::kUuid) return;  // writers order them in more than one way
      // DuckDB packs integers of known bounds below aggregates and sorts: one more operator, which
      // stands in the way of aggregates that are computed while reading.
      if (type.id == TypeId::kInt || type.id == TypeId::kLong) return;
      const auto lower = merged.lower ? ToDuckDbValue(*merged.lower, type) : std::nullopt;
      const auto upper = merged.upper ? ToDuckDbValue(*merged.upper, type) : std::nullopt;
      if (lower) duckdb::NumericStats::SetMin(*stats, *lower);
      if (upper) duckdb::NumericStats::SetMax(*stats, *upper);
      return;
    }
    case duckdb::StatisticsType::STRING_STATS: {
      // Only their first bytes are kept and compared, so that a cut bound is one all the same.
      const auto* lower = merged.lower ? std::get_if<std::string>(&*merged.lower) : nullptr;
      const auto* upper = merged.upper ? std::get_if<std::string>(&*merged.upper) : nullptr;
      if (!lower || !upper || type.id != TypeId::kString) return;
      duckdb::StringStats::SetMin(*stats, duckdb::string_t(*lower));
      duckdb::StringStats::SetMax(*stats, duckdb::string_t(*upper));
      return;
    }
    default: return;
  }
}

}  // namespace

duckdb::unique_ptr<duckdb::NodeStatistics> ScanCardinality(duckdb::ClientContext&,
                                                           const duckdb::FunctionData* bind_data) {
  const auto& bind = bind_data->Cast<ScanBindData>();
  const scan::FileList* files = FilesOf(bind);
  if (!files) {
    return duckdb::make_uniq<duckdb::NodeStatistics>(static_cast<idx_t>(DeclaredRows(*bind.table)));
  }
  return duckdb::make_uniq<duckdb::NodeStatistics>(static_cast<idx_t>(RowsOf(*files)));
}

duckdb::unique_ptr<BaseStatistics> ScanStatistics(duckdb::ClientContext&,
                                                  const duckdb::FunctionData* bind_data,
                                                  duckdb::column_t column) {
  const auto& bind = bind_data->Cast<ScanBindData>();
  const auto& fields = bind.table->schema->fields;
  if (column >= fields.size() || !fields[column].type.is_primitive()) return nullptr;
  const iceberg::Field& field = fields[column];
  const scan::FileList* files = FilesOf(bind);
  if (!files || files->empty() || files->size() > kMostFiles) return nullptr;
  auto stats = BaseStatistics::CreateUnknown(ToLogicalType(field.type)).ToUnique();
  const Merged merged = Merge(*files, field);
  SetBounds(merged, field.type, stats.get());
  if (!merged.may_be_null) stats->Set(duckdb::StatsInfo::CANNOT_HAVE_NULL_VALUES);
  // Without one DuckDB would take 0 for the number.
  int64_t distinct = RowsOf(*files);
  if (bind.joined) {
    distinct = std::min(distinct, DistinctOfKey(*bind.table, field.id).value_or(distinct));
  }
  stats->SetDistinctCount(static_cast<idx_t>(std::max<int64_t>(1, distinct)));
  return stats;
}

const scan::FileList* PlannedFilesOf(const duckdb::LogicalGet& get) {
  return FilesOf(get.bind_data->Cast<ScanBindData>());
}

std::optional<Value> PlannedBound(const duckdb::LogicalGet& get, const iceberg::Field& field,
                                  bool greatest) {
  switch (field.type.id) {
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kDate:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz: break;
    default: return std::nullopt;
  }
  const scan::FileList* files = PlannedFilesOf(get);
  if (!files || files->size() > kMostFiles) return std::nullopt;
  const Merged merged = Merge(*files, field);
  return greatest ? merged.upper : merged.lower;
}

namespace {

bool HasJoin(const duckdb::LogicalOperator& op) {
  switch (op.type) {
    case duckdb::LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case duckdb::LogicalOperatorType::LOGICAL_ANY_JOIN:
    case duckdb::LogicalOperatorType::LOGICAL_ASOF_JOIN:
    case duckdb::LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
    case duckdb::LogicalOperatorType::LOGICAL_DELIM_JOIN: return true;
    default: break;
  }
  return std::any_of(op.children.begin(), op.children.end(),
                     [](const auto& child) { return HasJoin(*child); });
}

void MarkScans(duckdb::LogicalOperator& op) {
  if (op.type == duckdb::LogicalOperatorType::LOGICAL_GET) {
    auto& get = op.Cast<duckdb::LogicalGet>();
    if (IsScan(get)) SetJoined(get);
  }
  for (auto& child : op.children) MarkScans(*child);
}

void PreOptimize(duckdb::OptimizerExtensionInput&,
                 duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
  if (HasJoin(*plan)) MarkScans(*plan);
}

}  // namespace

void RegisterJoinStatistics(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = PreOptimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql
