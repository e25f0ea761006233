#include "sql/scan_function.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/planner/operator/logical_get.hpp>

#include "sql/arrow_to_duckdb.h"
#include "sql/error.h"
#include "sql/filters.h"

namespace timelake::sql {

namespace {

using duckdb::idx_t;

// Below this many rows a further thread costs more than it brings.
constexpr int64_t kRowsPerThread = 65536;

struct ScanBindData : duckdb::TableFunctionData {
  std::shared_ptr<const TableVersion> table;
  duckdb::optional_ptr<duckdb::TableCatalogEntry> entry;
  scan::Predicate predicate;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    auto copy = duckdb::make_uniq<ScanBindData>();
    copy->table = table;
    copy->entry = entry;
    copy->predicate = predicate;
    return copy;
  }

  bool Equals(const duckdb::FunctionData& other) const override {
    const auto& that = other.Cast<ScanBindData>();
    return table->name == that.table->name && table->number == that.table->number &&
           table->snapshot == that.table->snapshot &&
           predicate.all_of.size() == that.predicate.all_of.size();
  }
};

struct ScanGlobal : duckdb::GlobalTableFunctionState {
  std::shared_ptr<scan::Scanner> scanner;
  // For each output column its position in the scanner's batches; -1: a column without contents,
  // which DuckDB asks for when it only counts rows.
  std::vector<int> columns;
  int64_t rows_planned = 0;
  std::atomic<int64_t> rows_done{0};
  idx_t threads = 1;

  idx_t MaxThreads() const override { return threads; }
};

struct ScanLocal : duckdb::LocalTableFunctionState {
  std::shared_ptr<arrow::RecordBatchReader> reader;
  std::shared_ptr<arrow::RecordBatch> batch;
  int64_t row = 0;  // next one in `batch`
  std::vector<ArrowColumn> columns;
};

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(
    duckdb::ClientContext&, duckdb::TableFunctionInitInput& input) {
  const auto& bind = input.bind_data->Cast<ScanBindData>();
  const auto& fields = bind.table->schema->fields;
  auto state = duckdb::make_uniq<ScanGlobal>();
  std::vector<int> field_ids;
  for (const duckdb::column_t column : input.column_ids) {
    if (column < fields.size()) {
      state->columns.push_back(static_cast<int>(field_ids.size()));
      field_ids.push_back(fields[column].id);
    } else {
      state->columns.push_back(-1);
    }
  }
  state->scanner = ValueOrThrow(bind.table->open(*bind.table, field_ids, bind.predicate));
  for (const scan::ScanFile& file : state->scanner->plan().files) {
    state->rows_planned += file.file.record_count;
  }
  state->threads = static_cast<idx_t>(1 + state->rows_planned / kRowsPerThread);
  return state;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(
    duckdb::ExecutionContext&, duckdb::TableFunctionInitInput&,
    duckdb::GlobalTableFunctionState* global) {
  auto state = duckdb::make_uniq<ScanLocal>();
  state->columns.resize(global->Cast<ScanGlobal>().columns.size());
  return state;
}

// False when the scan is done.
bool NextBatch(ScanGlobal& global, ScanLocal& local) {
  local.row = 0;
  while (true) {
    if (!local.reader) {
      local.reader = ValueOrThrow(global.scanner->Next());
      if (!local.reader) return false;
    }
    ThrowIfError(local.reader->ReadNext(&local.batch));
    if (!local.batch) {
      local.reader.reset();
    } else if (local.batch->num_rows() > 0) {
      return true;
    }
  }
}

void Scan(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
          duckdb::DataChunk& output) {
  auto& global = input.global_state->Cast<ScanGlobal>();
  auto& local = input.local_state->Cast<ScanLocal>();
  if (context.IsInterrupted()) throw duckdb::InterruptException();
  if (!local.batch || local.row == local.batch->num_rows()) {
    if (!NextBatch(global, local)) return;  // an empty chunk ends the scan
  }
  const int64_t count =
      std::min<int64_t>(local.batch->num_rows() - local.row, STANDARD_VECTOR_SIZE);
  for (size_t i = 0; i < global.columns.size(); ++i) {
    const int column = global.columns[i];
    if (column < 0) continue;
    local.columns[i].Convert(local.batch->column_data(column), local.row, static_cast<idx_t>(count),
                             output.data[i]);
  }
  output.SetCardinality(static_cast<idx_t>(count));
  local.row += count;
  global.rows_done.fetch_add(count, std::memory_order_relaxed);
}

void PushdownFilters(duckdb::ClientContext& context, duckdb::LogicalGet& get,
                     duckdb::FunctionData* bind_data,
                     duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  auto& bind = bind_data->Cast<ScanBindData>();
  // Called more than once, with the same filters again: AddPruning drops what it knows already.
  for (const auto& filter : filters) {
    AddPruning(context, get, *bind.table->schema, *filter, &bind.predicate);
  }
}

duckdb::unique_ptr<duckdb::NodeStatistics> Cardinality(duckdb::ClientContext&,
                                                       const duckdb::FunctionData* bind_data) {
  const auto& table = *bind_data->Cast<ScanBindData>().table;
  const auto rows = static_cast<idx_t>(DeclaredRows(table));
  return duckdb::make_uniq<duckdb::NodeStatistics>(rows);
}

double Progress(duckdb::ClientContext&, const duckdb::FunctionData*,
                const duckdb::GlobalTableFunctionState* global_state) {
  const auto& global = global_state->Cast<ScanGlobal>();
  if (global.rows_planned == 0) return 100;
  const double share = static_cast<double>(global.rows_done.load(std::memory_order_relaxed)) /
                       static_cast<double>(global.rows_planned);
  return std::min(100.0, 100.0 * share);
}

duckdb::InsertionOrderPreservingMap<duckdb::string> Explain(
    duckdb::TableFunctionToStringInput& input) {
  const auto& bind = input.bind_data->Cast<ScanBindData>();
  duckdb::InsertionOrderPreservingMap<duckdb::string> result;
  result["Table"] = bind.table->name;
  result["Version"] = std::to_string(bind.table->number);
  if (!bind.predicate.all_of.empty()) {
    result["Pruning"] = ToText(*bind.table->schema, bind.predicate);
  }
  return result;
}

duckdb::InsertionOrderPreservingMap<duckdb::string> ExplainAnalyze(
    duckdb::TableFunctionDynamicToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<duckdb::string> result;
  if (!input.global_state) return result;
  const auto& global = input.global_state->Cast<ScanGlobal>();
  const auto& counters = global.scanner->plan().counters;
  if (!counters) return result;
  const auto of = [](const std::atomic<int64_t>& pruned, const std::atomic<int64_t>& total) {
    return fmt::format("{} of {} pruned", pruned.load(), total.load());
  };
  result["Manifests"] = of(counters->manifests_pruned, counters->manifests_total);
  result["Files"] = of(counters->files_pruned, counters->files_total);
  result["Row Groups"] = of(counters->row_groups_pruned, counters->row_groups_total);
  result["Rows Read"] = std::to_string(counters->rows_read.load());
  result["Bytes Read"] = std::to_string(counters->bytes_read.load());
  return result;
}

duckdb::BindInfo GetBindInfo(const duckdb::optional_ptr<duckdb::FunctionData> bind_data) {
  const auto& bind = bind_data->Cast<ScanBindData>();
  if (!bind.entry) return duckdb::BindInfo(duckdb::ScanType::EXTERNAL);
  return duckdb::BindInfo(const_cast<duckdb::TableCatalogEntry&>(*bind.entry));
}

// Bare count(*) asks for a column of no type in particular; row ids there are none.
duckdb::virtual_column_map_t VirtualColumns(duckdb::ClientContext&,
                                            duckdb::optional_ptr<duckdb::FunctionData>) {
  duckdb::virtual_column_map_t result;
  result.insert(
      {duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", duckdb::LogicalType::BOOLEAN)});
  return result;
}

}  // namespace

duckdb::TableFunction MakeScanFunction() {
  duckdb::TableFunction function("timelake_scan", {}, Scan, nullptr, InitGlobal, InitLocal);
  function.projection_pushdown = true;
  function.pushdown_complex_filter = PushdownFilters;
  function.cardinality = Cardinality;
  function.table_scan_progress = Progress;
  function.to_string = Explain;
  function.dynamic_to_string = ExplainAnalyze;
  function.get_bind_info = GetBindInfo;
  function.get_virtual_columns = VirtualColumns;
  function.order_preservation_type = duckdb::OrderPreservationType::NO_ORDER;
  function.verify_serialization = false;
  return function;
}

duckdb::unique_ptr<duckdb::FunctionData> MakeScanBindData(std::shared_ptr<const TableVersion> table,
                                                          duckdb::TableCatalogEntry* entry) {
  auto bind = duckdb::make_uniq<ScanBindData>();
  bind->table = std::move(table);
  bind->entry = entry;
  return bind;
}

}  // namespace timelake::sql
