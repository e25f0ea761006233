#include "sql/scan_function.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <arrow/util/byte_size.h>
#include <fmt/format.h>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/parallel/task_scheduler.hpp>
#include <duckdb/planner/expression.hpp>
#include <duckdb/planner/filter/constant_filter.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/table_filter.hpp>
#include <duckdb/storage/table/row_group_reorderer.hpp>

#include "base/text.h"
#include "scan/prune.h"
#include "scan/run_edges.h"
#include "sql/arrow_to_duckdb.h"
#include "sql/bucket_bound.h"
#include "sql/error.h"
#include "sql/filters.h"
#include "sql/functions/bucket_filter.h"
#include "sql/memory_reservation.h"
#include "sql/missing_file.h"
#include "sql/row_filter.h"
#include "sql/scan_bind.h"
#include "sql/scan_statistics.h"
#include "store/cached_store.h"

namespace timelake::sql {

namespace {

using duckdb::idx_t;

// Below this many rows a further thread costs more than it brings.
constexpr int64_t kRowsPerThread = 65536;

constexpr int kNothing = -1;

// Runs that batches have parted are given by the thread that is the last to have read its part.
struct WholeRuns {
  explicit WholeRuns(const scan::RunAggregates& aggregates) : edges(aggregates) {}

  scan::RunEdges edges;
  std::atomic<int> readers{0};
};

struct ScanGlobal : duckdb::GlobalTableFunctionState {
  std::shared_ptr<const TableVersion> table;
  std::vector<PushedFilter> filters;  // applied here
  std::vector<PushedFilter> hints;    // of them pruning may learn something while the query runs
  std::string bound;                  // of the last or first buckets, as text
  std::shared_ptr<scan::Scanner> scanner;
  std::shared_ptr<const ScanAggregates> aggregates;  // of the scanner's batches, or null
  std::unique_ptr<WholeRuns> whole;                  // null: of a group may come several
  // For each output column its position in the batches; kNothing: a column without contents,
  // which DuckDB asks for when it only counts rows.
  std::vector<int> columns;
  std::optional<CacheStats> cache;  // of the lake, when the scan began; nullopt: it has none
  std::unique_ptr<MemoryReservation> masks;  // of replaced rows
  int64_t rows_planned = 0;
  std::atomic<int64_t> rows_done{0};
  idx_t threads = 1;

  idx_t MaxThreads() const override { return threads; }
};

struct ScanLocal : duckdb::LocalTableFunctionState {
  std::unique_ptr<scan::RowFilter> filter;
  scan::RunAggregates aggregates;  // this thread's
  scan::RunEdges::Place place;     // of the next batch
  bool reads = false;              // it is among WholeRuns' readers
  std::shared_ptr<arrow::RecordBatchReader> reader;
  std::shared_ptr<arrow::RecordBatch> batch;
  std::unique_ptr<MemoryReservation> memory;  // of `batch`
  int64_t row = 0;                            // next one in `batch`
  std::vector<ArrowColumn> columns;
};

std::optional<CacheStats> CacheOf(const TableVersion& table) {
  return table.env.store ? store::CacheStatsOf(*table.env.store) : std::nullopt;
}

// The filters that DuckDB pushed down, by columns of the table.
void TakeFilters(const ScanBindData& bind, const duckdb::TableFunctionInitInput& input,
                 ScanGlobal* state) {
  state->filters = bind.in_lists;
  if (!input.filters) return;
  const auto& fields = bind.table->schema->fields;
  for (const auto& [position, filter] : input.filters->filters) {
    const duckdb::column_t column = input.column_ids.at(position);
    if (column >= fields.size()) continue;
    if (auto applied = Applied(*filter)) state->filters.push_back({&fields[column], applied});
    state->hints.push_back(
        {&fields[column], std::shared_ptr<const duckdb::TableFilter>(filter->Copy().release())});
  }
  // Text is mostly in dictionaries, where a filter costs next to nothing.
  std::stable_partition(
      state->filters.begin(), state->filters.end(),
      [](const PushedFilter& filter) { return filter.field->type.id == iceberg::TypeId::kString; });
}

// Looks for the wanted buckets among the first rows of the files that hold them, and leaves out
// what lies behind them.
void BoundBuckets(duckdb::ClientContext& context, const ScanBindData& bind,
                  scan::ScanRequest* request, ScanGlobal* state) {
  scan::RunKey key = bind.aggregates->runs.keys[bind.buckets->key];
  const iceberg::Field& time = bind.table->schema->fields[bind.aggregates->columns[key.column]];
  scan::ScanRequest probe = *request;
  probe.field_ids = {time.id};
  probe.order = {time.id, bind.buckets->last};
  const auto filter = MakeRowFilter(context, state->filters);
  const auto scanner =
      ValueOrThrow(ExplainMissing(*bind.table, bind.table->open(*bind.table, std::move(probe))));
  const auto bound = ValueOrThrow(ExplainMissing(
      *bind.table, FindBucketBound(*scanner, filter.get(), key.bucket, *bind.buckets)));
  if (!bound) return;
  const auto comparison = bind.buckets->last ? duckdb::ExpressionType::COMPARE_GREATERTHANOREQUALTO
                                             : duckdb::ExpressionType::COMPARE_LESSTHANOREQUALTO;
  auto value = time.type.id == iceberg::TypeId::kTimestamptz
                   ? duckdb::Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(*bound))
                   : duckdb::Value::TIMESTAMP(duckdb::timestamp_t(*bound));
  state->filters.push_back(
      {&time, std::make_shared<duckdb::ConstantFilter>(comparison, std::move(value))});
  state->bound = state->filters.back().filter->ToString(time.name);
  request->filters = Describe(state->filters);
  for (const scan::ColumnTest& test : request->filters.back().tests) {
    AddTest(test, &request->predicate);
  }
}

// Of a DELETE: leaves out those files of which metadata knows that all rows pass.
void LeaveOutWhole(const ScanBindData& bind, const scan::ScanRequest& request, ScanGlobal* state) {
  if (!bind.read) Throw(InternalError("row ids are given out to DELETE only"));
  *bind.read = {bind.read->leave_out_whole, {}, {}};
  if (!bind.read->leave_out_whole) return;
  std::vector<scan::ColumnTest> tests;
  for (const scan::ColumnFilter& filter : request.filters) {
    if (!filter.exact) return;
    tests.insert(tests.end(), filter.tests.begin(), filter.tests.end());
  }
  const auto plan = ValueOrThrow(
      ExplainMissing(*bind.table, bind.table->plan(*bind.table, request.predicate, false)));
  std::set<std::string> whole;
  for (const scan::ScanFile& file : plan.files) {
    if (!file.position_deletes.empty() || !file.equality_deletes.empty()) continue;
    if (!scan::AllRowsOfFilePass(*file.data, *bind.table->schema, tests)) continue;
    whole.insert(file.data->file_path);
  }
  bind.read->whole.assign(whole.begin(), whole.end());
  state->table = WithoutFiles(*bind.table, std::move(whole), "");
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(
    duckdb::ClientContext& context, duckdb::TableFunctionInitInput& input) {
  const auto& bind = input.bind_data->Cast<ScanBindData>();
  const auto& fields = bind.table->schema->fields;
  auto state = duckdb::make_uniq<ScanGlobal>();
  state->cache = CacheOf(*bind.table);
  TakeFilters(bind, input, state.get());
  scan::ScanRequest request;
  std::vector<size_t> row_ids;  // output columns
  const auto add = [&](const duckdb::column_t column) {
    if (column == RowIdColumn()) {
      row_ids.push_back(state->columns.size());
      request.row_ids = true;
    }
    if (column < fields.size()) {
      state->columns.push_back(static_cast<int>(request.field_ids.size()));
      request.field_ids.push_back(fields[column].id);
    } else {
      state->columns.push_back(kNothing);
    }
  };
  if (bind.aggregates) {
    for (const size_t column : bind.aggregates->columns) {
      request.field_ids.push_back(fields[column].id);
    }
    state->aggregates = bind.aggregates;
    if (bind.aggregates->whole) {
      state->whole = std::make_unique<WholeRuns>(bind.aggregates->runs);
    }
    for (const duckdb::column_t column : input.column_ids) {
      state->columns.push_back(static_cast<int>(column));
    }
  } else if (input.CanRemoveFilterColumns()) {
    for (const idx_t position : input.projection_ids) add(input.column_ids[position]);
  } else {
    for (const duckdb::column_t column : input.column_ids) add(column);
  }
  request.predicate = bind.predicate;
  request.filters = Describe(state->filters);
  for (scan::ColumnFilter& hint : Describe(state->hints)) {
    for (scan::ColumnTest& test : hint.tests) AddTest(std::move(test), &request.predicate);
  }
  if (!state->hints.empty()) {
    request.live_tests = [hints = state->hints] { return LiveTests(hints); };
  }
  request.order = bind.order;
  request.threads =
      static_cast<int>(duckdb::TaskScheduler::GetScheduler(context).NumberOfThreads());
  for (const size_t i : row_ids) state->columns[i] = static_cast<int>(request.field_ids.size());
  state->table = bind.table;
  if (request.row_ids) LeaveOutWhole(bind, request, state.get());
  if (bind.buckets) BoundBuckets(context, bind, &request, state.get());
  state->scanner = ValueOrThrow(
      ExplainMissing(*bind.table, state->table->open(*state->table, std::move(request))));
  if (bind.read) bind.read->files = state->scanner->plan().files;
  int64_t mask_bytes = 0;
  for (const scan::ScanFile& file : state->scanner->plan().files) {
    state->rows_planned += file.data->record_count;
    if (file.superseded) {
      mask_bytes += static_cast<int64_t>(file.superseded->capacity() * sizeof(int64_t));
    }
  }
  state->masks = std::make_unique<MemoryReservation>(context);
  state->masks->Hold(mask_bytes);
  state->threads = static_cast<idx_t>(1 + state->rows_planned / kRowsPerThread);
  return state;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(
    duckdb::ExecutionContext& context, duckdb::TableFunctionInitInput&,
    duckdb::GlobalTableFunctionState* global_state) {
  const auto& global = global_state->Cast<ScanGlobal>();
  auto state = duckdb::make_uniq<ScanLocal>();
  state->columns.resize(global.columns.size());
  state->filter = MakeRowFilter(context.client, global.filters);
  if (global.aggregates) state->aggregates = global.aggregates->runs;
  state->memory = std::make_unique<MemoryReservation>(context.client);
  return state;
}

// What is left of whole groups when this thread has nothing more to read: the edges, for the last
// one. A thread that comes later finds nothing, neither rows nor edges.
std::shared_ptr<arrow::RecordBatch> LastGroups(ScanGlobal& global, ScanLocal& local) {
  if (!std::exchange(local.reads, false)) return nullptr;
  if (global.whole->readers.fetch_sub(1) != 1) return nullptr;
  return ValueOrThrow(global.whole->edges.Join());
}

// False when the scan is done.
bool NextBatch(ScanGlobal& global, ScanLocal& local) {
  local.row = 0;
  while (true) {
    if (!local.reader) {
      if (global.whole && !std::exchange(local.reads, true)) global.whole->readers.fetch_add(1);
      local.place.batch = 0;
      local.reader = ValueOrThrow(ExplainMissing(
          *global.table, global.scanner->Next(local.filter.get(), &local.place.morsel)));
      if (!local.reader) {
        local.batch = global.whole ? LastGroups(global, local) : nullptr;
        local.memory->Hold(0);
        return local.batch != nullptr;
      }
    }
    ThrowIfError(ExplainMissing(*global.table, local.reader->ReadNext(&local.batch)));
    if (!local.batch) {
      local.reader.reset();
    } else if (const int64_t rows = local.batch->num_rows(); rows > 0) {
      local.memory->Hold(arrow::util::TotalBufferSize(*local.batch));
      global.rows_done.fetch_add(rows, std::memory_order_relaxed);
      if (global.aggregates) {
        local.batch = ValueOrThrow(scan::AggregateRuns(local.aggregates, *local.batch));
      }
      if (global.whole) {
        local.batch = ValueOrThrow(global.whole->edges.Keep(local.place, local.batch));
        ++local.place.batch;
        if (local.batch->num_rows() == 0) continue;
      }
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
    if (column == kNothing) continue;
    local.columns[i].Convert(local.batch->column_data(column), local.row, static_cast<idx_t>(count),
                             output.data[i]);
  }
  output.SetCardinality(static_cast<idx_t>(count));
  local.row += count;
}

void PushdownFilters(duckdb::ClientContext& context, duckdb::LogicalGet& get,
                     duckdb::FunctionData* bind_data,
                     duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  auto& bind = bind_data->Cast<ScanBindData>();
  // Called more than once, with the same filters again: AddPruning drops what it knows already.
  for (auto& filter : filters) {
    AddPruning(context, get, *bind.table->schema, *filter, &bind.predicate);
    for (const auto& implied : ImpliedByBucket(context, *filter)) {
      AddPruning(context, get, *bind.table->schema, *implied, &bind.predicate);
    }
    const auto list = InListOf(context, get, *bind.table->schema, *filter);
    if (!list) continue;
    bind.in_lists.push_back({list->field, list->filter});
    filter.reset();
  }
  filters.erase(std::remove(filters.begin(), filters.end(), nullptr), filters.end());
}

// Whether DuckDB may hand an expression over one column to the scan.
bool PushdownExpression(duckdb::ClientContext&, const duckdb::LogicalGet&,
                        duckdb::Expression& expression) {
  // One that fails may have been kept from the failing values by another filter.
  return !expression.IsVolatile() && !expression.CanThrow();
}

bool SupportsPushdown(const duckdb::FunctionData& bind_data, idx_t column) {
  const auto& fields = bind_data.Cast<ScanBindData>().table->schema->fields;
  return column < fields.size() && fields[column].type.is_primitive();
}

void SetOrder(duckdb::unique_ptr<duckdb::RowGroupOrderOptions> options,
              duckdb::optional_ptr<duckdb::FunctionData> bind_data) {
  auto& bind = bind_data->Cast<ScanBindData>();
  const auto& fields = bind.table->schema->fields;
  const duckdb::idx_t column = options->column_idx.GetPrimaryIndex();
  if (column >= fields.size()) return;
  bind.order = {fields[column].id, options->order_type == duckdb::OrderType::DESCENDING};
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
  if (!bind.table->rewrite.empty()) result["Rewrite"] = bind.table->rewrite;
  if (!bind.table->from_metadata.empty()) result["Metadata"] = bind.table->from_metadata;
  if (bind.table->time_travel) {
    result["Snapshot"] = std::to_string(bind.table->snapshot->snapshot_id);
  }
  std::vector<std::string> lists;
  for (const PushedFilter& list : bind.in_lists) {
    lists.push_back(list.filter->ToString(list.field->name));
  }
  if (!lists.empty()) result["Filtered Here"] = Join(lists, ", ");
  if (bind.aggregates) result["Aggregated Here"] = Join(bind.aggregates->names, ", ");
  if (bind.aggregates && bind.aggregates->whole) result["Each Group"] = "once";
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
  if (!global.bound.empty()) result["Buckets"] = global.bound;
  result["Manifests"] = of(counters->manifests_pruned, counters->manifests_total);
  result["Files"] = of(counters->files_pruned, counters->files_total);
  result["Row Groups"] = of(counters->row_groups_pruned, counters->row_groups_total);
  const auto read = [](const std::atomic<int64_t>& some, const std::atomic<int64_t>& total) {
    return fmt::format("{} of {} read", some.load(), total.load());
  };
  result["Pages"] = read(counters->pages_read, counters->pages_total);
  result["Rows"] = fmt::format("{}, {} passed", read(counters->rows_read, counters->rows_total),
                               counters->rows_passed.load());
  if (counters->rows_superseded > 0) {
    result["Superseded"] = std::to_string(counters->rows_superseded.load());
  }
  result["Bytes Read"] = std::to_string(counters->bytes_read.load());
  result["Values Decoded"] = std::to_string(counters->values_decoded.load());
  if (const auto now = CacheOf(*global.table); now && global.cache) {
    const CacheStats& then = *global.cache;
    result["Cache"] = fmt::format(
        "{} blocks hit\n{} on disk\n{} missed\n{} requests\n{} bytes hit\n{} bytes fetched",
        now->memory_hits - then.memory_hits, now->disk_hits - then.disk_hits,
        now->misses - then.misses, now->requests - then.requests, now->bytes_hit - then.bytes_hit,
        now->bytes_fetched - then.bytes_fetched);
  }
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
  result.insert({RowIdColumn(), duckdb::TableColumn("", duckdb::LogicalType::BIGINT)});
  return result;
}

}  // namespace

bool IsScan(const duckdb::LogicalGet& get) {
  return get.function.function == Scan && get.bind_data != nullptr;
}

std::shared_ptr<const TableVersion> TableOf(const duckdb::TableFunction& function,
                                            const duckdb::FunctionData* bind_data) {
  if (function.function != Scan || !bind_data) return nullptr;
  return bind_data->Cast<ScanBindData>().table;
}

duckdb::TableFunction MakeScanFunction() {
  duckdb::TableFunction function("timelake_scan", {}, Scan, nullptr, InitGlobal, InitLocal);
  function.projection_pushdown = true;
  function.filter_pushdown = true;
  function.filter_prune = true;
  function.pushdown_expression = PushdownExpression;
  function.supports_pushdown_type = SupportsPushdown;
  function.set_scan_order = SetOrder;
  function.pushdown_complex_filter = PushdownFilters;
  function.cardinality = ScanCardinality;
  function.statistics = ScanStatistics;
  function.table_scan_progress = Progress;
  function.to_string = Explain;
  function.dynamic_to_string = ExplainAnalyze;
  function.get_bind_info = GetBindInfo;
  function.get_virtual_columns = VirtualColumns;
  function.order_preservation_type = duckdb::OrderPreservationType::NO_ORDER;
  function.verify_serialization = false;
  return function;
}

}  // namespace timelake::sql
