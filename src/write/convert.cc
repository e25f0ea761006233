#include "write/convert.h"

#include <utility>

#include <arrow/compute/api.h>
#include <arrow/extension_type.h>
#include <arrow/scalar.h>
#include <arrow/util/bitmap_ops.h>

#include "base/text.h"
#include "iceberg/arrow_schema.h"

namespace timelake::write {
namespace {

using arrow::Type;
using iceberg::TypeId;

std::string_view Accepted(const iceberg::Type& type) {
  switch (type.id) {
    case TypeId::kBoolean: return "booleans and the texts true and false";
    case TypeId::kInt: return "whole numbers from -2147483648 to 2147483647";
    case TypeId::kLong: return "whole numbers from -9223372036854775808 to 9223372036854775807";
    case TypeId::kFloat: return "numbers that a 32-bit float holds exactly (double holds more)";
    case TypeId::kDouble: return "numbers that a 64-bit float holds exactly";
    case TypeId::kDecimal: return "numbers with no more digits than the column's type has";
    case TypeId::kDate: return "dates, timestamps at midnight and texts like 2026-01-03";
    case TypeId::kTime: return "times of day in whole microseconds and texts like 05:06:07";
    case TypeId::kTimestamp:
      return "timestamps without zone in whole microseconds, dates and texts like "
             "2026-01-03T05:06:07";
    case TypeId::kTimestamptz:
      return "timestamps in whole microseconds (without zone: taken as UTC), dates and texts like "
             "2026-01-03T05:06:07Z";
    case TypeId::kString: return "UTF-8 text";
    case TypeId::kUuid: return "UUIDs as 16 bytes or as text of 36 characters";
    case TypeId::kFixed: return "byte strings of exactly that length";
    case TypeId::kBinary: return "byte strings and text";
    case TypeId::kStruct: return "structs";
    case TypeId::kList: return "lists";
    case TypeId::kMap: return "maps";
  }
  return "";
}

std::string ValueText(const arrow::Array& array, int64_t position) {
  auto scalar = array.GetScalar(position);
  if (!scalar.ok()) return "the value";
  const bool bytes = arrow::is_base_binary_like(array.type_id());
  const std::string text = (*scalar)->ToString();
  return bytes ? Quote(text) : text.substr(0, 80);
}

Result<std::shared_ptr<arrow::Array>> CastTo(const Place& place,
                                             const std::shared_ptr<arrow::Array>& array,
                                             const std::shared_ptr<arrow::DataType>& type) {
  // Only containers and encodings change here; bytes are checked by our own UTF-8 check.
  arrow::compute::CastOptions options = arrow::compute::CastOptions::Safe(type);
  options.allow_invalid_utf8 = true;
  auto cast = arrow::compute::Cast(arrow::Datum(array), options);
  if (!cast.ok()) {
    return InvalidArgument("{}: {} data cannot be read as {}: {}", place.Whole(),
                           array->type()->ToString(), type->ToString(), MessageOf(cast.status()));
  }
  return cast->make_array();
}

// dictionary(int32, utf8) with values that are neither null nor repeated out of range.
Result<std::shared_ptr<arrow::Array>> KeepDictionary(const Place& place,
                                                     const arrow::DictionaryArray& array) {
  TL_ASSIGN_OR_RAISE(auto values, Unwrap(place, array.dictionary()));
  TL_ASSIGN_OR_RAISE(auto codes, CastTo(place, array.indices(), arrow::int32()));
  const auto& strings = static_cast<const arrow::StringArray&>(*values);
  const auto& indices = static_cast<const arrow::Int32Array&>(*codes);
  // A place of the dictionary's bad text is the first row that uses it.
  Place in_dictionary = place;
  in_dictionary.row_of = [&](int64_t value) {
    for (int64_t i = 0; i < indices.length(); ++i) {
      if (indices.IsValid(i) && indices.Value(i) == value) return place.row_of(i);
    }
    return int64_t{0};
  };
  TL_RETURN_NOT_OK(CheckUtf8(in_dictionary, strings));
  for (int64_t i = 0; i < indices.length(); ++i) {
    if (indices.IsNull(i)) continue;
    if (indices.Value(i) < 0 || indices.Value(i) >= strings.length()) {
      return InvalidArgument("{}: dictionary index {} is not in 0..{}", place.At(i),
                             indices.Value(i), strings.length() - 1);
    }
  }
  return std::make_shared<arrow::DictionaryArray>(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                                  codes, values);
}

bool IsStringDictionary(const arrow::Array& array) {
  if (array.type_id() != Type::DICTIONARY) return false;
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array).dictionary();
  const Type::type id = dictionary->type_id();
  return (id == Type::STRING || id == Type::LARGE_STRING || id == Type::STRING_VIEW) &&
         dictionary->null_count() == 0;
}

}  // namespace

Place Place::Child(const std::string& name, std::function<int64_t(int64_t)> parent_of) const {
  return {
      table, column + "." + name,
      [outer = row_of, parent_of = std::move(parent_of)](int64_t i) { return outer(parent_of(i)); },
      unit};
}

std::string Place::At(int64_t position) const {
  return fmt::format("{}, {} {}", Whole(), unit, row_of(position));
}

std::string Place::Whole() const {
  return fmt::format("table {}, column {}", table, Quote(column));
}

Status TypeMismatch(const Place& place, const arrow::DataType& from, const iceberg::Type& type) {
  return InvalidArgument("{}: the column is {}, the data is {}; accepted are {}", place.Whole(),
                         iceberg::TypeName(type), from.ToString(), Accepted(type));
}

Status Misfit(const Place& place, const arrow::Array& array, int64_t position,
              const iceberg::Type& type, std::string_view why) {
  return InvalidArgument("{}: {} does not fit in {}: {}; accepted are {}", place.At(position),
                         ValueText(array, position), iceberg::TypeName(type), why, Accepted(type));
}

Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::Array& array) {
  if (array.null_count() == 0) return nullptr;
  if (array.offset() == 0) return array.null_bitmap();
  return arrow::internal::CopyBitmap(arrow::default_memory_pool(), array.null_bitmap_data(),
                                     array.offset(), array.length());
}

Result<std::shared_ptr<arrow::Array>> Unwrap(const Place& place,
                                             const std::shared_ptr<arrow::Array>& array) {
  switch (array->type_id()) {
    case Type::EXTENSION:
      return Unwrap(place, static_cast<const arrow::ExtensionArray&>(*array).storage());
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
      TL_ASSIGN_OR_RAISE(auto values, Unwrap(place, dictionary.dictionary()));
      auto taken = arrow::compute::Take(*values, *dictionary.indices());
      if (!taken.ok()) {
        return InvalidArgument("{}: broken dictionary: {}", place.Whole(),
                               MessageOf(taken.status()));
      }
      return taken;
    }
    case Type::RUN_END_ENCODED: {
      auto decoded = arrow::compute::RunEndDecode(arrow::Datum(array));
      if (!decoded.ok()) {
        return InvalidArgument("{}: broken run-end encoding: {}", place.Whole(),
                               MessageOf(decoded.status()));
      }
      return Unwrap(place, decoded->make_array());
    }
    case Type::LARGE_STRING:
    case Type::STRING_VIEW: return CastTo(place, array, arrow::utf8());
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW: return CastTo(place, array, arrow::binary());
    case Type::HALF_FLOAT: return CastTo(place, array, arrow::float32());
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::LIST_VIEW:
    case Type::LARGE_LIST_VIEW: {
      const auto& list = static_cast<const arrow::BaseListType&>(*array->type());
      return CastTo(place, array, arrow::list(list.value_field()));
    }
    default: return array;
  }
}

Result<std::shared_ptr<arrow::Array>> Convert(const Place& place,
                                              const std::shared_ptr<arrow::Array>& given,
                                              const iceberg::Type& type, bool keep_dictionary) {
  if (keep_dictionary && type.id == TypeId::kString && IsStringDictionary(*given)) {
    return KeepDictionary(place, static_cast<const arrow::DictionaryArray&>(*given));
  }
  TL_ASSIGN_OR_RAISE(auto array, Unwrap(place, given));
  if (array->type_id() == Type::NA) {
    return arrow::MakeArrayOfNull(iceberg::ToArrow(type), array->length());
  }
  switch (type.id) {
    case TypeId::kBoolean:
    case TypeId::kString:
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kBinary: return ConvertText(place, array, type);
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kFloat:
    case TypeId::kDouble:
    case TypeId::kDecimal: break;
    default: return ConvertNested(place, array, type);
  }
  if (array->type()->Equals(*iceberg::ToArrow(type))) return array;
  const bool timely = type.id >= TypeId::kDate && type.id <= TypeId::kTimestamptz;
  return timely ? ConvertTime(place, *array, type) : ConvertNumber(place, *array, type);
}

}  // namespace timelake::write
