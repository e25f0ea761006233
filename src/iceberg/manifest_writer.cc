#include "iceberg/manifest.h"

#include <utility>

#include "base/text.h"
#include "iceberg/avro/container.h"
#include "iceberg/avro/schema_text.h"
#include "iceberg/manifest_fields.h"
#include "iceberg/manifest_partition.h"
#include "iceberg/metadata.h"

namespace timelake::iceberg {
namespace {

using avro::Encoder;

constexpr std::string_view kInt = R"("int")";
constexpr std::string_view kLong = R"("long")";
constexpr std::string_view kString = R"("string")";
constexpr std::string_view kBytes = R"("bytes")";

std::string Required(const FieldKey& key, std::string_view type) {
  return avro::RequiredField(key.id, key.name, type);
}
std::string Optional(const FieldKey& key, std::string_view type) {
  return avro::OptionalField(key.id, key.name, type);
}
std::string Pairs(const PairIds& ids, std::string_view value) {
  return avro::PairsType(ids.key, ids.value, value);
}

// The order of fields here is that of EncodeFile and EncodeEntry.
std::string EntrySchema(const std::string& partition) {
  const std::string file = avro::RecordType(
      kDataFileRecord,
      {Required(kContent, kInt), Required(kFilePath, kString), Required(kFileFormat, kString),
       Required(kPartition, partition), Required(kRecordCount, kLong), Required(kFileSize, kLong),
       Optional(kColumnSizes, Pairs(kColumnSizesPair, kLong)),
       Optional(kValueCounts, Pairs(kValueCountsPair, kLong)),
       Optional(kNullValueCounts, Pairs(kNullValueCountsPair, kLong)),
       Optional(kNanValueCounts, Pairs(kNanValueCountsPair, kLong)),
       Optional(kLowerBounds, Pairs(kLowerBoundsPair, kBytes)),
       Optional(kUpperBounds, Pairs(kUpperBoundsPair, kBytes)), Optional(kKeyMetadata, kBytes),
       Optional(kSplitOffsets, avro::ListType(kSplitOffsetsElement, kLong)),
       Optional(kEqualityIds, avro::ListType(kEqualityIdsElement, kInt)),
       Optional(kSortOrderId, kInt), Optional(kReferencedDataFile, kString)});
  return avro::RecordType(
      kEntryRecord,
      {Required(kStatus, kInt), Optional(kSnapshotId, kLong), Optional(kSequenceNumber, kLong),
       Optional(kFileSequenceNumber, kLong), Required(kDataFile, file)});
}

void EncodeOptional(const std::optional<int64_t>& value, Encoder* out) {
  out->Branch(value ? 1 : 0);
  if (value) out->Long(*value);
}

void EncodeOptional(const std::optional<std::string>& value, Encoder* out) {
  out->Branch(value ? 1 : 0);
  if (value) out->Bytes(*value);
}

void EncodeItem(int64_t value, Encoder* out) { out->Long(value); }
void EncodeItem(const std::string& value, Encoder* out) { out->Bytes(value); }
template <typename Value>
void EncodeItem(const std::pair<const int, Value>& pair, Encoder* out) {
  out->Int(pair.first);
  EncodeItem(pair.second, out);
}

// A map or list; empty ones are null.
template <typename Items>
void EncodeItems(const Items& items, Encoder* out) {
  out->Branch(items.empty() ? 0 : 1);
  if (items.empty()) return;
  out->Block(items.size());
  for (const auto& item : items) EncodeItem(item, out);
  out->Block(0);
}

Status EncodeFile(const ManifestHeader& header, const std::vector<Type>& types,
                  const DataFile& file, Encoder* out) {
  out->Int(static_cast<int>(file.content));
  out->Bytes(file.file_path);
  out->Bytes(file.file_format);
  TL_RETURN_NOT_OK(EncodePartition(header.spec, types, file.partition, out));
  out->Long(file.record_count);
  out->Long(file.file_size_in_bytes);
  EncodeItems(file.column_sizes, out);
  EncodeItems(file.value_counts, out);
  EncodeItems(file.null_value_counts, out);
  EncodeItems(file.nan_value_counts, out);
  EncodeItems(file.lower_bounds, out);
  EncodeItems(file.upper_bounds, out);
  EncodeOptional(file.key_metadata, out);
  EncodeItems(file.split_offsets, out);
  EncodeItems(file.equality_ids, out);
  EncodeOptional(file.sort_order_id, out);
  EncodeOptional(file.referenced_data_file, out);
  return Status::OK();
}

// What readers rely on and the types cannot say.
Status CheckEntry(const ManifestHeader& header, const ManifestEntry& entry) {
  const DataFile& file = entry.file;
  if (file.file_path.empty()) return InvalidArgument("a file without path");
  if (file.record_count < 0 || file.file_size_in_bytes < 0) {
    return InvalidArgument("negative record count or size");
  }
  if ((header.content == ManifestContent::kData) != (file.content == FileContent::kData)) {
    return InvalidArgument("data and delete files cannot share a manifest");
  }
  // Only added entries may inherit (specification, "Sequence Number Inheritance"). The file
  // sequence number may be missing in what early writers of version 2 left.
  if (entry.status != EntryStatus::kAdded && (!entry.snapshot_id || !entry.sequence_number)) {
    return InvalidArgument("an entry that is not new needs its snapshot id and sequence number");
  }
  return Status::OK();
}

Status EncodeEntry(const ManifestHeader& header, const std::vector<Type>& types,
                   const ManifestEntry& entry, Encoder* out) {
  TL_RETURN_NOT_OK(CheckEntry(header, entry));
  out->Int(static_cast<int>(entry.status));
  EncodeOptional(entry.snapshot_id, out);
  EncodeOptional(entry.sequence_number, out);
  EncodeOptional(entry.file_sequence_number, out);
  return EncodeFile(header, types, entry.file, out);
}

avro::Metadata HeaderOf(const ManifestHeader& header) {
  const bool data = header.content == ManifestContent::kData;
  return {
      {std::string(kSchemaHeader), SchemaToJson(header.schema)},
      {std::string(kSchemaIdHeader), std::to_string(header.schema.schema_id)},
      {std::string(kSpecHeader), SpecFieldsToJson(header.spec)},
      {std::string(kSpecIdHeader), std::to_string(header.spec.spec_id)},
      {std::string(kFormatVersionHeader), std::to_string(kFormatVersion)},
      {std::string(kContentHeader), std::string(data ? kContentData : kContentDeletes)},
  };
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> WriteManifest(const ManifestHeader& header,
                                                     const std::vector<ManifestEntry>& entries) {
  const std::vector<Type> types = PartitionTypes(header, entries);
  TL_ASSIGN_OR_RAISE(const std::string partition, PartitionSchemaJson(header.spec, types));
  avro::ContainerWriter writer(EntrySchema(partition), HeaderOf(header), avro::Codec::kNull);
  for (const ManifestEntry& entry : entries) {
    const Status encoded = EncodeEntry(header, types, entry, writer.encoder());
    if (!encoded.ok()) {
      return WithContext(encoded, fmt::format("manifest entry {}", Quote(entry.file.file_path)));
    }
    TL_RETURN_NOT_OK(writer.EndObject());
  }
  TL_ASSIGN_OR_RAISE(std::string bytes, writer.Finish());
  return arrow::Buffer::FromString(std::move(bytes));
}

}  // namespace timelake::iceberg
