#include "write/array_bytes.h"

#include <arrow/extension_type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/byte_size.h>

namespace timelake::write {
namespace {

int64_t BitmapBytes(int64_t bits) { return arrow::bit_util::BytesForBits(bits); }

int64_t StringBytes(const arrow::ArrayData& data) {
  const auto* offsets = data.GetValues<int32_t>(1);
  return offsets[data.length] - offsets[0] + data.length * static_cast<int64_t>(sizeof(int32_t));
}

// -1: of a type whose values have arrays of their own.
int64_t ValueBytes(const arrow::ArrayData& data, const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL: return BitmapBytes(data.length);
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return StringBytes(data);
    case arrow::Type::DICTIONARY:
      return data.length * type.byte_width() + BytesOf(*data.dictionary);
    case arrow::Type::EXTENSION:
      return ValueBytes(data, *static_cast<const arrow::ExtensionType&>(type).storage_type());
    default: break;
  }
  return arrow::is_fixed_width(type.id()) ? data.length * type.byte_width() : -1;
}

}  // namespace

int64_t BytesOf(const arrow::ArrayData& data) {
  if (data.length == 0) return 0;
  const int64_t values = ValueBytes(data, *data.type);
  if (values >= 0) return values + (data.buffers[0] ? BitmapBytes(data.length) : 0);
  return arrow::util::ReferencedBufferSize(data).ValueOr(arrow::util::TotalBufferSize(data));
}

}  // namespace timelake::write
