#include "write/metrics.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/extension_type.h>
#include <arrow/util/decimal.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "iceberg/bounds.h"
#include "write/arrow_value.h"
#include "write/number_bounds.h"

namespace timelake::write {
namespace {

using arrow::Type;
using iceberg::Value;

// Smallest and largest non-null value.
template <typename T>
struct Range {
  T min{}, max{};
  bool any = false;

  void Add(const T& value) {
    if (!any) {
      min = max = value;
      any = true;
    } else if (value < min) {
      min = value;
    } else if (max < value) {
      max = value;
    }
  }
};

// NaN-free; counts NaN.
template <typename T>
Range<T> RangeOf(const arrow::Array& array, int64_t* nans = nullptr) {
  const T* values = array.data()->GetValues<T>(1);
  NumberBounds<T> bounds;
  if (array.null_count() == 0) {
    bounds = NumberBounds<T>::Of(values, static_cast<size_t>(array.length()), nans);
  } else {
    std::vector<T> present;
    present.reserve(static_cast<size_t>(array.length() - array.null_count()));
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsValid(i)) present.push_back(values[i]);
    }
    bounds = NumberBounds<T>::Of(present.data(), present.size(), nans);
  }
  return {bounds.min, bounds.max, bounds.any};
}

template <typename Array>
Range<std::string_view> ViewRangeOf(const arrow::Array& array) {
  const auto& bytes = static_cast<const Array&>(array);
  Range<std::string_view> range;
  for (int64_t i = 0; i < bytes.length(); ++i) {
    if (bytes.IsValid(i)) range.Add(bytes.GetView(i));
  }
  return range;
}

Range<arrow::Decimal128> DecimalRangeOf(const arrow::Array& array) {
  const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
  Range<arrow::Decimal128> range;
  for (int64_t i = 0; i < decimals.length(); ++i) {
    if (decimals.IsValid(i)) range.Add(arrow::Decimal128(decimals.GetValue(i)));
  }
  return range;
}

}  // namespace

void ColumnMetrics::Extend(const Value& min, const Value& max, Leaf* leaf) {
  if (iceberg::IsNull(leaf->min) || iceberg::Compare(min, leaf->min) < 0) leaf->min = min;
  if (iceberg::IsNull(leaf->max) || iceberg::Compare(max, leaf->max) > 0) leaf->max = max;
}

void ColumnMetrics::AddBounds(const arrow::Array& array, Leaf* leaf) {
  const auto extend = [leaf](const auto& range) {
    if (range.any) Extend(range.min, range.max, leaf);
  };
  const auto extend_text = [leaf](const Range<std::string_view>& range) {
    if (range.any) Extend(std::string(range.min), std::string(range.max), leaf);
  };
  switch (array.type_id()) {
    case Type::BOOL: {
      const auto& flags = static_cast<const arrow::BooleanArray&>(array);
      if (flags.false_count() > 0) Extend(false, false, leaf);
      if (flags.true_count() > 0) Extend(true, true, leaf);
      return;
    }
    case Type::INT32:
    case Type::DATE32: return extend(RangeOf<int32_t>(array));
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return extend(RangeOf<int64_t>(array));
    case Type::FLOAT: return extend(RangeOf<float>(array, &leaf->nans));
    case Type::DOUBLE: return extend(RangeOf<double>(array, &leaf->nans));
    case Type::DECIMAL128: return extend(DecimalRangeOf(array));
    case Type::STRING:
    case Type::BINARY: return extend_text(ViewRangeOf<arrow::BinaryArray>(array));
    case Type::FIXED_SIZE_BINARY:
      return extend_text(ViewRangeOf<arrow::FixedSizeBinaryArray>(array));
    case Type::EXTENSION:
      return AddBounds(*static_cast<const arrow::ExtensionArray&>(array).storage(), leaf);
    case Type::DICTIONARY:
      return AddBounds(*static_cast<const arrow::DictionaryArray&>(array).dictionary(), leaf);
    default: return;
  }
}

void ColumnMetrics::AddField(const iceberg::Field& field, const arrow::Array& array) {
  if (field.type.is_primitive()) {
    Leaf& leaf = leaves_[field.id];
    leaf.type = &field.type;
    leaf.values += array.length();
    leaf.nulls += array.null_count();
    AddBounds(array, &leaf);
    return;
  }
  if (field.type.id != iceberg::TypeId::kStruct) return;
  const auto& rows = static_cast<const arrow::StructArray&>(array);
  for (size_t i = 0; i < field.type.fields.size(); ++i) {
    // A null struct counts as null in each of its leaves. Flattening fails only for want of memory.
    auto child = rows.GetFlattenedField(static_cast<int>(i));
    if (child.ok()) AddField(field.type.fields[i], **child);
  }
}

void ColumnMetrics::Add(const arrow::Array& array) { AddField(*field_, array); }

void ColumnMetrics::Add(const LeafFacts& facts) {
  Leaf& leaf = leaves_[field_->id];
  leaf.type = &field_->type;
  leaf.values += facts.values;
  leaf.nulls += facts.nulls;
  leaf.nans += facts.nans;
  if (!iceberg::IsNull(facts.min)) Extend(facts.min, facts.max, &leaf);
}

Status ColumnMetrics::Finish(iceberg::DataFile* file) const {
  using iceberg::TypeId;
  for (const auto& [id, leaf] : leaves_) {
    file->value_counts[id] = leaf.values;
    file->null_value_counts[id] = leaf.nulls;
    if (leaf.type->id == TypeId::kFloat || leaf.type->id == TypeId::kDouble) {
      file->nan_value_counts[id] = leaf.nans;
    }
    if (iceberg::IsNull(leaf.min)) continue;
    TL_ASSIGN_OR_RAISE(file->lower_bounds[id], iceberg::LowerBound(*leaf.type, leaf.min));
    TL_ASSIGN_OR_RAISE(auto upper, iceberg::UpperBound(*leaf.type, leaf.max));
    if (upper) file->upper_bounds[id] = std::move(*upper);
  }
  return Status::OK();
}

Status AddFooterMetrics(const parquet::FileMetaData& footer, iceberg::DataFile* file) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  const auto counted = file->value_counts;
  for (int group = 0; group < footer.num_row_groups(); ++group) {
    const auto row_group = footer.RowGroup(group);
    for (int i = 0; i < row_group->num_columns(); ++i) {
      const int id = footer.schema()->Column(i)->schema_node()->field_id();
      const auto chunk = row_group->ColumnChunk(i);
      if (i == 0) {
        file->split_offsets.push_back(chunk->has_dictionary_page() ? chunk->dictionary_page_offset()
                                                                   : chunk->data_page_offset());
      }
      if (id < 0) continue;
      file->column_sizes[id] += chunk->total_compressed_size();
      if (!counted.count(id)) file->value_counts[id] += chunk->num_values();
    }
  }
  END_PARQUET_CATCH_EXCEPTIONS
  return Status::OK();
}

}  // namespace timelake::write
