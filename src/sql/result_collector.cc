#include "sql/result_collector.h"

#include <utility>

#include <duckdb/common/arrow/arrow_query_result.hpp>
#include <duckdb/execution/operator/helper/physical_result_collector.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/prepared_statement_data.hpp>

#include "sql/error.h"
#include "sql/result_batch.h"
#include "sql/whole_rows.h"

namespace timelake::sql {

namespace {

// Of a result that is there already; nothing is copied.
constexpr int64_t kSliceRows = 65536;

enum class Order {
  kNone,      // any thread at any time
  kByThread,  // one thread
  kByPart,    // many threads, a part of the result each
};

Order OrderOf(duckdb::ClientContext& context, duckdb::PhysicalOperator& plan) {
  using duckdb::PhysicalPlanGenerator;
  if (!PhysicalPlanGenerator::PreserveInsertionOrder(context, plan)) return Order::kNone;
  return PhysicalPlanGenerator::UseBatchIndex(context, plan) ? Order::kByPart : Order::kByThread;
}

struct Global : duckdb::GlobalSinkState {
  explicit Global(duckdb::ClientProperties options) : properties(std::move(options)) {}

  const duckdb::ClientProperties properties;
};

struct Local : duckdb::LocalSinkState {
  explicit Local(std::shared_ptr<const ResultFormat> format) : batch(std::move(format)) {}

  ResultBatch batch;
  uint64_t part = 0;  // of the rows in `batch`
};

class Collector : public duckdb::PhysicalResultCollector {
 public:
  // `whole`: the result, if it is there already.
  Collector(duckdb::PreparedStatementData& data, Order order, std::shared_ptr<ResultOutput> output,
            std::shared_ptr<arrow::RecordBatch> whole)
      : PhysicalResultCollector(*data.physical_plan, data),
        order_(order),
        output_(std::move(output)),
        whole_(std::move(whole)) {}

  duckdb::SinkResultType Sink(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override {
    auto& local = input.local_state.Cast<Local>();
    if (order_ == Order::kByPart) {
      local.part = local.partition_info.batch_index.GetIndex();
      output_->queue.Advance(local.partition_info.min_batch_index.GetIndex());
    }
    switch (output_->queue.Admit(local.part, input.interrupt_state)) {
      case ResultQueue::Admission::kWait: return duckdb::SinkResultType::BLOCKED;
      case ResultQueue::Admission::kClosed: return duckdb::SinkResultType::FINISHED;
      case ResultQueue::Admission::kYes: break;
    }
    local.batch.Append(chunk);
    if (local.batch.full()) Send(local, true);
    return duckdb::SinkResultType::NEED_MORE_INPUT;
  }

  // A part is complete.
  duckdb::SinkNextBatchType NextBatch(duckdb::ExecutionContext&,
                                      duckdb::OperatorSinkNextBatchInput& input) const override {
    Send(input.local_state.Cast<Local>(), false);
    return duckdb::SinkNextBatchType::READY;
  }

  duckdb::SinkCombineResultType Combine(duckdb::ExecutionContext&,
                                        duckdb::OperatorSinkCombineInput& input) const override {
    auto& local = input.local_state.Cast<Local>();
    Send(local, false);
    if (order_ == Order::kByPart && local.partition_info.min_batch_index.IsValid()) {
      output_->queue.Advance(local.partition_info.min_batch_index.GetIndex());
    }
    return duckdb::SinkCombineResultType::FINISHED;
  }

  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&, duckdb::ClientContext&,
                                    duckdb::OperatorSinkFinalizeInput&) const override {
    for (int64_t row = 0; whole_ && row < whole_->num_rows(); row += kSliceRows) {
      output_->queue.Push(0, whole_->Slice(row, kSliceRows), /*bytes=*/0, /*full=*/true);
    }
    output_->queue.AdvanceToEnd();
    return duckdb::SinkFinalizeType::READY;
  }

  // The rows left through the queue; this says only that all went well.
  duckdb::unique_ptr<duckdb::QueryResult> GetResult(duckdb::GlobalSinkState& state) const override {
    return duckdb::make_uniq<duckdb::ArrowQueryResult>(statement_type, properties, names, types,
                                                       state.Cast<Global>().properties, 0);
  }

  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& context) const override {
    return duckdb::make_uniq<Global>(context.GetClientProperties());
  }

  duckdb::unique_ptr<duckdb::LocalSinkState> GetLocalSinkState(
      duckdb::ExecutionContext&) const override {
    return duckdb::make_uniq<Local>(output_->format);
  }

  bool ParallelSink() const override { return order_ != Order::kByThread; }
  bool SinkOrderDependent() const override { return order_ != Order::kNone; }
  duckdb::OperatorPartitionInfo RequiredPartitionInfo() const override {
    return duckdb::OperatorPartitionInfo(order_ == Order::kByPart);
  }

 private:
  void Send(Local& local, bool full) const {
    if (local.batch.rows() == 0) return;
    const int64_t bytes = local.batch.bytes();
    output_->queue.Push(local.part, local.batch.Finish(), bytes, full);
  }

  const Order order_;
  const std::shared_ptr<ResultOutput> output_;
  const std::shared_ptr<arrow::RecordBatch> whole_;
};

}  // namespace

duckdb::get_result_collector_t CollectInto(std::shared_ptr<ResultOutput> output) {
  return [output = std::move(output)](
             duckdb::ClientContext& context,
             duckdb::PreparedStatementData& data) -> duckdb::unique_ptr<duckdb::PhysicalOperator> {
    output->format =
        ValueOrThrow(MakeResultFormat(context, data.types, data.names, output->dictionaries));
    duckdb::PhysicalOperator& root = data.physical_plan->Root();
    auto whole = TakeWholeRows(root, output->format->schema);
    return duckdb::make_uniq<Collector>(data, OrderOf(context, root), output, std::move(whole));
  };
}

}  // namespace timelake::sql
