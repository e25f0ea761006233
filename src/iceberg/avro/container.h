#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "iceberg/avro/binary.h"
#include "iceberg/avro/compression.h"
#include "iceberg/avro/schema.h"

// Avro object container files (Avro specification 1.11, "Object Container Files"): magic, a map of
// metadata, a 16-byte marker, then blocks of objects, each ended by the marker.

namespace timelake::iceberg::avro {

inline constexpr std::string_view kMagic{"Obj\x01", 4};
inline constexpr size_t kSyncSize = 16;
inline constexpr std::string_view kSchemaKey = "avro.schema";
inline constexpr std::string_view kCodecKey = "avro.codec";

using Metadata = std::map<std::string, std::string, std::less<>>;

struct Block {
  int64_t count = 0;  // objects
  std::string_view
      data;            // plain; valid until the next call of Next(), and while the file's bytes are
  int64_t offset = 0;  // of the block's data in the file
  bool compressed = false;
};

// After the last object of a block: the decoder's failure, which names the block where offsets are
// those of its plain bytes; or kCorrupt when bytes are left.
Status EndOfBlock(const Block& block, const Decoder& in);

// Reads a file that is held in memory. Not thread-safe.
class ContainerReader {
 public:
  // kCorrupt when the header is damaged, kUnsupported for an unknown codec. `bytes` must outlive
  // this.
  static Result<ContainerReader> Open(std::string_view bytes);

  const Metadata& metadata() const { return metadata_; }
  const Node& schema() const { return *schema_; }

  // Reads the next block; false at the end of the file. A file cut exactly between two blocks looks
  // complete (the format has no footer): the manifest list's lengths and counts tell.
  Result<bool> Next(Block* block);

 private:
  Metadata metadata_;
  NodePtr schema_;
  Codec codec_ = Codec::kNull;
  std::string_view bytes_;
  size_t at_ = 0;
  std::string_view sync_;
  int64_t budget_ = 0;  // plain bytes that compressed blocks may still become
  std::string plain_;
};

// Builds a file in memory.
class ContainerWriter {
 public:
  // The marker is derived from schema and metadata instead of drawn at random: equal input gives
  // equal bytes, so that a repeated put is a repetition.
  ContainerWriter(std::string_view schema_json, const Metadata& metadata, Codec codec);

  // Encode one object into this, then call EndObject().
  Encoder* encoder() { return &block_; }
  Status EndObject();
  // The whole file; the writer is empty afterwards.
  Result<std::string> Finish();

 private:
  Status Flush();

  Codec codec_;
  std::string file_;
  std::string sync_;
  Encoder block_;
  int64_t count_ = 0;
};

}  // namespace timelake::iceberg::avro
