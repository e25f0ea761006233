#include "sql/insert_operator.h"

#include <mutex>
#include <utility>

#include <arrow/c/bridge.h>
#include <duckdb/common/arrow/arrow_appender.hpp>
#include <duckdb/common/arrow/arrow_converter.hpp>
#include <duckdb/common/arrow/arrow_type_extension.hpp>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>
#include <duckdb/main/client_context.hpp>

#include "sql/append_stream.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

using duckdb::idx_t;

// A batch ends at whichever comes first; bytes are counted generously.
constexpr idx_t kBatchRows = idx_t{16} * STANDARD_VECTOR_SIZE;
constexpr idx_t kBatchBytes = idx_t{16} << 20;

struct SinkState : duckdb::GlobalSinkState {
  std::shared_ptr<arrow::Schema> schema;
  std::mutex mutex;
  std::unique_ptr<AppendStream> stream;  // of the first rows on
  int64_t rows = 0;                      // committed
};

struct ThreadState : duckdb::LocalSinkState {
  std::unique_ptr<duckdb::ArrowAppender> rows;
  duckdb::DataChunk chosen;  // of a chunk, the columns that are written
  idx_t bytes = 0;
};

class AppendOperator : public duckdb::PhysicalOperator {
 public:
  AppendOperator(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> result_types,
                 duckdb::vector<duckdb::LogicalType> row_types, LakeContext& lake,
                 InsertTarget target, bool parallel, idx_t estimated)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION,
                                 std::move(result_types), estimated),
        row_types_(std::move(row_types)),
        lake_(lake),
        target_(std::move(target)),
        parallel_(parallel) {}

  duckdb::string GetName() const override { return "TIMELAKE_APPEND"; }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = target_.table;
    return result;
  }

  // --- sink ---

  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return parallel_; }
  bool SinkOrderDependent() const override { return !parallel_; }

  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& context) const override {
    auto state = duckdb::make_uniq<SinkState>();
    auto options = Options(context);
    duckdb::vector<duckdb::string> names(target_.columns.begin(), target_.columns.end());
    ArrowSchema exported;
    duckdb::ArrowConverter::ToArrowSchema(&exported, row_types_, names, options);
    state->schema = ValueOrThrow(arrow::ImportSchema(&exported));
    return state;
  }

  duckdb::unique_ptr<duckdb::LocalSinkState> GetLocalSinkState(
      duckdb::ExecutionContext&) const override {
    auto state = duckdb::make_uniq<ThreadState>();
    state->chosen.InitializeEmpty(row_types_);
    return state;
  }

  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override {
    auto& thread = input.local_state.Cast<ThreadState>();
    if (!thread.rows) {
      thread.rows = std::make_unique<duckdb::ArrowAppender>(
          row_types_, kBatchRows, Options(context.client),
          duckdb::ArrowTypeExtensionData::GetExtensionTypes(context.client, row_types_));
    }
    for (size_t i = 0; i < target_.sources.size(); ++i) {
      thread.chosen.data[i].Reference(chunk.data[target_.sources[i]]);
    }
    thread.chosen.SetCardinality(chunk.size());
    thread.rows->Append(thread.chosen, 0, chunk.size(), chunk.size());
    thread.bytes += chunk.GetAllocationSize();
    if (thread.rows->RowCount() >= kBatchRows || thread.bytes >= kBatchBytes) {
      Flush(context.client, input.global_state.Cast<SinkState>(), thread);
    }
    return duckdb::SinkResultType::NEED_MORE_INPUT;
  }

  duckdb::SinkCombineResultType Combine(duckdb::ExecutionContext& context,
                                        duckdb::OperatorSinkCombineInput& input) const override {
    auto& thread = input.local_state.Cast<ThreadState>();
    if (thread.rows) Flush(context.client, input.global_state.Cast<SinkState>(), thread);
    return duckdb::SinkCombineResultType::FINISHED;
  }

  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&,
                                    duckdb::ClientContext& context,
                                    duckdb::OperatorSinkFinalizeInput& input) const override {
    auto& state = input.global_state.Cast<SinkState>();
    if (!state.stream && !target_.create) {
      ThrowIfError(target_.open().status());
      return duckdb::SinkFinalizeType::READY;
    }
    AppendStream& stream = Stream(context, state);  // a table without rows, too
    state.rows = stream.rows();
    ThrowIfError(stream.Finish().status());
    state.stream.reset();
    if (target_.made) target_.made();
    return duckdb::SinkFinalizeType::READY;
  }

  // --- source: the number of rows ---

  bool IsSource() const override { return true; }

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput&) const override {
    chunk.SetCardinality(1);
    chunk.SetValue(0, 0, duckdb::Value::BIGINT(sink_state->Cast<SinkState>().rows));
    return duckdb::SourceResultType::FINISHED;
  }

 private:
  static duckdb::ClientProperties Options(duckdb::ClientContext& context) {
    auto options = context.GetClientProperties();
    options.time_zone = "UTC";
    return options;
  }

  // The stream of all threads, begun by whoever has rows first.
  AppendStream& Stream(duckdb::ClientContext& context, SinkState& state) const {
    std::lock_guard lock(state.mutex);
    if (state.stream) return *state.stream;
    const auto handle = ValueOrThrow(target_.open());
    const auto append = [handle, lake = &lake_, create = target_.create](
                            arrow::RecordBatchReader* reader, std::function<bool()> cancelled) {
      AppendOptions options;
      options.cancelled = std::move(cancelled);
      return lake->append()(*handle, lake->catalog().session_settings(), reader, options,
                            create.get());
    };
    state.stream = std::make_unique<AppendStream>(state.schema, append,
                                                  [&context] { return context.IsInterrupted(); });
    return *state.stream;
  }

  void Flush(duckdb::ClientContext& context, SinkState& state, ThreadState& thread) const {
    ArrowArray exported = thread.rows->Finalize();
    thread.rows.reset();
    thread.bytes = 0;
    auto batch = ValueOrThrow(arrow::ImportRecordBatch(&exported, state.schema));
    if (batch->num_rows() == 0) return;
    ThrowIfError(Stream(context, state).Push(std::move(batch)));
  }

  const duckdb::vector<duckdb::LogicalType> row_types_;
  LakeContext& lake_;
  const InsertTarget target_;
  const bool parallel_;
};

}  // namespace

duckdb::PhysicalOperator& PlanAppend(duckdb::ClientContext& context,
                                     duckdb::PhysicalPlanGenerator& planner,
                                     duckdb::LogicalOperator& logical,
                                     duckdb::PhysicalOperator& source, LakeContext& lake,
                                     InsertTarget target) {
  if (!lake.append()) Throw(Unsupported("this session only reads: it was opened without writing"));
  duckdb::vector<duckdb::LogicalType> types;
  for (const idx_t column : target.sources) types.push_back(source.types.at(column));
  // The last of two rows of one series and time counts, so the order of rows has a meaning.
  const bool parallel = !duckdb::PhysicalPlanGenerator::PreserveInsertionOrder(context, source);
  auto& append =
      planner.Make<AppendOperator>(logical.types, std::move(types), lake, std::move(target),
                                   parallel, logical.estimated_cardinality);
  append.children.push_back(source);
  return append;
}

void RefuseInTransaction(duckdb::ClientContext& context, const char* statement) {
  if (context.transaction.IsAutoCommit()) return;
  Throw(Unsupported(
      "{} is not possible between BEGIN and COMMIT: each statement that writes to the lake is a "
      "commit of its own, which ROLLBACK could not take back",
      statement));
}

}  // namespace timelake::sql
