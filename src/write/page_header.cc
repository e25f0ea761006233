#include "write/page_header.h"

namespace timelake::write {
namespace {

// Thrift's compact protocol: a field is introduced by how much higher its number is than the one
// before, and its type.
constexpr uint8_t kI32 = 5;
constexpr uint8_t kStruct = 12;
constexpr uint8_t kStop = 0;

// parquet.thrift, PageType and Encoding; those of Arrow's library are its own.
constexpr int32_t kDataPage = 0;
constexpr int32_t kDictionaryPage = 2;
constexpr int32_t kPlain = 0;
constexpr int32_t kRle = 3;

int32_t NumberOf(parquet::Encoding::type encoding) {
  static_assert(
      parquet::Encoding::PLAIN == 0 && parquet::Encoding::DELTA_BINARY_PACKED == 5 &&
      parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY == 6 && parquet::Encoding::DELTA_BYTE_ARRAY == 7 &&
      parquet::Encoding::RLE_DICTIONARY == 8 && parquet::Encoding::BYTE_STREAM_SPLIT == 9);
  return static_cast<int32_t>(encoding);
}

void AppendField(uint8_t steps, uint8_t type, PageBytes* out) {
  out->AppendByte(static_cast<uint8_t>(steps << 4 | type));
}

void AppendNumber(uint8_t steps, int32_t value, PageBytes* out) {
  AppendField(steps, kI32, out);
  out->AppendZigZag(value);
}

void AppendSizes(int32_t page_type, int32_t uncompressed, int32_t compressed, PageBytes* out) {
  AppendNumber(1, page_type, out);
  AppendNumber(1, uncompressed, out);
  AppendNumber(1, compressed, out);
}

}  // namespace

void AppendDictionaryHeader(int32_t uncompressed, int32_t compressed, int32_t values,
                            PageBytes* out) {
  AppendSizes(kDictionaryPage, uncompressed, compressed, out);
  AppendField(4, kStruct, out);  // 7: dictionary_page_header
  AppendNumber(1, values, out);
  AppendNumber(1, kPlain, out);
  out->AppendByte(kStop);
  out->AppendByte(kStop);
}

void AppendDataHeader(int32_t uncompressed, int32_t compressed, int32_t rows,
                      parquet::Encoding::type encoding, PageBytes* out) {
  AppendSizes(kDataPage, uncompressed, compressed, out);
  AppendField(2, kStruct, out);  // 5: data_page_header
  AppendNumber(1, rows, out);
  AppendNumber(1, NumberOf(encoding), out);
  AppendNumber(1, kRle, out);  // definition levels
  AppendNumber(1, kRle, out);  // repetition levels
  out->AppendByte(kStop);
  out->AppendByte(kStop);
}

}  // namespace timelake::write
