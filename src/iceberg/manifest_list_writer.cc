#include <limits>
#include <utility>

#include "base/text.h"
#include "iceberg/avro/container.h"
#include "iceberg/avro/schema_text.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_fields.h"
#include "iceberg/metadata.h"

namespace timelake::iceberg {
namespace {

using avro::Encoder;

constexpr std::string_view kInt = R"("int")";
constexpr std::string_view kLong = R"("long")";
constexpr std::string_view kBoolean = R"("boolean")";
constexpr std::string_view kString = R"("string")";
constexpr std::string_view kBytes = R"("bytes")";

std::string Required(const FieldKey& key, std::string_view type) {
  return avro::RequiredField(key.id, key.name, type);
}
std::string Optional(const FieldKey& key, std::string_view type) {
  return avro::OptionalField(key.id, key.name, type);
}

// The order of fields here is that of EncodeRow and EncodeSummary.
std::string RowSchema() {
  const std::string summary = avro::RecordType(
      kSummaryRecord, {Required(kContainsNull, kBoolean), Optional(kContainsNan, kBoolean),
                       Optional(kSummaryLowerBound, kBytes), Optional(kSummaryUpperBound, kBytes)});
  return avro::RecordType(kManifestFileRecord,
                          {Required(kManifestPath, kString), Required(kManifestLength, kLong),
                           Required(kPartitionSpecId, kInt), Required(kManifestContent, kInt),
                           Required(kManifestSequenceNumber, kLong),
                           Required(kMinSequenceNumber, kLong), Required(kAddedSnapshotId, kLong),
                           Required(kAddedFilesCount, kInt), Required(kExistingFilesCount, kInt),
                           Required(kDeletedFilesCount, kInt), Required(kAddedRowsCount, kLong),
                           Required(kExistingRowsCount, kLong), Required(kDeletedRowsCount, kLong),
                           Optional(kPartitions, avro::ListType(kPartitionsElement, summary)),
                           Optional(kManifestKeyMetadata, kBytes)});
}

void EncodeOptional(const std::optional<std::string>& value, Encoder* out) {
  out->Branch(value ? 1 : 0);
  if (value) out->Bytes(*value);
}

void EncodeSummary(const FieldSummary& summary, Encoder* out) {
  out->Boolean(summary.contains_null);
  out->Branch(summary.contains_nan ? 1 : 0);
  if (summary.contains_nan) out->Boolean(*summary.contains_nan);
  EncodeOptional(summary.lower_bound, out);
  EncodeOptional(summary.upper_bound, out);
}

Status CheckRow(const ManifestFile& row) {
  if (row.manifest_path.empty()) return InvalidArgument("a manifest without path");
  for (const int64_t count :
       {row.added_files_count, row.existing_files_count, row.deleted_files_count}) {
    if (count < 0 || count > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("number of files {} is not in 0..2147483647", count);
    }
  }
  for (const int64_t count : {row.manifest_length, row.added_rows_count, row.existing_rows_count,
                              row.deleted_rows_count}) {
    if (count < 0) return InvalidArgument("negative number of rows or bytes {}", count);
  }
  return Status::OK();
}

void EncodeRow(const ManifestFile& row, Encoder* out) {
  out->Bytes(row.manifest_path);
  out->Long(row.manifest_length);
  out->Int(row.partition_spec_id);
  out->Int(static_cast<int>(row.content));
  out->Long(row.sequence_number);
  out->Long(row.min_sequence_number);
  out->Long(row.added_snapshot_id);
  out->Long(row.added_files_count);
  out->Long(row.existing_files_count);
  out->Long(row.deleted_files_count);
  out->Long(row.added_rows_count);
  out->Long(row.existing_rows_count);
  out->Long(row.deleted_rows_count);
  // Empty for an unpartitioned spec, as other writers have it; never null.
  out->Branch(1);
  if (!row.partitions.empty()) out->Block(row.partitions.size());
  for (const FieldSummary& summary : row.partitions) EncodeSummary(summary, out);
  out->Block(0);
  EncodeOptional(row.key_metadata, out);
}

avro::Metadata HeaderOf(const ManifestListHeader& header) {
  return {
      {std::string(kSnapshotIdHeader), std::to_string(header.snapshot_id)},
      {std::string(kParentSnapshotIdHeader), header.parent_snapshot_id
                                                 ? std::to_string(*header.parent_snapshot_id)
                                                 : std::string(kNoParent)},
      {std::string(kSequenceNumberHeader), std::to_string(header.sequence_number)},
      {std::string(kFormatVersionHeader), std::to_string(kFormatVersion)},
  };
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> WriteManifestList(const ManifestListHeader& header,
                                                         const std::vector<ManifestFile>& rows) {
  avro::ContainerWriter writer(RowSchema(), HeaderOf(header), avro::Codec::kNull);
  for (const ManifestFile& row : rows) {
    if (const Status checked = CheckRow(row); !checked.ok()) {
      return WithContext(checked, fmt::format("manifest list row {}", Quote(row.manifest_path)));
    }
    EncodeRow(row, writer.encoder());
    TL_RETURN_NOT_OK(writer.EndObject());
  }
  TL_ASSIGN_OR_RAISE(std::string bytes, writer.Finish());
  return arrow::Buffer::FromString(std::move(bytes));
}

}  // namespace timelake::iceberg
