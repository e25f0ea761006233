#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

// Codecs of blocks in Avro files (Avro specification 1.11, "Required Codecs", "Optional Codecs").

namespace timelake::iceberg::avro {

enum class Codec { kNull, kDeflate, kSnappy, kZstd };

// "null", "deflate", "snappy", "zstandard", as in the header key `avro.codec`; the empty text is
// null. kUnsupported for others, naming them.
Result<Codec> ParseCodec(std::string_view name);
std::string_view CodecName(Codec codec);

// Only kNull and kDeflate; kUnsupported else.
Result<std::string> Compress(Codec codec, std::string_view bytes);

// kCorrupt when the bytes are damaged or would become more than `limit` bytes.
Result<std::string> Decompress(Codec codec, std::string_view bytes, int64_t limit);

}  // namespace timelake::iceberg::avro
