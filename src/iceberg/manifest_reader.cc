#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "iceberg/avro/container.h"
#include "iceberg/avro/record_reader.h"
#include "iceberg/avro/values.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_fields.h"
#include "iceberg/manifest_partition.h"
#include "iceberg/metadata.h"

namespace timelake::iceberg {
namespace {

using avro::Binding;
using avro::Decoder;
using avro::Node;

struct FileTarget {
  DataFile* file;
  const PartitionReader* partition;
};

int64_t ReadCount(Decoder& in, const Node& node) {
  const int64_t value = avro::RequiredLong(in, node);
  if (value < 0) in.Fail("negative number");
  return value;
}

void ReadContent(Decoder& in, const Node& node, FileTarget& target) {
  const auto value = avro::OptionalInt(in, node).value_or(0);
  if (value < 0 || value > 2) return in.Fail("content is not 0, 1 or 2");
  target.file->content = static_cast<FileContent>(value);
}

void ReadFormat(Decoder& in, const Node& node, FileTarget& target) {
  std::string format(avro::RequiredText(in, node));
  for (char& c : format) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  target.file->file_format = std::move(format);
}

template <auto kMember, const PairIds& kIds>
void ReadPairs(Decoder& in, const Node& node, FileTarget& target) {
  avro::ReadMap(in, node, kIds.key, kIds.value, &(target.file->*kMember));
}

template <auto kMember>
void ReadItems(Decoder& in, const Node& node, FileTarget& target) {
  avro::ReadList(in, node, &(target.file->*kMember));
}

const Binding<FileTarget> kFileBindings[] = {
    {kContent.id, kContent.name, {}, false, ReadContent},
    {kFilePath.id,
     kFilePath.name,
     {},
     true,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.file->file_path = avro::RequiredText(in, node);
       if (target.file->file_path.empty()) in.Fail("empty path");
     }},
    {kFileFormat.id, kFileFormat.name, {}, true, ReadFormat},
    {kPartition.id,
     kPartition.name,
     {},
     false,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.partition->Read(in, node, &target.file->partition);
     }},
    {kRecordCount.id,
     kRecordCount.name,
     {},
     true,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.file->record_count = ReadCount(in, node);
     }},
    {kFileSize.id,
     kFileSize.name,
     {},
     true,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.file->file_size_in_bytes = ReadCount(in, node);
     }},
    {kColumnSizes.id,
     kColumnSizes.name,
     {},
     false,
     ReadPairs<&DataFile::column_sizes, kColumnSizesPair>},
    {kValueCounts.id,
     kValueCounts.name,
     {},
     false,
     ReadPairs<&DataFile::value_counts, kValueCountsPair>},
    {kNullValueCounts.id,
     kNullValueCounts.name,
     {},
     false,
     ReadPairs<&DataFile::null_value_counts, kNullValueCountsPair>},
    {kNanValueCounts.id,
     kNanValueCounts.name,
     {},
     false,
     ReadPairs<&DataFile::nan_value_counts, kNanValueCountsPair>},
    {kLowerBounds.id,
     kLowerBounds.name,
     {},
     false,
     ReadPairs<&DataFile::lower_bounds, kLowerBoundsPair>},
    {kUpperBounds.id,
     kUpperBounds.name,
     {},
     false,
     ReadPairs<&DataFile::upper_bounds, kUpperBoundsPair>},
    {kKeyMetadata.id,
     kKeyMetadata.name,
     {},
     false,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.file->key_metadata = avro::OptionalText(in, node);
     }},
    {kSplitOffsets.id, kSplitOffsets.name, {}, false, ReadItems<&DataFile::split_offsets>},
    {kEqualityIds.id, kEqualityIds.name, {}, false, ReadItems<&DataFile::equality_ids>},
    {kSortOrderId.id,
     kSortOrderId.name,
     {},
     false,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.file->sort_order_id = avro::OptionalInt(in, node);
     }},
    {kReferencedDataFile.id,
     kReferencedDataFile.name,
     {},
     false,
     [](Decoder& in, const Node& node, FileTarget& target) {
       target.file->referenced_data_file = avro::OptionalText(in, node);
     }},
};

struct EntryTarget {
  ManifestEntry* entry;
  const avro::RecordReader<FileTarget>* file;
  const Node* file_record;
  const PartitionReader* partition;
};

void ReadStatus(Decoder& in, const Node& node, EntryTarget& target) {
  const auto value = avro::RequiredInt(in, node);
  if (value < 0 || value > 2) return in.Fail("status is not 0, 1 or 2");
  target.entry->status = static_cast<EntryStatus>(value);
}

void ReadFile(Decoder& in, const Node& node, EntryTarget& target) {
  const Node* type = avro::Present(in, node);
  if (!in.ok()) return;
  if (type != target.file_record) return in.Fail("no data file");
  FileTarget file{.file = &target.entry->file, .partition = target.partition};
  target.file->Read(in, file);
}

const Binding<EntryTarget> kEntryBindings[] = {
    {kStatus.id, kStatus.name, {}, true, ReadStatus},
    {kSnapshotId.id,
     kSnapshotId.name,
     {},
     false,
     [](Decoder& in, const Node& node, EntryTarget& target) {
       target.entry->snapshot_id = avro::OptionalLong(in, node);
     }},
    {kSequenceNumber.id,
     kSequenceNumber.name,
     {},
     false,
     [](Decoder& in, const Node& node, EntryTarget& target) {
       target.entry->sequence_number = avro::OptionalLong(in, node);
     }},
    {kFileSequenceNumber.id,
     kFileSequenceNumber.name,
     {},
     false,
     [](Decoder& in, const Node& node, EntryTarget& target) {
       target.entry->file_sequence_number = avro::OptionalLong(in, node);
     }},
    {kDataFile.id, kDataFile.name, {}, true, ReadFile},
};

// Text of a header key; empty when absent.
std::string_view HeaderText(const avro::Metadata& metadata, std::string_view key) {
  auto it = metadata.find(key);
  return it == metadata.end() ? std::string_view() : std::string_view(it->second);
}

Result<int> HeaderInt(const avro::Metadata& metadata, std::string_view key, int otherwise) {
  const std::string_view text = HeaderText(metadata, key);
  if (text.empty()) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return Corrupt("header key \"{}\" is {}, not a number", key, Quote(text));
}

// The key holds the array of fields; some writers put the whole spec, an object, there.
std::string SpecFieldsText(std::string_view text) {
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("fields")) return std::string(text);
  return json["fields"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ManifestHeader> ReadHeader(const avro::Metadata& metadata) {
  ManifestHeader header;
  TL_ASSIGN_OR_RAISE(header.format_version, HeaderInt(metadata, kFormatVersionHeader, 1));
  if (header.format_version < 1 || header.format_version > kFormatVersion) {
    return Unsupported("manifest of format version {}; known are 1 and 2", header.format_version);
  }
  const std::string_view schema = HeaderText(metadata, kSchemaHeader);
  if (schema.empty()) return Corrupt("header key \"{}\" is missing", kSchemaHeader);
  TL_ASSIGN_OR_RAISE(header.schema, SchemaFromJson(schema, "header key \"schema\""));
  TL_ASSIGN_OR_RAISE(header.schema.schema_id,
                     HeaderInt(metadata, kSchemaIdHeader, header.schema.schema_id));
  TL_ASSIGN_OR_RAISE(header.spec.spec_id, HeaderInt(metadata, kSpecIdHeader, 0));
  if (const std::string_view spec = HeaderText(metadata, kSpecHeader); !spec.empty()) {
    TL_ASSIGN_OR_RAISE(header.spec.fields,
                       SpecFieldsFromJson(SpecFieldsText(spec), "header key \"partition-spec\""));
  }
  const std::string_view content = HeaderText(metadata, kContentHeader);
  if (content == kContentDeletes) {
    header.content = ManifestContent::kDeletes;
  } else if (!content.empty() && content != kContentData) {
    return Corrupt("header key \"{}\" is {}, not \"data\" or \"deletes\"", kContentHeader,
                   Quote(content));
  }
  return header;
}

Status ReadEntries(avro::ContainerReader* file, const ManifestHeader& header,
                   std::vector<ManifestEntry>* entries) {
  const Node& schema = file->schema();
  if (schema.kind != avro::Kind::kRecord) return Corrupt("not a manifest");
  TL_ASSIGN_OR_RAISE(const auto entry_reader,
                     avro::RecordReader<EntryTarget>::Make(schema, kEntryBindings));
  const auto* file_field = avro::FindRecordField(schema, kDataFile.id, kDataFile.name);
  const Node* record = avro::RecordOf(*file_field->type);
  if (record == nullptr) return Corrupt("Avro schema: field data_file is not a record");
  TL_ASSIGN_OR_RAISE(const auto file_reader,
                     avro::RecordReader<FileTarget>::Make(*record, kFileBindings));
  const auto* partition = avro::FindRecordField(*record, kPartition.id, kPartition.name);
  const auto partition_reader = PartitionReader::Make(
      partition != nullptr ? avro::RecordOf(*partition->type) : nullptr, header);

  EntryTarget target{.entry = nullptr,
                     .file = &file_reader,
                     .file_record = record,
                     .partition = &partition_reader};
  avro::Block block;
  while (true) {
    TL_ASSIGN_OR_RAISE(const bool more, file->Next(&block));
    if (!more) return Status::OK();
    Decoder in(block.data, block.compressed ? 0 : block.offset);
    for (int64_t i = 0; i < block.count && in.ok(); ++i) {
      target.entry = &entries->emplace_back();
      target.entry->file.partition.resize(header.spec.fields.size());
      entry_reader.Read(in, target);
    }
    TL_RETURN_NOT_OK(avro::EndOfBlock(block, in));
  }
}

Result<Manifest> Read(std::string_view bytes) {
  Manifest manifest;
  TL_ASSIGN_OR_RAISE(auto file, avro::ContainerReader::Open(bytes));
  TL_ASSIGN_OR_RAISE(manifest.header, ReadHeader(file.metadata()));
  TL_RETURN_NOT_OK(ReadEntries(&file, manifest.header, &manifest.entries));
  return manifest;
}

}  // namespace

Result<Manifest> ReadManifest(std::string_view bytes, std::string_view source) {
  auto manifest = Read(bytes);
  if (!manifest.ok()) return WithContext(manifest.status(), std::string(source));
  return manifest;
}

}  // namespace timelake::iceberg
