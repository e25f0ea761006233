#include "scan/run_edges.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>

namespace timelake::scan {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;
using ArrayPtr = std::shared_ptr<arrow::Array>;

Result<ArrayPtr> WithoutDictionary(const ArrayPtr& array) {
  if (array->type_id() != arrow::Type::DICTIONARY) return array;
  const auto& codes = static_cast<const arrow::DictionaryArray&>(*array);
  const auto* texts = dynamic_cast<const arrow::StringArray*>(codes.dictionary().get());
  if (!texts)
    return InternalError("a key in a dictionary of {}", codes.dictionary()->type()->ToString());
  arrow::StringBuilder builder;
  for (int64_t row = 0; row < codes.length(); ++row) {
    if (codes.IsNull(row)) {
      TL_RETURN_NOT_OK(builder.AppendNull());
    } else {
      TL_RETURN_NOT_OK(builder.Append(texts->GetView(codes.GetValueIndex(row))));
    }
  }
  return builder.Finish();
}

// The first and the last row, without memory of the others: they are kept for long.
Result<Batch> EdgesOf(const arrow::RecordBatch& runs) {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const int64_t rows = runs.num_rows();
  for (int i = 0; i < runs.num_columns(); ++i) {
    const ArrayPtr& column = runs.column(i);
    // Of one array alone a concatenation might be that array.
    arrow::ArrayVector ends = {column->Slice(0, 0), column->Slice(0, 1)};
    if (rows > 1) ends.push_back(column->Slice(rows - 1, 1));
    for (ArrayPtr& end : ends) {
      TL_ASSIGN_OR_RAISE(end, WithoutDictionary(end));
    }
    TL_ASSIGN_OR_RAISE(columns.emplace_back(), arrow::Concatenate(ends));
    fields.push_back(runs.schema()->field(i)->WithType(columns.back()->type()));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), std::min<int64_t>(rows, 2),
                                  std::move(columns));
}

}  // namespace

Result<Batch> RunEdges::Keep(Place place, const Batch& runs) {
  if (runs->num_rows() == 0) return runs;
  TL_ASSIGN_OR_RAISE(auto rows, EdgesOf(*runs));
  std::lock_guard lock(mutex_);
  edges_.push_back({place, std::move(rows)});
  return runs->Slice(1, std::max<int64_t>(0, runs->num_rows() - 2));
}

Result<Batch> RunEdges::Join() {
  std::vector<Edge> edges;
  {
    std::lock_guard lock(mutex_);
    edges = std::move(edges_);
  }
  if (edges.empty()) return nullptr;
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.place < b.place; });
  std::vector<Batch> batches;
  for (Edge& edge : edges) batches.push_back(std::move(edge.rows));
  TL_ASSIGN_OR_RAISE(const auto rows, arrow::ConcatenateRecordBatches(batches));
  return AggregateRuns(Joining(aggregates_), *rows);
}

}  // namespace timelake::scan
