#include <cstring>
#include <string>
#include <utility>

#include <arrow/builder.h>
#include <arrow/extension/uuid.h>
#include <arrow/util/utf8.h>

#include "base/text.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "iceberg/arrow_schema.h"
#include "write/convert_values.h"

// Values for boolean, string, uuid, fixed and binary columns.

namespace timelake::write {
namespace {

using arrow::Type;
using iceberg::TypeId;

// The same bytes under another type of the same layout.
std::shared_ptr<arrow::Array> Retyped(const arrow::Array& array,
                                      std::shared_ptr<arrow::DataType> type) {
  auto data = array.data()->Copy();
  data->type = std::move(type);
  return arrow::MakeArray(data);
}

// All strings are UTF-8 if the bytes of all together are and none begins inside a character.
// False also for garbage below nulls.
bool SurelyUtf8(const arrow::StringArray& strings) {
  // Arrow's tables are empty before, and then everything is valid.
  static const bool ready = (arrow::util::InitializeUTF8(), true);
  if (!ready) return false;
  if (strings.length() == 0) return true;
  const char* data = reinterpret_cast<const char*>(strings.raw_data());
  const int64_t begin = strings.value_offset(0);
  const int64_t end = strings.value_offset(strings.length());
  if (begin == end) return true;
  if (!arrow::util::ValidateUTF8(std::string_view(data + begin, end - begin))) return false;
  for (int64_t i = 0; i < strings.length(); ++i) {
    const int64_t offset = strings.value_offset(i);
    if (offset < end && (static_cast<uint8_t>(data[offset]) & 0xC0) == 0x80) return false;
  }
  return true;
}

Result<std::shared_ptr<arrow::Array>> ToBoolean(const Place& place,
                                                const std::shared_ptr<arrow::Array>& array,
                                                const iceberg::Type& type) {
  if (array->type_id() == Type::BOOL) return array;
  if (array->type_id() != Type::STRING) return TypeMismatch(place, *array->type(), type);
  const auto& strings = static_cast<const arrow::StringArray&>(*array);
  arrow::BooleanBuilder builder;
  TL_RETURN_NOT_OK(builder.Reserve(strings.length()));
  for (int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsNull(i)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const std::string text = ToLowerAscii(strings.GetView(i));
    if (text != "true" && text != "false") {
      return Misfit(place, strings, i, type, "it is neither true nor false");
    }
    builder.UnsafeAppend(text == "true");
  }
  return builder.Finish();
}

// fixed_size_binary(`width`) from byte strings of that length or, for UUIDs, from their text form.
Result<std::shared_ptr<arrow::Array>> ToFixed(const Place& place, const arrow::Array& array,
                                              const iceberg::Type& type, int width) {
  const bool text = array.type_id() == Type::STRING && type.id == TypeId::kUuid;
  if (array.type_id() != Type::BINARY && !text) return TypeMismatch(place, *array.type(), type);
  const auto& bytes = static_cast<const arrow::BinaryArray&>(array);
  arrow::FixedSizeBinaryBuilder builder(arrow::fixed_size_binary(width));
  TL_RETURN_NOT_OK(builder.Reserve(bytes.length()));
  for (int64_t i = 0; i < bytes.length(); ++i) {
    if (bytes.IsNull(i)) {
      TL_RETURN_NOT_OK(builder.AppendNull());
    } else if (text) {
      auto uuid = ParseUuid(bytes.GetView(i));
      if (!uuid.ok()) return Misfit(place, array, i, type, "it is not the text of a UUID");
      TL_RETURN_NOT_OK(builder.Append(uuid->bytes.data()));
    } else if (bytes.value_length(i) != width) {
      return Misfit(place, array, i, type, fmt::format("it has {} bytes", bytes.value_length(i)));
    } else {
      TL_RETURN_NOT_OK(builder.Append(bytes.GetView(i)));
    }
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> ToBinary(const Place& place,
                                               const std::shared_ptr<arrow::Array>& array,
                                               const iceberg::Type& type) {
  switch (array->type_id()) {
    case Type::BINARY: return array;
    case Type::STRING: return Retyped(*array, arrow::binary());
    case Type::FIXED_SIZE_BINARY: {
      const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(*array);
      arrow::BinaryBuilder builder;
      for (int64_t i = 0; i < fixed.length(); ++i) {
        TL_RETURN_NOT_OK(fixed.IsNull(i) ? builder.AppendNull() : builder.Append(fixed.GetView(i)));
      }
      return builder.Finish();
    }
    default: return TypeMismatch(place, *array->type(), type);
  }
}

}  // namespace

Status CheckUtf8(const Place& place, const arrow::StringArray& strings) {
  if (SurelyUtf8(strings)) return Status::OK();
  for (int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsNull(i)) continue;
    if (auto bad = FindInvalidUtf8(strings.GetView(i))) {
      return InvalidArgument("{}: {} is not UTF-8 text (at byte {})", place.At(i),
                             Quote(strings.GetView(i)), *bad);
    }
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> ConvertText(const Place& place,
                                                  const std::shared_ptr<arrow::Array>& array,
                                                  const iceberg::Type& type) {
  switch (type.id) {
    case TypeId::kBoolean: return ToBoolean(place, array, type);
    case TypeId::kBinary: return ToBinary(place, array, type);
    case TypeId::kString:
      if (array->type_id() != Type::STRING) return TypeMismatch(place, *array->type(), type);
      TL_RETURN_NOT_OK(CheckUtf8(place, static_cast<const arrow::StringArray&>(*array)));
      return array;
    default: break;
  }
  const int width = type.id == TypeId::kUuid ? 16 : type.length;
  std::shared_ptr<arrow::Array> fixed = array;
  if (!array->type()->Equals(*arrow::fixed_size_binary(width))) {
    TL_ASSIGN_OR_RAISE(fixed, ToFixed(place, *array, type, width));
  }
  return type.id == TypeId::kUuid ? Retyped(*fixed, arrow::extension::uuid()) : fixed;
}

}  // namespace timelake::write
