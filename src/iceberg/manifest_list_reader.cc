#include "iceberg/avro/container.h"
#include "iceberg/avro/record_reader.h"
#include "iceberg/avro/values.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_fields.h"

namespace timelake::iceberg {
namespace {

using avro::Binding;
using avro::Decoder;
using avro::Node;

const Binding<FieldSummary> kSummaryBindings[] = {
    {kContainsNull.id,
     kContainsNull.name,
     {},
     true,
     [](Decoder& in, const Node& node, FieldSummary& summary) {
       summary.contains_null = avro::RequiredBoolean(in, node);
     }},
    {kContainsNan.id,
     kContainsNan.name,
     {},
     false,
     [](Decoder& in, const Node& node, FieldSummary& summary) {
       summary.contains_nan = avro::OptionalBoolean(in, node);
     }},
    {kSummaryLowerBound.id,
     kSummaryLowerBound.name,
     {},
     false,
     [](Decoder& in, const Node& node, FieldSummary& summary) {
       summary.lower_bound = avro::OptionalText(in, node);
     }},
    {kSummaryUpperBound.id,
     kSummaryUpperBound.name,
     {},
     false,
     [](Decoder& in, const Node& node, FieldSummary& summary) {
       summary.upper_bound = avro::OptionalText(in, node);
     }},
};

struct RowTarget {
  ManifestFile* row;
  const avro::RecordReader<FieldSummary>* summary;  // null: the file has no summaries
  const Node* summary_record;
};

// Members that take an integer, null or absence leaving their default.
template <auto kMember>
void ReadLong(Decoder& in, const Node& node, RowTarget& target) {
  if (const auto value = avro::OptionalLong(in, node)) target.row->*kMember = *value;
}

void ReadContent(Decoder& in, const Node& node, RowTarget& target) {
  const auto value = avro::OptionalInt(in, node).value_or(0);
  if (value < 0 || value > 1) return in.Fail("content is neither 0 nor 1");
  target.row->content = static_cast<ManifestContent>(value);
}

void ReadPartitions(Decoder& in, const Node& node, RowTarget& target) {
  avro::ReadItems(in, node, [&](const Node& item) {
    if (target.summary == nullptr || &item != target.summary_record) {
      return avro::FailType(in, item, "a record");
    }
    target.summary->Read(in, target.row->partitions.emplace_back());
  });
}

const Binding<RowTarget> kRowBindings[] = {
    {kManifestPath.id,
     kManifestPath.name,
     {},
     true,
     [](Decoder& in, const Node& node, RowTarget& target) {
       target.row->manifest_path = avro::RequiredText(in, node);
       if (target.row->manifest_path.empty()) in.Fail("empty path");
     }},
    {kManifestLength.id,
     kManifestLength.name,
     {},
     true,
     [](Decoder& in, const Node& node, RowTarget& target) {
       target.row->manifest_length = avro::RequiredLong(in, node);
     }},
    {kPartitionSpecId.id,
     kPartitionSpecId.name,
     {},
     false,
     [](Decoder& in, const Node& node, RowTarget& target) {
       target.row->partition_spec_id = avro::OptionalInt(in, node).value_or(0);
     }},
    {kManifestContent.id, kManifestContent.name, {}, false, ReadContent},
    {kManifestSequenceNumber.id,
     kManifestSequenceNumber.name,
     {},
     false,
     ReadLong<&ManifestFile::sequence_number>},
    {kMinSequenceNumber.id,
     kMinSequenceNumber.name,
     {},
     false,
     ReadLong<&ManifestFile::min_sequence_number>},
    {kAddedSnapshotId.id,
     kAddedSnapshotId.name,
     {},
     false,
     ReadLong<&ManifestFile::added_snapshot_id>},
    {kAddedFilesCount.id, kAddedFilesCount.name, kAddedFilesCountV1, false,
     ReadLong<&ManifestFile::added_files_count>},
    {kExistingFilesCount.id, kExistingFilesCount.name, kExistingFilesCountV1, false,
     ReadLong<&ManifestFile::existing_files_count>},
    {kDeletedFilesCount.id, kDeletedFilesCount.name, kDeletedFilesCountV1, false,
     ReadLong<&ManifestFile::deleted_files_count>},
    {kAddedRowsCount.id,
     kAddedRowsCount.name,
     {},
     false,
     ReadLong<&ManifestFile::added_rows_count>},
    {kExistingRowsCount.id,
     kExistingRowsCount.name,
     {},
     false,
     ReadLong<&ManifestFile::existing_rows_count>},
    {kDeletedRowsCount.id,
     kDeletedRowsCount.name,
     {},
     false,
     ReadLong<&ManifestFile::deleted_rows_count>},
    {kPartitions.id, kPartitions.name, {}, false, ReadPartitions},
    {kManifestKeyMetadata.id,
     kManifestKeyMetadata.name,
     {},
     false,
     [](Decoder& in, const Node& node, RowTarget& target) {
       target.row->key_metadata = avro::OptionalText(in, node);
     }},
};

// The record of a summary within the schema of a row; null when there is none.
const Node* FindSummaryRecord(const Node& row) {
  const auto* field = avro::FindRecordField(row, kPartitions.id, kPartitions.name);
  if (field == nullptr) return nullptr;
  const Node* array = field->type.get();
  if (array->kind == avro::Kind::kUnion) {
    for (const auto& branch : array->children) {
      if (branch->kind == avro::Kind::kArray) array = branch.get();
    }
  }
  if (array->kind != avro::Kind::kArray) return nullptr;
  const Node* item = array->children[0].get();
  return item->kind == avro::Kind::kRecord ? item : nullptr;
}

Result<std::vector<ManifestFile>> ReadRows(std::string_view bytes) {
  TL_ASSIGN_OR_RAISE(auto file, avro::ContainerReader::Open(bytes));
  if (file.schema().kind != avro::Kind::kRecord) return Corrupt("not a manifest list");
  RowTarget target{
      .row = nullptr, .summary = nullptr, .summary_record = FindSummaryRecord(file.schema())};
  TL_ASSIGN_OR_RAISE(const auto row_reader,
                     avro::RecordReader<RowTarget>::Make(file.schema(), kRowBindings));
  avro::RecordReader<FieldSummary> summary_reader;
  if (target.summary_record != nullptr) {
    TL_ASSIGN_OR_RAISE(summary_reader, avro::RecordReader<FieldSummary>::Make(
                                           *target.summary_record, kSummaryBindings));
    target.summary = &summary_reader;
  }
  std::vector<ManifestFile> rows;
  avro::Block block;
  while (true) {
    TL_ASSIGN_OR_RAISE(const bool more, file.Next(&block));
    if (!more) return rows;
    Decoder in(block.data, block.compressed ? 0 : block.offset);
    for (int64_t i = 0; i < block.count && in.ok(); ++i) {
      target.row = &rows.emplace_back();
      // Absent or null: not known.
      target.row->added_files_count = target.row->existing_files_count = kUnknownCount;
      target.row->deleted_files_count = target.row->added_rows_count = kUnknownCount;
      target.row->existing_rows_count = target.row->deleted_rows_count = kUnknownCount;
      row_reader.Read(in, target);
    }
    TL_RETURN_NOT_OK(avro::EndOfBlock(block, in));
  }
}

}  // namespace

Result<std::vector<ManifestFile>> ReadManifestList(std::string_view bytes,
                                                   std::string_view source) {
  auto rows = ReadRows(bytes);
  if (!rows.ok()) return WithContext(rows.status(), std::string(source));
  return rows;
}

}  // namespace timelake::iceberg
