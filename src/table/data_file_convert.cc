#include "table/data_file_convert.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/scalar.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/utf8.h>

#include "base/memory.h"

namespace timelake::table {
namespace {

using arrow::ArrayData;
using arrow::Type;
using iceberg::TypeId;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

// Same buffers under another type of the same layout.
ArrayPtr Relabel(const arrow::Array& array, const TypePtr& type) {
  auto data = array.data()->Copy();
  data->type = type;
  return arrow::MakeArray(std::move(data));
}

Status Mismatch(const ColumnSource& source, const arrow::DataType& file) {
  return Corrupt("column '{}': the table has {}, which cannot be read from the file's {}",
                 source.path, iceberg::TypeName(source.field.type), file.ToString());
}

Result<ArrayPtr> Cast(const ColumnSource& source, const arrow::Array& array, const TypePtr& to) {
  auto cast = arrow::compute::Cast(array, to);
  if (cast.ok()) return cast;
  return Corrupt("column '{}': {}", source.path, cast.status().message());
}

// Arrow and DuckDB take text on trust.
Status CheckUtf8(const ColumnSource& source, const arrow::Array& array) {
  if (array.type_id() != Type::STRING) return Status::OK();
  arrow::util::InitializeUTF8();
  Status valid = static_cast<const arrow::StringArray&>(array).ValidateUTF8();
  if (valid.ok()) return valid;
  return Corrupt("column '{}': text is not valid UTF-8", source.path);
}

enum class Scale { kSame, kTimes1000, kTimes1000000, kBy1000 };

template <typename In>
Result<ArrayPtr> ScaleTime(const ColumnSource& source, const arrow::Array& array, Scale scale) {
  const int64_t end = array.offset() + array.length();
  TL_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(end * 8, CurrentPool()));
  auto* out = reinterpret_cast<int64_t*>(buffer->mutable_data());
  const In* in = array.data()->GetValues<In>(1, 0);
  const uint8_t* valid = array.null_bitmap_data();
  const int64_t factor = scale == Scale::kTimes1000000 ? 1'000'000 : 1000;
  std::fill(out, out + array.offset(), 0);
  for (int64_t i = array.offset(); i < end; ++i) {
    out[i] = 0;
    if (valid && !arrow::bit_util::GetBit(valid, i)) continue;
    if (scale == Scale::kBy1000) {
      if (in[i] % factor != 0) {
        return Unsupported(
            "column '{}': {} ns has more digits than the microseconds of the table's {}",
            source.path, static_cast<int64_t>(in[i]), iceberg::TypeName(source.field.type));
      }
      out[i] = in[i] / factor;
    } else if (__builtin_mul_overflow(static_cast<int64_t>(in[i]), factor, &out[i])) {
      return Corrupt("column '{}': {} does not fit in microseconds", source.path,
                     static_cast<int64_t>(in[i]));
    }
  }
  auto data = ArrayData::Make(source.out->type(), array.length(),
                              {array.data()->buffers[0], std::move(buffer)}, array.null_count(),
                              array.offset());
  return arrow::MakeArray(std::move(data));
}

Result<ArrayPtr> ConvertTimestamp(const ColumnSource& source, const arrow::Array& array) {
  if (array.type_id() != Type::TIMESTAMP) return Mismatch(source, *array.type());
  // Whether the column has a zone is the table's word, not the file's: both are stored in UTC.
  switch (static_cast<const arrow::TimestampType&>(*array.type()).unit()) {
    case arrow::TimeUnit::MICRO: return Relabel(array, source.out->type());
    case arrow::TimeUnit::MILLI: return ScaleTime<int64_t>(source, array, Scale::kTimes1000);
    case arrow::TimeUnit::NANO: return ScaleTime<int64_t>(source, array, Scale::kBy1000);
    case arrow::TimeUnit::SECOND: break;
  }
  return ScaleTime<int64_t>(source, array, Scale::kTimes1000000);
}

Result<ArrayPtr> ConvertTime(const ColumnSource& source, const arrow::Array& array) {
  if (array.type_id() == Type::TIME32) {
    const auto unit = static_cast<const arrow::Time32Type&>(*array.type()).unit();
    return ScaleTime<int32_t>(
        source, array, unit == arrow::TimeUnit::SECOND ? Scale::kTimes1000000 : Scale::kTimes1000);
  }
  if (array.type_id() != Type::TIME64) return Mismatch(source, *array.type());
  const auto unit = static_cast<const arrow::Time64Type&>(*array.type()).unit();
  if (unit == arrow::TimeUnit::MICRO) return Relabel(array, source.out->type());
  return ScaleTime<int64_t>(source, array, Scale::kBy1000);
}

// The precision may differ as long as the values fit; the scale may not (specification, "Schema
// Evolution").
Result<ArrayPtr> ConvertDecimal(const ColumnSource& source, const arrow::Array& array) {
  if (!arrow::is_decimal(array.type_id())) return Mismatch(source, *array.type());
  const auto& file = static_cast<const arrow::DecimalType&>(*array.type());
  const iceberg::Type& wanted = source.field.type;
  if (file.scale() != wanted.scale) return Mismatch(source, *array.type());
  if (array.type_id() == Type::DECIMAL128 && file.precision() <= wanted.precision) {
    return Relabel(array, source.out->type());
  }
  return Cast(source, array, source.out->type());
}

// Arrow hands out the indices of a damaged page unchecked.
Status CheckIndices(const ColumnSource& source, const arrow::DictionaryArray& array) {
  const auto& indices = static_cast<const arrow::Int32Array&>(*array.indices());
  const uint32_t bound = static_cast<uint32_t>(array.dictionary()->length());
  const int32_t* raw = indices.raw_values();
  uint32_t highest = 0;
  for (int64_t i = 0; i < indices.length(); ++i) {
    highest = std::max(highest, static_cast<uint32_t>(raw[i]));
  }
  if (highest < bound) return Status::OK();
  // Perhaps only in places that are null.
  for (int64_t i = 0; i < indices.length(); ++i) {
    if (static_cast<uint32_t>(raw[i]) >= bound && indices.IsValid(i)) {
      return Corrupt("column '{}': index {} into a dictionary of {}", source.path, raw[i], bound);
    }
  }
  return Status::OK();
}

Result<ArrayPtr> ConvertText(const ColumnSource& source, const arrow::Array& array) {
  switch (array.type_id()) {
    case Type::STRING:
      TL_RETURN_NOT_OK(CheckUtf8(source, array));
      return Relabel(array, arrow::utf8());
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      if (dictionary.dictionary()->type_id() != Type::STRING ||
          dictionary.indices()->type_id() != Type::INT32) {
        return Mismatch(source, *array.type());
      }
      TL_RETURN_NOT_OK(CheckIndices(source, dictionary));
      TL_RETURN_NOT_OK(CheckUtf8(source, *dictionary.dictionary()));
      return arrow::MakeArray(array.data());
    }
    // A column that was not annotated as text; the cast checks that it is.
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return Cast(source, array, arrow::utf8());
    default: return Mismatch(source, *array.type());
  }
}

Result<ArrayPtr> ConvertBytes(const ColumnSource& source, const arrow::Array& array) {
  switch (array.type_id()) {
    case Type::BINARY:
    case Type::STRING: return Relabel(array, arrow::binary());
    case Type::LARGE_BINARY:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY: return Cast(source, array, arrow::binary());
    default: return Mismatch(source, *array.type());
  }
}

Result<ArrayPtr> ConvertFixed(const ColumnSource& source, const arrow::Array& array, int length) {
  if (array.type_id() != Type::FIXED_SIZE_BINARY ||
      static_cast<const arrow::FixedSizeBinaryType&>(*array.type()).byte_width() != length) {
    return Mismatch(source, *array.type());
  }
  return Relabel(array, source.out->type());
}

// Widening within `accepted`; narrower unsigned types of other writers count as the signed type
// that holds them.
Result<ArrayPtr> ConvertNumber(const ColumnSource& source, const arrow::Array& array) {
  const Type::type file = array.type_id();
  const TypePtr& to = source.out->type();
  if (file == to->id()) return Relabel(array, to);
  bool accepted = false;
  switch (source.field.type.id) {
    case TypeId::kInt: accepted = arrow::is_integer(file) && file < Type::UINT64; break;
    case TypeId::kLong: accepted = arrow::is_integer(file); break;
    case TypeId::kFloat: accepted = file == Type::HALF_FLOAT; break;
    case TypeId::kDouble: accepted = file == Type::HALF_FLOAT || file == Type::FLOAT; break;
    default: break;
  }
  if (!accepted) return Mismatch(source, *array.type());
  return Cast(source, array, to);
}

Result<ArrayPtr> ConvertPrimitive(const ColumnSource& source, const arrow::Array& array) {
  switch (source.field.type.id) {
    case TypeId::kBoolean:
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kFloat:
    case TypeId::kDouble: return ConvertNumber(source, array);
    case TypeId::kDecimal: return ConvertDecimal(source, array);
    case TypeId::kDate:
      // Some writers leave the annotation out.
      if (array.type_id() == Type::DATE32 || array.type_id() == Type::INT32) {
        return Relabel(array, source.out->type());
      }
      return Mismatch(source, *array.type());
    case TypeId::kTime: return ConvertTime(source, array);
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz: return ConvertTimestamp(source, array);
    case TypeId::kString: return ConvertText(source, array);
    case TypeId::kBinary: return ConvertBytes(source, array);
    case TypeId::kUuid: return ConvertFixed(source, array, 16);
    default: return ConvertFixed(source, array, source.field.type.length);
  }
}

// The children keep their own length: a parent's offset points into them unchanged.
Result<ArrayPtr> ConvertNested(const ColumnSource& source, const arrow::Array& array) {
  auto data = array.data()->Copy();
  data->type = source.out->type();
  ArrayData* holder = data.get();
  std::shared_ptr<ArrayData> entries;
  if (source.field.type.id == TypeId::kMap) {
    entries = data->child_data.at(0)->Copy();
    entries->type = source.out->type()->field(0)->type();
    data->child_data[0] = entries;
    holder = entries.get();
  }
  const std::vector<std::shared_ptr<ArrayData>> file = std::move(holder->child_data);
  holder->child_data.clear();
  for (const ColumnSource& child : source.children) {
    ArrayPtr converted;
    if (child.missing) {
      TL_ASSIGN_OR_RAISE(converted, MissingColumn(child, holder->offset + holder->length));
    } else {
      if (child.position >= static_cast<int>(file.size())) return Mismatch(source, *array.type());
      TL_ASSIGN_OR_RAISE(converted, ConvertColumn(child, arrow::MakeArray(file[child.position])));
    }
    holder->child_data.push_back(converted->data());
  }
  return arrow::MakeArray(std::move(data));
}

template <typename T>
const T* Held(const iceberg::Value& value) {
  return std::get_if<T>(&value);
}

Result<std::shared_ptr<arrow::Scalar>> BytesScalar(const ColumnSource& source,
                                                   const std::string& value) {
  auto bytes = arrow::Buffer::FromString(value);
  const TypeId id = source.field.type.id;
  if (id == TypeId::kString) return std::make_shared<arrow::StringScalar>(std::move(bytes));
  if (id == TypeId::kBinary) return std::make_shared<arrow::BinaryScalar>(std::move(bytes));
  const int length = id == TypeId::kUuid ? 16 : source.field.type.length;
  // Arrow aborts on a wrong length.
  if ((id != TypeId::kUuid && id != TypeId::kFixed) || static_cast<int>(value.size()) != length) {
    return Status::Invalid("another type or length");
  }
  auto fixed = std::make_shared<arrow::FixedSizeBinaryScalar>(std::move(bytes),
                                                              arrow::fixed_size_binary(length));
  if (id == TypeId::kFixed) return fixed;
  return std::make_shared<arrow::ExtensionScalar>(fixed, source.out->type());
}

// As in FromBytes, a value that an older schema wrote may be narrower than the type.
Result<std::shared_ptr<arrow::Scalar>> ScalarOf(const ColumnSource& source) {
  const iceberg::Value& value = *source.value;
  if (std::holds_alternative<arrow::Decimal128>(value) !=
      (source.field.type.id == TypeId::kDecimal)) {
    return Status::Invalid("another type");
  }
  const TypePtr& type = source.out->type();
  std::shared_ptr<arrow::Scalar> scalar;
  if (auto b = Held<bool>(value)) scalar = arrow::MakeScalar(*b);
  if (auto i = Held<int32_t>(value)) scalar = arrow::MakeScalar(*i);
  if (auto l = Held<int64_t>(value)) scalar = arrow::MakeScalar(*l);
  if (auto f = Held<float>(value)) scalar = arrow::MakeScalar(*f);
  if (auto d = Held<double>(value)) scalar = arrow::MakeScalar(*d);
  if (auto d = Held<arrow::Decimal128>(value)) {
    return std::make_shared<arrow::Decimal128Scalar>(*d, type);
  }
  if (auto s = Held<std::string>(value)) return BytesScalar(source, *s);
  return scalar->CastTo(type);
}

}  // namespace

Result<ArrayPtr> ConvertColumn(const ColumnSource& source, const ArrayPtr& array) {
  if (array->type_id() == Type::NA) {  // a column that its writer knew only as "all null"
    return arrow::MakeArrayOfNull(source.out->type(), array->length());
  }
  if (source.field.type.is_primitive()) return ConvertPrimitive(source, *array);
  return ConvertNested(source, *array);
}

Result<ArrayPtr> MissingColumn(const ColumnSource& source, int64_t rows) {
  if (!source.value) return arrow::MakeArrayOfNull(source.out->type(), rows);
  auto scalar = ScalarOf(source);
  if (!scalar.ok()) {
    return Corrupt("column '{}': the partition value is not a {}", source.path,
                   iceberg::TypeName(source.field.type));
  }
  return arrow::MakeArrayFromScalar(**scalar, rows);
}

}  // namespace timelake::table
