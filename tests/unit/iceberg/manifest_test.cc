#include "iceberg/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/avro/container.h"
#include "iceberg/manifest_partition.h"
#include "iceberg/metadata.h"
#include "unit/iceberg/manifest_sample.h"

namespace timelake::iceberg {
namespace {

using ::testing::HasSubstr;

TEST(Manifest, RoundTripKeepsEverything) {
  const auto entries = SampleEntries();
  const auto bytes = WriteManifest(SampleHeader(), entries).ValueOrDie();
  const Manifest read = ReadManifest(ViewOf(bytes), "m.avro").ValueOrDie();
  ASSERT_EQ(read.entries.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(read.entries[i], entries[i]) << i;
  EXPECT_TRUE(SameFields(read.header.schema, SampleSchema()));
  EXPECT_EQ(read.header.schema.schema_id, 3);
  EXPECT_EQ(read.header.spec.spec_id, 2);
  EXPECT_EQ(read.header.spec.fields.size(), SampleSpec().fields.size());
  EXPECT_EQ(read.header.content, ManifestContent::kData);
  EXPECT_EQ(read.header.format_version, 2);
}

TEST(Manifest, EqualInputGivesEqualBytes) {
  const auto a = WriteManifest(SampleHeader(), SampleEntries()).ValueOrDie();
  const auto b = WriteManifest(SampleHeader(), SampleEntries()).ValueOrDie();
  EXPECT_EQ(ViewOf(a), ViewOf(b));
}

// CASES O13: ClickHouse 111763, duckdb-iceberg 799, apache/iceberg PR 13895.
TEST(Manifest, HeaderKeys) {
  const auto bytes = WriteManifest(SampleHeader(), {}).ValueOrDie();
  auto file = avro::ContainerReader::Open(ViewOf(bytes)).ValueOrDie();
  const auto& keys = file.metadata();
  EXPECT_EQ(keys.at("schema"), SchemaToJson(SampleSchema()));
  EXPECT_EQ(keys.at("schema-id"), "3");
  EXPECT_EQ(keys.at("partition-spec"), SpecFieldsToJson(SampleSpec()));
  EXPECT_EQ(keys.at("partition-spec")[0], '[');
  EXPECT_EQ(keys.at("partition-spec-id"), "2");
  EXPECT_EQ(keys.at("format-version"), "2");
  EXPECT_EQ(keys.at("content"), "data");
  EXPECT_EQ(keys.at("avro.codec"), "null");
  EXPECT_EQ(keys.size(), 8u);
}

TEST(Manifest, ManyEntriesSpanBlocks) {
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 1000; ++i) entries.push_back(SampleEntry(i));
  const auto bytes = WriteManifest(SampleHeader(), entries).ValueOrDie();
  EXPECT_EQ(ReadManifest(ViewOf(bytes), "m").ValueOrDie().entries, entries);
}

TEST(Manifest, DeleteFiles) {
  ManifestHeader header = SampleHeader();
  header.content = ManifestContent::kDeletes;
  ManifestEntry positional = SampleEntry(1);
  positional.file.content = FileContent::kPositionDeletes;
  positional.file.referenced_data_file = "s3://b/data/1.parquet";
  ManifestEntry equality = SampleEntry(2);
  equality.file.content = FileContent::kEqualityDeletes;
  equality.file.equality_ids = {1, 2};
  equality.file.key_metadata = "key";
  const std::vector<ManifestEntry> entries = {positional, equality};
  const auto bytes = WriteManifest(header, entries).ValueOrDie();
  const Manifest read = ReadManifest(ViewOf(bytes), "m").ValueOrDie();
  EXPECT_EQ(read.entries, entries);
  EXPECT_EQ(read.header.content, ManifestContent::kDeletes);
  EXPECT_FALSE(WriteManifest(header, {SampleEntry(3)}).ok());
  EXPECT_FALSE(WriteManifest(SampleHeader(), {positional}).ok());
}

TEST(Manifest, Unpartitioned) {
  ManifestHeader header = SampleHeader();
  header.spec = {};
  ManifestEntry entry = SampleEntry(1);
  entry.file.partition.clear();
  const auto bytes = WriteManifest(header, {entry}).ValueOrDie();
  EXPECT_EQ(ReadManifest(ViewOf(bytes), "m").ValueOrDie().entries,
            std::vector<ManifestEntry>{entry});
  const auto row = DescribeManifest(header, {entry}, "u", 1, 2, 3).ValueOrDie();
  EXPECT_TRUE(row.partitions.empty());
}

// A column that was dropped, and a transform of a later version: the values keep their own types.
TEST(Manifest, PartitionTypesWithoutSchema) {
  ManifestHeader header = SampleHeader();
  header.spec.fields = {
      SamplePartitionField(91, 1000, "gone_text", "identity"),
      SamplePartitionField(92, 1001, "gone_long", "identity"),
      SamplePartitionField(1, 1002, "later", "zorder[4]"),
      SamplePartitionField(93, 1003, "gone_bytes", "identity"),
      SamplePartitionField(94, 1004, "gone_null", "identity"),
      SamplePartitionField(95, 1005, "gone_decimal", "identity"),
  };
  ManifestEntry entry = SampleEntry(1);
  entry.file.partition = {std::string("text"), int64_t{1} << 40, 2.5,
                          std::string("\xFF"), std::monostate(), arrow::Decimal128(-7)};
  const auto bytes = WriteManifest(header, {entry}).ValueOrDie();
  EXPECT_EQ(ReadManifest(ViewOf(bytes), "m").ValueOrDie().entries,
            std::vector<ManifestEntry>{entry});
  const auto row = DescribeManifest(header, {entry}, "u", 1, 2, 3).ValueOrDie();
  EXPECT_EQ(row.partitions[0].lower_bound, "text");
  EXPECT_TRUE(row.partitions[4].contains_null);
  EXPECT_FALSE(row.partitions[4].lower_bound.has_value());
}

TEST(Manifest, WriterRefusesWhatReadersCannotTake) {
  const auto refuse = [](const ManifestEntry& entry) {
    const Status status = WriteManifest(SampleHeader(), {entry}).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status;
    return MessageOf(status);
  };
  ManifestEntry entry = SampleEntry(1);
  entry.file.partition.pop_back();
  EXPECT_THAT(refuse(entry), HasSubstr("1.parquet"));
  entry = SampleEntry(1);
  entry.file.partition[1] = int32_t{1};
  EXPECT_THAT(refuse(entry), HasSubstr("\"device\" is not a string"));
  entry = SampleEntry(1);
  entry.status = EntryStatus::kExisting;
  refuse(entry);
  entry = SampleEntry(1);
  entry.file.record_count = -1;
  refuse(entry);
  entry = SampleEntry(1);
  entry.file.file_path.clear();
  refuse(entry);
}

TEST(Manifest, AvroNames) {
  EXPECT_EQ(AvroName("time_day"), "time_day");
  EXPECT_EQ(AvroName("4 n"), "_4_x20n");
  EXPECT_EQ(AvroName("a.b-c"), "a_x2Eb_x2Dc");
  EXPECT_EQ(AvroName("\xC3\xA9"), "_xE9");
  EXPECT_EQ(AvroName("\xF0\x9F\x98\x80"), "_xD83D_xDE00");
  EXPECT_EQ(AvroName("\xFF"), "_xFF");
  EXPECT_EQ(AvroName(""), "_");
}

TEST(Manifest, InheritanceFillsOnlyWhatIsMissing) {
  auto entries = SampleEntries();
  ManifestFile row;
  row.added_snapshot_id = 77;
  row.sequence_number = 9;
  Inherit(row, &entries);
  EXPECT_EQ(entries[0].snapshot_id, 5184430069070270604);
  EXPECT_EQ(entries[0].sequence_number, 9);
  EXPECT_EQ(entries[0].file_sequence_number, 9);
  // Compaction output: explicit data sequence number, file sequence number inherited.
  EXPECT_EQ(entries[1].snapshot_id, 77);
  EXPECT_EQ(entries[1].sequence_number, 4);
  EXPECT_EQ(entries[1].file_sequence_number, 9);
  EXPECT_EQ(entries[2].sequence_number, 3);
  EXPECT_EQ(entries[3].file_sequence_number, 2);
}

TEST(Manifest, OnlyAddedEntriesInherit) {
  std::vector<ManifestEntry> entries(1);
  entries[0].status = EntryStatus::kExisting;
  ManifestFile row;
  row.sequence_number = 9;
  Inherit(row, &entries);
  EXPECT_FALSE(entries[0].sequence_number.has_value());
  row.sequence_number = 0;  // version 1
  Inherit(row, &entries);
  EXPECT_EQ(entries[0].sequence_number, 0);
  EXPECT_EQ(entries[0].file_sequence_number, 0);
}

TEST(Manifest, DescribeCountsAndSummarizes) {
  auto entries = SampleEntries();
  const auto row =
      DescribeManifest(SampleHeader(), entries, "file:///m.avro", 4321, 77, 9).ValueOrDie();
  EXPECT_EQ(row.manifest_path, "file:///m.avro");
  EXPECT_EQ(row.manifest_length, 4321);
  EXPECT_EQ(row.partition_spec_id, 2);
  EXPECT_EQ(row.added_snapshot_id, 77);
  EXPECT_EQ(row.sequence_number, 9);
  EXPECT_EQ(row.min_sequence_number, 3);  // the deleted entry's 2 does not count
  EXPECT_EQ(row.added_files_count, 3);
  EXPECT_EQ(row.existing_files_count, 1);
  EXPECT_EQ(row.deleted_files_count, 1);
  EXPECT_EQ(row.added_rows_count, 1000 + 1001 + 0);
  EXPECT_EQ(row.existing_rows_count, 1002);
  EXPECT_EQ(row.deleted_rows_count, 1003);
  ASSERT_EQ(row.partitions.size(), SampleSpec().fields.size());
  const FieldSummary& day = row.partitions[0];
  EXPECT_TRUE(day.contains_null);
  EXPECT_EQ(day.contains_nan, false);
  EXPECT_EQ(day.lower_bound, std::string("\xE8\x4F\x00\x00", 4));
  EXPECT_EQ(day.upper_bound, day.lower_bound);
  EXPECT_EQ(row.partitions[4].lower_bound, "\xFB\x2E");  // decimal -12.34, shortest form
}

TEST(Manifest, DescribeKeepsNanOutOfBounds) {
  ManifestHeader header = SampleHeader();
  header.spec.fields = {SamplePartitionField(3, 1000, "v", "identity")};
  std::vector<ManifestEntry> entries(3);
  entries[0].file.partition = {std::numeric_limits<double>::quiet_NaN()};
  entries[1].file.partition = {1.0};
  entries[2].file.partition = {-1.0};
  const auto row = DescribeManifest(header, entries, "u", 1, 1, 5).ValueOrDie();
  EXPECT_EQ(row.partitions[0].contains_nan, true);
  EXPECT_FALSE(row.partitions[0].contains_null);
  EXPECT_EQ(row.partitions[0].lower_bound, std::string("\0\0\0\0\0\0\xF0\xBF", 8));
  EXPECT_EQ(row.partitions[0].upper_bound, std::string("\0\0\0\0\0\0\xF0\x3F", 8));
  entries.resize(1);
  const auto only = DescribeManifest(header, entries, "u", 1, 1, 5).ValueOrDie();
  EXPECT_FALSE(only.partitions[0].lower_bound.has_value());
}

std::vector<ManifestFile> SampleRows() {
  auto row =
      DescribeManifest(SampleHeader(), SampleEntries(), "file:///m.avro", 4321, 77, 9).ValueOrDie();
  ManifestFile bare;
  bare.manifest_path = "s3://b/x.avro";
  bare.content = ManifestContent::kDeletes;
  bare.key_metadata = std::string("\x00k", 2);
  bare.partitions.push_back({.contains_null = true,
                             .contains_nan = std::nullopt,
                             .lower_bound = std::nullopt,
                             .upper_bound = ""});
  return {row, bare};
}

TEST(ManifestList, RoundTripKeepsEverything) {
  const ManifestListHeader header{.snapshot_id = 77, .parent_snapshot_id = 5, .sequence_number = 9};
  const auto bytes = WriteManifestList(header, SampleRows()).ValueOrDie();
  EXPECT_EQ(ReadManifestList(ViewOf(bytes), "l").ValueOrDie(), SampleRows());
  auto file = avro::ContainerReader::Open(ViewOf(bytes)).ValueOrDie();
  EXPECT_EQ(file.metadata().at("snapshot-id"), "77");
  EXPECT_EQ(file.metadata().at("parent-snapshot-id"), "5");
  EXPECT_EQ(file.metadata().at("sequence-number"), "9");
  EXPECT_EQ(file.metadata().at("format-version"), "2");
}

TEST(ManifestList, FirstSnapshotAndNoRows) {
  const auto bytes =
      WriteManifestList({.snapshot_id = 1, .parent_snapshot_id = {}, .sequence_number = 1}, {})
          .ValueOrDie();
  EXPECT_TRUE(ReadManifestList(ViewOf(bytes), "l").ValueOrDie().empty());
  auto file = avro::ContainerReader::Open(ViewOf(bytes)).ValueOrDie();
  EXPECT_EQ(file.metadata().at("parent-snapshot-id"), "null");
}

TEST(ManifestList, UnknownCountsAreNotWritten) {
  auto rows = SampleRows();
  rows[0].added_files_count = kUnknownCount;
  const Status status = WriteManifestList({}, rows).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("m.avro"));
}

}  // namespace
}  // namespace timelake::iceberg
