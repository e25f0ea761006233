#include "write/row_compare.h"

#include <cmath>
#include <string_view>
#include <type_traits>

#include <arrow/extension_type.h>
#include <arrow/util/decimal.h>

namespace timelake::write {
namespace {

using arrow::Type;
using CompareRows = std::function<int(int64_t, int64_t)>;

template <typename T>
int Order(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - std::isnan(b);
  }
  return a < b ? -1 : (b < a ? 1 : 0);
}

// Reads strings whether they are dense or in a dictionary.
class Strings {
 public:
  explicit Strings(const arrow::Array& array) {
    if (array.type_id() == Type::DICTIONARY) {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      codes_ = dictionary.indices()->data()->GetValues<int32_t>(1);
      values_ = static_cast<const arrow::BinaryArray*>(dictionary.dictionary().get());
    } else {
      values_ = static_cast<const arrow::BinaryArray*>(&array);
    }
  }

  std::string_view operator()(int64_t row) const {
    return values_->GetView(codes_ == nullptr ? row : codes_[row]);
  }

 private:
  const int32_t* codes_ = nullptr;
  const arrow::BinaryArray* values_ = nullptr;
};

template <typename T>
auto Fixed(const arrow::Array& array) {
  return [values = array.data()->GetValues<T>(1)](int64_t row) { return values[row]; };
}

template <typename Value>
CompareRows CompareBy(const arrow::Array& left, const arrow::Array& right, const OrderColumn& by,
                      Value left_value, Value right_value) {
  return [&left, &right, by, left_value, right_value](int64_t i, int64_t j) {
    const bool left_null = left.IsNull(i);
    const bool right_null = right.IsNull(j);
    if (left_null || right_null) {
      const int first = static_cast<int>(right_null) - static_cast<int>(left_null);
      return by.nulls_last ? -first : first;
    }
    const int order = Order(left_value(i), right_value(j));
    return by.descending ? -order : order;
  };
}

template <typename T>
CompareRows CompareFixed(const arrow::Array& left, const arrow::Array& right,
                         const OrderColumn& by) {
  return CompareBy(left, right, by, Fixed<T>(left), Fixed<T>(right));
}

template <typename Array, typename Get>
CompareRows CompareGot(const arrow::Array& left, const arrow::Array& right, const OrderColumn& by,
                       Get get) {
  const auto value_of = [get](const arrow::Array& array) {
    return
        [&array = static_cast<const Array&>(array), get](int64_t row) { return get(array, row); };
  };
  return CompareBy(left, right, by, value_of(left), value_of(right));
}

Result<CompareRows> Comparer(const arrow::Array& left, const arrow::Array& right,
                             const OrderColumn& by) {
  switch (left.type_id()) {
    case Type::BOOL:
      return CompareGot<arrow::BooleanArray>(
          left, right, by, [](const auto& array, int64_t row) { return array.Value(row); });
    case Type::INT32:
    case Type::DATE32: return CompareFixed<int32_t>(left, right, by);
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return CompareFixed<int64_t>(left, right, by);
    case Type::FLOAT: return CompareFixed<float>(left, right, by);
    case Type::DOUBLE: return CompareFixed<double>(left, right, by);
    case Type::DECIMAL128:
      return CompareGot<arrow::Decimal128Array>(
          left, right, by,
          [](const auto& array, int64_t row) { return arrow::Decimal128(array.GetValue(row)); });
    case Type::STRING:
    case Type::BINARY:
    case Type::DICTIONARY: return CompareBy(left, right, by, Strings(left), Strings(right));
    case Type::FIXED_SIZE_BINARY:
      return CompareGot<arrow::FixedSizeBinaryArray>(
          left, right, by, [](const auto& array, int64_t row) { return array.GetView(row); });
    case Type::EXTENSION:
      return Comparer(*static_cast<const arrow::ExtensionArray&>(left).storage(),
                      *static_cast<const arrow::ExtensionArray&>(right).storage(), by);
    default: break;
  }
  return Unsupported("rows cannot be ordered by a column of Arrow type {}",
                     left.type()->ToString());
}

}  // namespace

Result<RowComparer> RowComparer::Make(const arrow::ArrayVector& left,
                                      const arrow::ArrayVector& right,
                                      const std::vector<OrderColumn>& order) {
  RowComparer comparer;
  for (const OrderColumn& by : order) {
    const auto column = static_cast<size_t>(by.column);
    TL_ASSIGN_OR_RAISE(comparer.columns_.emplace_back(),
                       Comparer(*left[column], *right[column], by));
  }
  return comparer;
}

}  // namespace timelake::write
