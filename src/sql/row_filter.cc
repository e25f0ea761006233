#include "sql/row_filter.h"

#include <algorithm>
#include <utility>

#include <arrow/type.h>
#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/planner/expression/bound_operator_expression.hpp>
#include <duckdb/planner/expression/bound_reference_expression.hpp>
#include <duckdb/planner/filter/conjunction_filter.hpp>
#include <duckdb/planner/filter/constant_filter.hpp>
#include <duckdb/planner/filter/dynamic_filter.hpp>
#include <duckdb/planner/filter/expression_filter.hpp>
#include <duckdb/planner/filter/in_filter.hpp>
#include <duckdb/planner/filter/optional_filter.hpp>
#include <duckdb/planner/table_filter_state.hpp>
#include <duckdb/storage/buffer_manager.hpp>
#include <duckdb/storage/table/column_segment.hpp>

#include "sql/arrow_to_duckdb.h"
#include "sql/arrow_values.h"
#include "sql/error.h"
#include "sql/filters.h"
#include "sql/types.h"

namespace timelake::sql {

namespace {

using duckdb::ExpressionType;
using duckdb::TableFilterType;
using scan::ColumnTest;
using scan::Op;
using table::RowRange;
using table::RowRanges;

std::optional<Op> OpOf(ExpressionType type) {
  switch (type) {
    case ExpressionType::COMPARE_EQUAL: return Op::kEq;
    case ExpressionType::COMPARE_NOTEQUAL: return Op::kNotEq;
    case ExpressionType::COMPARE_LESSTHAN: return Op::kLt;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO: return Op::kLe;
    case ExpressionType::COMPARE_GREATERTHAN: return Op::kGt;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO: return Op::kGe;
    default: return std::nullopt;
  }
}

// `column IS NOT NULL` and `column IS NULL`, which arrive as expressions, too.
std::optional<Op> NullTest(const duckdb::Expression& expr) {
  const bool is_null = expr.GetExpressionType() == ExpressionType::OPERATOR_IS_NULL;
  if (!is_null && expr.GetExpressionType() != ExpressionType::OPERATOR_IS_NOT_NULL) return {};
  const auto& children = expr.Cast<duckdb::BoundOperatorExpression>().children;
  if (children.size() != 1 || children[0]->GetExpressionType() != ExpressionType::BOUND_REF) {
    return std::nullopt;
  }
  return is_null ? Op::kIsNull : Op::kNotNull;
}

// Adds the filter's tests; false when it says more than they do.
bool AddTests(const duckdb::TableFilter& filter, const iceberg::Field& field,
              std::vector<ColumnTest>* tests) {
  switch (filter.filter_type) {
    case TableFilterType::CONSTANT_COMPARISON: {
      const auto& comparison = filter.Cast<duckdb::ConstantFilter>();
      const auto op = OpOf(comparison.comparison_type);
      auto value = ToIcebergValue(comparison.constant, field.type);
      if (!op || !value) return false;
      tests->push_back(OrderedTest(field, *op, *value));
      return true;
    }
    case TableFilterType::IS_NULL: tests->push_back({field.id, Op::kIsNull, {}}); return true;
    case TableFilterType::IS_NOT_NULL: tests->push_back({field.id, Op::kNotNull, {}}); return true;
    case TableFilterType::EXPRESSION_FILTER: {
      const auto op = NullTest(*filter.Cast<duckdb::ExpressionFilter>().expr);
      if (!op) return false;
      tests->push_back({field.id, *op, {}});
      return true;
    }
    case TableFilterType::CONJUNCTION_AND: {
      bool exact = true;
      for (const auto& child : filter.Cast<duckdb::ConjunctionAndFilter>().child_filters) {
        exact = AddTests(*child, field, tests) && exact;
      }
      return exact;
    }
    case TableFilterType::IN_FILTER: {
      ColumnTest test{field.id, Op::kIn, {}};
      for (const duckdb::Value& constant : filter.Cast<duckdb::InFilter>().values) {
        auto value = ToIcebergValue(constant, field.type);
        if (!value) return false;
        test.values.push_back(*std::move(value));
      }
      tests->push_back(std::move(test));
      return true;
    }
    case TableFilterType::OPTIONAL_FILTER: {
      const auto& child = filter.Cast<duckdb::OptionalFilter>().child_filter;
      if (child) AddTests(*child, field, tests);
      return true;  // rows that fail it may be handed out
    }
    default: return false;
  }
}

void AddLive(const duckdb::TableFilter& filter, const iceberg::Field& field,
             std::vector<ColumnTest>* tests) {
  switch (filter.filter_type) {
    case TableFilterType::DYNAMIC_FILTER: {
      const auto& data = filter.Cast<duckdb::DynamicFilter>().filter_data;
      if (!data || !data->initialized) return;
      std::lock_guard lock(data->lock);
      if (data->filter) AddTests(*data->filter, field, tests);
      return;
    }
    case TableFilterType::OPTIONAL_FILTER:
      if (const auto& child = filter.Cast<duckdb::OptionalFilter>().child_filter) {
        AddLive(*child, field, tests);
      }
      return;
    case TableFilterType::CONJUNCTION_AND:
      for (const auto& child : filter.Cast<duckdb::ConjunctionAndFilter>().child_filters) {
        AddLive(*child, field, tests);
      }
      return;
    default: return;
  }
}

// The form that DuckDB can apply: it knows lists as hints only.
std::shared_ptr<const duckdb::TableFilter> Applicable(const PushedFilter& pushed) {
  if (pushed.filter->filter_type != TableFilterType::IN_FILTER) return pushed.filter;
  const duckdb::BoundReferenceExpression column(ToLogicalType(pushed.field->type), 0);
  return std::make_shared<duckdb::ExpressionFilter>(pushed.filter->ToExpression(column));
}

// One filter over vectors of its column.
class Evaluator {
 public:
  Evaluator(duckdb::ClientContext& context, const PushedFilter& pushed) : context_(context) {
    if (pushed.filter->filter_type == TableFilterType::DYNAMIC_FILTER) {
      dynamic_ = pushed.filter->Cast<duckdb::DynamicFilter>().filter_data;
    } else {
      Use(Applicable(pushed));
    }
    chunk_.Initialize(context, {ToLogicalType(pushed.field->type)});
  }

  void Keep(const std::shared_ptr<arrow::ArrayData>& column, RowRanges* rows) {
    if (dynamic_) TakeBound();
    if (!filter_) return;  // no bound yet
    if (column->type->id() == arrow::Type::DICTIONARY &&
        column->dictionary->length <= column->length) {
      return KeepByDictionary(*column, rows);
    }
    RowRanges kept;
    for (size_t range = 0; range < rows->size();) {
      const int64_t begin = (*rows)[range].begin / kWindow * kWindow;
      const int64_t end = std::min(begin + kWindow, column->length);
      idx_t selected = 0;
      duckdb::SelectionVector selection(kWindow);
      while (range < rows->size() && (*rows)[range].begin < end) {
        RowRange& current = (*rows)[range];
        const int64_t stop = std::min(current.end, end);
        for (int64_t row = current.begin; row < stop; ++row) {
          selection.set_index(selected++, static_cast<idx_t>(row - begin));
        }
        current.begin = stop;
        if (stop == current.end) ++range;
      }
      const auto count = static_cast<idx_t>(end - begin);
      chunk_.Reset();
      column_.Convert(column, begin, count, chunk_.data[0]);
      const idx_t passed = Apply(count, selected, &selection);
      for (idx_t i = 0; i < passed; ++i) {
        const int64_t row = begin + static_cast<int64_t>(selection.get_index(i));
        table::Append({row, row + 1}, &kept);
      }
    }
    *rows = std::move(kept);
  }

 private:
  using idx_t = duckdb::idx_t;

  void Use(std::shared_ptr<const duckdb::TableFilter> filter) {
    filter_ = std::move(filter);
    state_ = duckdb::TableFilterState::Initialize(context_, *filter_);
    dictionary_ = nullptr;
  }

  // A filter that gets its value, and better ones, while the query runs.
  void TakeBound() {
    if (!dynamic_->initialized) return;
    std::lock_guard lock(dynamic_->lock);
    if (!dynamic_->filter || (filter_ && filter_->Equals(*dynamic_->filter))) return;
    Use(std::shared_ptr<const duckdb::TableFilter>(dynamic_->filter->Copy().release()));
  }

  static constexpr int64_t kWindow = STANDARD_VECTOR_SIZE;

  // Of the first `count` rows of the vector, of which `selected` are in question.
  idx_t Apply(idx_t count, idx_t selected, duckdb::SelectionVector* selection) {
    duckdb::UnifiedVectorFormat format;
    chunk_.data[0].ToUnifiedFormat(count, format);
    duckdb::ColumnSegment::FilterSelection(*selection, chunk_.data[0], format, *filter_, *state_,
                                           count, selected);
    return selected;
  }

  void KeepByDictionary(const arrow::ArrayData& column, RowRanges* rows) {
    if (dictionary_ != column.dictionary) Judge(column.dictionary);
    const bool has_nulls = column.GetNullCount() != 0;
    // As the scan makes them; other integers take the way for all.
    const auto& type = static_cast<const arrow::DictionaryType&>(*column.type);
    const int32_t* codes =
        type.index_type()->id() == arrow::Type::INT32 ? column.GetValues<int32_t>(1) : nullptr;
    const auto passes = [&](int64_t row) {
      if (has_nulls && IsNullAt(column, row)) return null_passes_;
      const int64_t code = codes ? codes[row] : IndexAt(column, column.offset + row);
      return passes_[static_cast<size_t>(code)] != 0;
    };
    RowRanges kept;
    for (const RowRange& range : *rows) {
      for (int64_t row = range.begin; row < range.end; ++row) {
        if (!passes(row)) continue;
        const int64_t begin = row;
        while (row < range.end && passes(row)) ++row;
        table::Append({begin, row}, &kept);
      }
    }
    *rows = std::move(kept);
  }

  // Which entries of a dictionary pass.
  void Judge(const std::shared_ptr<arrow::ArrayData>& dictionary) {
    passes_.assign(static_cast<size_t>(dictionary->length), 0);
    for (int64_t begin = 0; begin < dictionary->length; begin += kWindow) {
      const auto count = static_cast<idx_t>(std::min<int64_t>(kWindow, dictionary->length - begin));
      chunk_.Reset();
      column_.Convert(dictionary, begin, count, chunk_.data[0]);
      duckdb::SelectionVector selection(0, count);
      const idx_t passed = Apply(count, count, &selection);
      for (idx_t i = 0; i < passed; ++i) {
        passes_[static_cast<size_t>(begin) + selection.get_index(i)] = 1;
      }
    }
    chunk_.Reset();
    duckdb::FlatVector::SetNull(chunk_.data[0], 0, true);
    duckdb::SelectionVector selection(0, 1);
    null_passes_ = Apply(1, 1, &selection) == 1;
    dictionary_ = dictionary;
  }

  duckdb::ClientContext& context_;
  duckdb::shared_ptr<duckdb::DynamicFilterData> dynamic_;
  std::shared_ptr<const duckdb::TableFilter> filter_;
  duckdb::unique_ptr<duckdb::TableFilterState> state_;
  duckdb::DataChunk chunk_;
  ArrowColumn column_;
  std::shared_ptr<arrow::ArrayData> dictionary_;  // the one judged last
  std::vector<uint8_t> passes_;
  bool null_passes_ = false;
};

class DuckFilter : public scan::RowFilter {
 public:
  DuckFilter(duckdb::ClientContext& context, const std::vector<PushedFilter>& filters) {
    for (const PushedFilter& filter : filters) {
      evaluators_.push_back(std::make_unique<Evaluator>(context, filter));
    }
  }

  Status Keep(size_t filter, const std::shared_ptr<arrow::ArrayData>& column,
              RowRanges* rows) override {
    return Guard([&] {
      evaluators_.at(filter)->Keep(column, rows);
      return Status::OK();
    });
  }

 private:
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
};

}  // namespace

std::shared_ptr<const duckdb::TableFilter> Applied(const duckdb::TableFilter& filter) {
  const duckdb::TableFilter* applied = &filter;
  if (filter.filter_type == TableFilterType::OPTIONAL_FILTER) {
    // A hash join's list of keys, or the bound of a top-N: they cost little and spare most rows.
    applied = filter.Cast<duckdb::OptionalFilter>().child_filter.get();
    if (!applied || (applied->filter_type != TableFilterType::IN_FILTER &&
                     applied->filter_type != TableFilterType::DYNAMIC_FILTER)) {
      return nullptr;
    }
  }
  return std::shared_ptr<const duckdb::TableFilter>(applied->Copy().release());
}

std::vector<scan::ColumnFilter> Describe(const std::vector<PushedFilter>& filters) {
  std::vector<scan::ColumnFilter> described;
  for (const PushedFilter& pushed : filters) {
    scan::ColumnFilter filter;
    filter.field_id = pushed.field->id;
    filter.exact = AddTests(*pushed.filter, *pushed.field, &filter.tests);
    described.push_back(std::move(filter));
  }
  return described;
}

std::vector<ColumnTest> LiveTests(const std::vector<PushedFilter>& filters) {
  std::vector<ColumnTest> tests;
  for (const PushedFilter& pushed : filters) AddLive(*pushed.filter, *pushed.field, &tests);
  return tests;
}

std::unique_ptr<scan::RowFilter> MakeRowFilter(duckdb::ClientContext& context,
                                               const std::vector<PushedFilter>& filters) {
  return std::make_unique<DuckFilter>(context, filters);
}

}  // namespace timelake::sql
