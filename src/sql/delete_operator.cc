#include "sql/delete_operator.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/execution/operator/scan/physical_table_scan.hpp>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/planner/expression/bound_reference_expression.hpp>
#include <duckdb/planner/operator/logical_delete.hpp>

#include "sql/error.h"
#include "sql/insert_operator.h"
#include "sql/metadata_tables.h"
#include "sql/scan_bind.h"

namespace timelake::sql {

namespace {

using duckdb::idx_t;
using duckdb::PhysicalOperatorType;

struct DeleteTarget {
  std::string table;  // "namespace.table"
  std::function<Result<std::shared_ptr<table::Handle>>()> open;
  idx_t row_id = 0;                          // column of the source
  std::shared_ptr<const TableVersion> seen;  // null: the source is known to be empty
  std::shared_ptr<FilesRead> read;           // by its scan
};

struct SinkState : duckdb::GlobalSinkState {
  std::mutex mutex;
  std::vector<std::unique_ptr<table::RowSet>> rows;  // by file
  int64_t deleted = 0;
};

class DeleteOperator : public duckdb::PhysicalOperator {
 public:
  DeleteOperator(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> result_types,
                 LakeContext& lake, DeleteTarget target, idx_t estimated)
      : duckdb::PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(result_types),
                                 estimated),
        lake_(lake),
        target_(std::move(target)) {}

  duckdb::string GetName() const override { return "TIMELAKE_DELETE"; }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = target_.table;
    return result;
  }

  // --- sink ---

  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return true; }

  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext&) const override {
    return duckdb::make_uniq<SinkState>();
  }

  duckdb::SinkResultType Sink(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override {
    auto& state = input.global_state.Cast<SinkState>();
    duckdb::UnifiedVectorFormat ids;
    chunk.data[target_.row_id].ToUnifiedFormat(chunk.size(), ids);
    const auto* numbers = duckdb::UnifiedVectorFormat::GetData<int64_t>(ids);
    std::lock_guard lock(state.mutex);
    for (idx_t i = 0; i < chunk.size(); ++i) {
      const idx_t at = ids.sel->get_index(i);
      if (ids.validity.RowIsValid(at)) Choose(state, scan::RowId::From(numbers[at]));
    }
    return duckdb::SinkResultType::NEED_MORE_INPUT;
  }

  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&,
                                    duckdb::ClientContext& context,
                                    duckdb::OperatorSinkFinalizeInput& input) const override {
    auto& state = input.global_state.Cast<SinkState>();
    if (!target_.seen) return duckdb::SinkFinalizeType::READY;
    table::RowDelete rows;
    rows.base.number = target_.seen->number;
    rows.base.metadata = target_.seen->metadata;
    rows.dedup = target_.seen->dedup;
    rows.cancelled = [&context] { return context.IsInterrupted(); };
    rows.files.insert(target_.read->whole.begin(), target_.read->whole.end());
    for (size_t file = 0; file < state.rows.size(); ++file) {
      if (!state.rows[file]) continue;
      rows.rows.emplace(target_.read->files[file].data->file_path, std::move(*state.rows[file]));
    }
    if (rows.files.empty() && rows.rows.empty()) return duckdb::SinkFinalizeType::READY;
    const auto handle = ValueOrThrow(target_.open());
    const auto done =
        ValueOrThrow(lake_.erase()(*handle, lake_.catalog().session_settings(), rows));
    if (!done) {
      lake_.NoteStale();
      Throw(
          Conflict("table {}: other writers replaced the files that hold rows to be deleted; "
                   "nothing was deleted",
                   target_.table));
    }
    state.deleted = done->rows;
    return duckdb::SinkFinalizeType::READY;
  }

  // --- source: the number of rows ---

  bool IsSource() const override { return true; }

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput&) const override {
    chunk.SetCardinality(1);
    chunk.SetValue(0, 0, duckdb::Value::BIGINT(sink_state->Cast<SinkState>().deleted));
    return duckdb::SourceResultType::FINISHED;
  }

 private:
  void Choose(SinkState& state, scan::RowId row) const {
    const auto& files = target_.read->files;
    if (row.file >= files.size() || row.position >= files[row.file].data->record_count) {
      Throw(InternalError("table {}: a row id that the scan did not give", target_.table));
    }
    if (state.rows.empty()) state.rows.resize(files.size());
    auto& rows = state.rows[row.file];
    if (!rows) rows = std::make_unique<table::RowSet>(files[row.file].data->record_count);
    rows->Add(row.position);
  }

  LakeContext& lake_;
  const DeleteTarget target_;
};

bool GivesRowIds(const duckdb::PhysicalTableScan& scan) {
  return std::any_of(scan.column_ids.begin(), scan.column_ids.end(),
                     [](const auto& column) { return column.GetPrimaryIndex() == RowIdColumn(); });
}

// The scans that give row ids, that is: of the table to delete from.
void FindScans(const duckdb::PhysicalOperator& op,
               std::vector<const duckdb::PhysicalTableScan*>* scans) {
  if (op.type == PhysicalOperatorType::TABLE_SCAN) {
    const auto& scan = op.Cast<duckdb::PhysicalTableScan>();
    const bool known = std::find(scans->begin(), scans->end(), &scan) != scans->end();
    if (GivesRowIds(scan) && !known) scans->push_back(&scan);
  }
  for (const auto& child : op.GetChildren()) FindScans(child.get(), scans);
}

// Whether all rows of the scan come out of the operator.
bool TakesAllRows(const duckdb::PhysicalOperator& source, const duckdb::PhysicalTableScan& scan) {
  const duckdb::PhysicalOperator* op = &source;
  while (op->type == PhysicalOperatorType::PROJECTION) op = &op->children[0].get();
  if (op != &scan) return false;
  if (scan.dynamic_filters && scan.dynamic_filters->HasFilters()) return false;
  return !scan.extra_info.sample_options;
}

// Lets the scan say what it reads, and gives it to the operator.
void Connect(const duckdb::PhysicalOperator& source, DeleteTarget* target) {
  std::vector<const duckdb::PhysicalTableScan*> scans;
  FindScans(source, &scans);
  if (scans.empty()) return;  // of a condition that is never true
  if (scans.size() > 1) {
    Throw(
        Unsupported("DELETE FROM {}: this form of the statement reads the table {} times; say it "
                    "with a condition on its rows",
                    target->table, scans.size()));
  }
  auto& bind = scans[0]->bind_data->Cast<ScanBindData>();
  if (bind.table->time_travel) {
    Throw(Unsupported("DELETE FROM {} AT ...: rows are deleted from the newest snapshot only",
                      target->table));
  }
  if (!bind.table->plan) Throw(InternalError("table {}: its rows have no ids", target->table));
  // Else an earlier row of the same series and time would come to light.
  if (bind.table->contract.dedup && !bind.table->dedup) bind.table = WithDedup(*bind.table);
  target->seen = bind.table;
  target->read = std::make_shared<FilesRead>();
  target->read->leave_out_whole = TakesAllRows(source, *scans[0]);
  bind.read = target->read;
}

}  // namespace

duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalDelete& logical,
                                     duckdb::PhysicalOperator& source, LakeContext& lake) {
  const table::TableName name{logical.table.ParentSchema().name, logical.table.name};
  if (ParseMetadataName(name.table)) {
    Throw(Unsupported("DELETE FROM {}: metadata tables are only read", name.full()));
  }
  if (logical.return_chunk) Throw(Unsupported("DELETE ... RETURNING is not supported"));
  if (!lake.erase()) Throw(Unsupported("this session only reads: it was opened without writing"));
  RefuseInTransaction(context, "DELETE");
  DeleteTarget target;
  target.table = name.full();
  target.open = [&lake, name] { return lake.catalog().Open(name); };
  target.row_id = logical.expressions.at(0)->Cast<duckdb::BoundReferenceExpression>().index;
  Connect(source, &target);
  auto& result = planner.Make<DeleteOperator>(logical.types, lake, std::move(target),
                                              logical.estimated_cardinality);
  result.children.push_back(source);
  return result;
}

}  // namespace timelake::sql
