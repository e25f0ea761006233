#include "iceberg/avro/container.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace timelake::iceberg::avro {
namespace {

// A block is closed at this size, as the reference implementation does it: small enough for readers
// that work block by block.
constexpr size_t kBlockSize = 64 << 10;

// What compressed blocks of one file may become: manifests compress 5 to 30 fold.
constexpr int64_t kFreeBytes = 64 << 20;
constexpr int64_t kMaxRatio = 100;

// Mixes 64 bits (the finaliser of SplitMix64).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::string Marker(std::string_view header) {
  std::string marker(kSyncSize, '\0');
  for (size_t half = 0; half < 2; ++half) {
    uint64_t hash = Mix(half + 1);
    for (size_t at = 0; at < header.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, header.data() + at, std::min(sizeof word, header.size() - at));
      hash = Mix(hash ^ word);
    }
    std::memcpy(marker.data() + 8 * half, &hash, sizeof hash);
  }
  return marker;
}

Status ReadMetadata(Decoder* in, Metadata* metadata) {
  while (const int64_t count = in->Block()) {
    for (int64_t i = 0; i < count && in->ok(); ++i) {
      const std::string_view key = in->Bytes();
      (*metadata)[std::string(key)] = in->Bytes();
    }
    if (!in->ok()) break;
  }
  in->InField("file metadata");
  return in->status();
}

}  // namespace

Status EndOfBlock(const Block& block, const Decoder& in) {
  if (!in.ok()) {
    if (!block.compressed) return in.status();
    return Corrupt("{} of the block at byte {}", MessageOf(in.status()), block.offset);
  }
  if (in.remaining() == 0) return Status::OK();
  return Corrupt("{} bytes left after the objects of the block at byte {}", in.remaining(),
                 block.offset);
}

Result<ContainerReader> ContainerReader::Open(std::string_view bytes) {
  ContainerReader reader;
  reader.bytes_ = bytes;
  Decoder in(bytes);
  if (in.Fixed(kMagic.size()) != kMagic)
    return Corrupt("not an Avro file (no \"Obj\" at its start)");
  TL_RETURN_NOT_OK(ReadMetadata(&in, &reader.metadata_));
  reader.sync_ = in.Fixed(kSyncSize);
  TL_RETURN_NOT_OK(in.status());
  reader.at_ = static_cast<size_t>(in.offset());

  auto schema = reader.metadata_.find(kSchemaKey);
  if (schema == reader.metadata_.end()) return Corrupt("file metadata has no \"{}\"", kSchemaKey);
  TL_ASSIGN_OR_RAISE(reader.schema_, ParseSchema(schema->second));
  auto codec = reader.metadata_.find(kCodecKey);
  if (codec != reader.metadata_.end()) {
    TL_ASSIGN_OR_RAISE(reader.codec_, ParseCodec(codec->second));
  }
  reader.budget_ = kFreeBytes + kMaxRatio * static_cast<int64_t>(bytes.size());
  return reader;
}

Result<bool> ContainerReader::Next(Block* block) {
  if (at_ == bytes_.size()) return false;
  Decoder in(bytes_.substr(at_), static_cast<int64_t>(at_));
  block->count = in.Long();
  if (block->count < 0) in.Fail("negative number of objects in a block");
  const int64_t size = in.Long();
  if (size < 0 || static_cast<uint64_t>(size) > in.remaining()) {
    in.Fail("size of a block reaches beyond the end");
  }
  block->offset = in.offset();
  block->data = in.Fixed(in.ok() ? static_cast<size_t>(size) : 0);
  if (in.Fixed(kSyncSize) != sync_) in.Fail("no sync marker after a block");
  TL_RETURN_NOT_OK(in.status());
  at_ = static_cast<size_t>(in.offset());

  block->compressed = codec_ != Codec::kNull;
  if (block->compressed) {
    auto plain = Decompress(codec_, block->data, budget_);
    if (!plain.ok()) {
      return Corrupt("{} at byte {}", MessageOf(plain.status()), block->offset);
    }
    plain_ = std::move(*plain);
    budget_ -= static_cast<int64_t>(plain_.size());
    block->data = plain_;
  }
  if (static_cast<uint64_t>(block->count) > block->data.size()) {
    return Corrupt("block of {} objects in {} bytes at byte {}", block->count, block->data.size(),
                   block->offset);
  }
  return true;
}

ContainerWriter::ContainerWriter(std::string_view schema_json, const Metadata& metadata,
                                 Codec codec)
    : codec_(codec) {
  Encoder header;
  header.Fixed(kMagic);
  header.Block(metadata.size() + 2);
  header.Bytes(kSchemaKey);
  header.Bytes(schema_json);
  header.Bytes(kCodecKey);
  header.Bytes(CodecName(codec));
  for (const auto& [key, value] : metadata) {
    header.Bytes(key);
    header.Bytes(value);
  }
  header.Block(0);
  sync_ = Marker(header.data());
  header.Fixed(sync_);
  file_ = header.data();
}

Status ContainerWriter::EndObject() {
  ++count_;
  return block_.size() >= kBlockSize ? Flush() : Status::OK();
}

Status ContainerWriter::Flush() {
  if (count_ == 0) return Status::OK();
  TL_ASSIGN_OR_RAISE(const std::string packed, Compress(codec_, block_.data()));
  Encoder frame;
  frame.Long(count_);
  frame.Long(static_cast<int64_t>(packed.size()));
  file_ += frame.data();
  file_ += packed;
  file_ += sync_;
  block_.Clear();
  count_ = 0;
  return Status::OK();
}

Result<std::string> ContainerWriter::Finish() {
  TL_RETURN_NOT_OK(Flush());
  return std::exchange(file_, {});
}

}  // namespace timelake::iceberg::avro
