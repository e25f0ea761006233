#include "iceberg/avro/compression.h"

#include <algorithm>
#include <array>
#include <memory>

#include <arrow/util/compression.h>

#include "base/text.h"

namespace timelake::iceberg::avro {
namespace {

const uint8_t* Data(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}
uint8_t* Data(std::string* bytes) { return reinterpret_cast<uint8_t*>(bytes->data()); }

Result<std::unique_ptr<arrow::util::Codec>> MakeCodec(Codec codec) {
  // Deflate without the zlib header (RFC 1951).
  if (codec == Codec::kDeflate) {
    arrow::util::GZipCodecOptions options;
    options.gzip_format = arrow::util::GZipFormat::DEFLATE;
    return arrow::util::Codec::Create(arrow::Compression::GZIP, options);
  }
  return arrow::util::Codec::Create(codec == Codec::kSnappy ? arrow::Compression::SNAPPY
                                                            : arrow::Compression::ZSTD);
}

// CRC-32 of ISO 3309, as zlib computes it.
uint32_t Crc32(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320u : 0);
      table[i] = crc;
    }
    return table;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

// The block is Snappy's raw format (a varint of the size comes first), then the CRC-32 of the plain
// bytes, big-endian.
Result<std::string> DecompressSnappy(std::string_view bytes, int64_t limit) {
  constexpr size_t kCrcSize = 4;
  if (bytes.size() < kCrcSize) return Corrupt("snappy block is shorter than its checksum");
  const std::string_view packed = bytes.substr(0, bytes.size() - kCrcSize);
  uint64_t size = 0;
  size_t at = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    if (at == packed.size()) return Corrupt("snappy block has no size");
    const auto byte = static_cast<unsigned char>(packed[at++]);
    size |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  if (size > static_cast<uint64_t>(limit)) return Corrupt("snappy block is larger than {}", limit);
  TL_ASSIGN_OR_RAISE(auto codec, MakeCodec(Codec::kSnappy));
  std::string plain(size, '\0');
  auto written = codec->Decompress(static_cast<int64_t>(packed.size()), Data(packed),
                                   static_cast<int64_t>(size), Data(&plain));
  if (!written.ok() || *written != static_cast<int64_t>(size)) return Corrupt("bad snappy block");
  uint32_t crc = 0;
  for (const char c : bytes.substr(packed.size())) crc = crc << 8 | static_cast<unsigned char>(c);
  if (crc != Crc32(plain)) return Corrupt("checksum of a snappy block does not match");
  return plain;
}

// Deflate and Zstandard blocks do not tell their size: the buffer grows as it fills. Bytes after
// the end of the stream are ignored: PyIceberg leaves three of zlib's checksum behind its deflate
// blocks.
Result<std::string> DecompressStream(Codec kind, std::string_view bytes, int64_t limit) {
  constexpr int64_t kFirstSize = 64 << 10;
  TL_ASSIGN_OR_RAISE(auto codec, MakeCodec(kind));
  TL_ASSIGN_OR_RAISE(auto stream, codec->MakeDecompressor());
  std::string plain;
  int64_t written = 0;
  while (!stream->IsFinished()) {
    if (written == static_cast<int64_t>(plain.size())) {
      if (written > limit) return Corrupt("{} block is larger than {}", CodecName(kind), limit);
      plain.resize(
          static_cast<size_t>(std::min(limit + 1, std::max<int64_t>(kFirstSize, 2 * written))));
    }
    auto step =
        stream->Decompress(static_cast<int64_t>(bytes.size()), Data(bytes),
                           static_cast<int64_t>(plain.size()) - written, Data(&plain) + written);
    if (!step.ok()) return Corrupt("bad {} block", CodecName(kind));
    bytes.remove_prefix(static_cast<size_t>(step->bytes_read));
    written += step->bytes_written;
    if (step->bytes_read == 0 && step->bytes_written == 0 && !stream->IsFinished()) {
      return Corrupt("{} block ends too early", CodecName(kind));
    }
  }
  if (written > limit) return Corrupt("{} block is larger than {}", CodecName(kind), limit);
  plain.resize(static_cast<size_t>(written));
  return plain;
}

}  // namespace

Result<Codec> ParseCodec(std::string_view name) {
  if (name.empty() || name == "null") return Codec::kNull;
  if (name == "deflate") return Codec::kDeflate;
  if (name == "snappy") return Codec::kSnappy;
  if (name == "zstandard") return Codec::kZstd;
  return Unsupported("Avro codec {}; known are null, deflate, snappy, zstandard", Quote(name));
}

std::string_view CodecName(Codec codec) {
  switch (codec) {
    case Codec::kNull: return "null";
    case Codec::kDeflate: return "deflate";
    case Codec::kSnappy: return "snappy";
    case Codec::kZstd: return "zstandard";
  }
  return "null";
}

Result<std::string> Compress(Codec kind, std::string_view bytes) {
  if (kind == Codec::kNull) return std::string(bytes);
  if (kind != Codec::kDeflate) return Unsupported("writing Avro codec {}", CodecName(kind));
  TL_ASSIGN_OR_RAISE(auto codec, MakeCodec(kind));
  const auto size = static_cast<int64_t>(bytes.size());
  std::string packed(static_cast<size_t>(codec->MaxCompressedLen(size, Data(bytes))), '\0');
  TL_ASSIGN_OR_RAISE(
      auto written,
      codec->Compress(size, Data(bytes), static_cast<int64_t>(packed.size()), Data(&packed)));
  packed.resize(static_cast<size_t>(written));
  return packed;
}

Result<std::string> Decompress(Codec kind, std::string_view bytes, int64_t limit) {
  switch (kind) {
    case Codec::kNull: return std::string(bytes);
    case Codec::kSnappy: return DecompressSnappy(bytes, limit);
    default: return DecompressStream(kind, bytes, limit);
  }
}

}  // namespace timelake::iceberg::avro
