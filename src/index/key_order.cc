#include "index/key_order.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/util/decimal.h>

namespace timelake::index {
namespace {

using arrow::Type;
using CompareRows = std::function<int(int64_t, int64_t)>;

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// Compares by `value_of(array, row)`; the arrays outlive the function.
template <typename ValueOf>
CompareRows CompareBy(const arrow::Array& left, const arrow::Array& right, ValueOf value_of) {
  return [&left, &right, value_of](int64_t i, int64_t j) {
    const bool left_null = left.IsNull(i);
    const bool right_null = right.IsNull(j);
    if (left_null || right_null) return static_cast<int>(right_null) - static_cast<int>(left_null);
    return Order(value_of(left, i), value_of(right, j));
  };
}

template <typename T>
CompareRows CompareFixed(const arrow::Array& left, const arrow::Array& right) {
  return CompareBy(left, right, [](const arrow::Array& array, int64_t i) {
    return array.data()->GetValues<T>(1)[i];
  });
}

Result<CompareRows> Comparer(const arrow::Array& left, const arrow::Array& right) {
  switch (left.type_id()) {
    case Type::BOOL:
      return CompareBy(left, right, [](const arrow::Array& array, int64_t i) {
        return static_cast<const arrow::BooleanArray&>(array).Value(i);
      });
    case Type::INT32:
    case Type::DATE32: return CompareFixed<int32_t>(left, right);
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return CompareFixed<int64_t>(left, right);
    case Type::FLOAT: return CompareFixed<float>(left, right);
    case Type::DOUBLE: return CompareFixed<double>(left, right);
    case Type::DECIMAL128:
      return CompareBy(left, right, [](const arrow::Array& array, int64_t i) {
        return arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(array).GetValue(i));
      });
    case Type::STRING:
    case Type::BINARY:
      return CompareBy(left, right, [](const arrow::Array& array, int64_t i) {
        return static_cast<const arrow::BinaryArray&>(array).GetView(i);
      });
    case Type::FIXED_SIZE_BINARY:
      return CompareBy(left, right, [](const arrow::Array& array, int64_t i) {
        return static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(i);
      });
    case Type::EXTENSION:
      return Comparer(*static_cast<const arrow::ExtensionArray&>(left).storage(),
                      *static_cast<const arrow::ExtensionArray&>(right).storage());
    default: break;
  }
  return Unsupported("a series key column of Arrow type {} is not supported",
                     left.type()->ToString());
}

}  // namespace

int ColumnOf(const iceberg::Schema& schema, int field_id) {
  const auto found = std::find_if(schema.fields.begin(), schema.fields.end(),
                                  [&](const auto& field) { return field.id == field_id; });
  return static_cast<int>(found - schema.fields.begin());
}

Result<RowOrder> RowOrder::Make(const arrow::RecordBatch& left, const arrow::RecordBatch& right,
                                const iceberg::Schema& schema, const table::Contract& contract) {
  RowOrder order;
  for (int id : contract.key_ids) {
    const int column = ColumnOf(schema, id);
    TL_ASSIGN_OR_RAISE(order.keys_.emplace_back(),
                       Comparer(*left.column(column), *right.column(column)));
  }
  const auto values = [&](const arrow::RecordBatch& batch, int id) {
    return batch.column_data(ColumnOf(schema, id))->GetValues<int64_t>(1);
  };
  order.left_time_ = values(left, *contract.time_id);
  order.right_time_ = values(right, *contract.time_id);
  if (contract.ingest_time_id) {
    order.left_ingest_ = values(left, *contract.ingest_time_id);
    order.right_ingest_ = values(right, *contract.ingest_time_id);
  }
  return order;
}

int RowOrder::CompareKeys(int64_t left, int64_t right) const {
  for (const auto& compare : keys_) {
    if (const int order = compare(left, right)) return order;
  }
  return 0;
}

bool RowOrder::RightIsNewer(int64_t left, int64_t right) const {
  if (!SameTime(left, right)) return left_time_[left] < right_time_[right];
  return left_ingest_ == nullptr || left_ingest_[left] <= right_ingest_[right];
}

std::vector<Place> Locate(const RowOrder& order, int64_t older_rows, int64_t newer_rows) {
  std::vector<Place> places;
  places.reserve(static_cast<size_t>(newer_rows));
  int64_t begin = 0;
  for (int64_t row = 0; row < newer_rows; ++row) {
    // Steps that double from where the last one was found: linear for two long batches, a few
    // comparisons each for a short one in a long one.
    int64_t step = 1;
    while (begin + step < older_rows && order.CompareKeys(begin + step, row) < 0) {
      begin += step;
      step *= 2;
    }
    int64_t low = begin, high = std::min(begin + step, older_rows);
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (order.CompareKeys(middle, row) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    begin = low;
    places.push_back({row, low, low < older_rows && order.CompareKeys(low, row) == 0});
  }
  return places;
}

}  // namespace timelake::index
