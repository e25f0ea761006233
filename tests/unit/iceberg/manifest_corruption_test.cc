#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/avro/container.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "unit/iceberg/manifest_sample.h"

// Damaged files, and files of writers whose schema differs from ours.

namespace timelake::iceberg {
namespace {

using ::testing::HasSubstr;

std::string SampleBytes() {
  return std::string(ViewOf(WriteManifest(SampleHeader(), SampleEntries()).ValueOrDie()));
}

std::string SampleListBytes() {
  const auto row =
      DescribeManifest(SampleHeader(), SampleEntries(), "file:///m", 1, 2, 9).ValueOrDie();
  return std::string(ViewOf(WriteManifestList({}, {row, row}).ValueOrDie()));
}

// Flips, overwrites, inserts and cuts; header and blocks alike.
std::string Mutate(const std::string& valid, std::mt19937_64* engine) {
  std::string bytes = valid;
  const auto below = [&](size_t n) { return static_cast<size_t>((*engine)() % n); };
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(below(256)); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.erase(at, 1 + below(20)); break;
      case 4: bytes.insert(at, std::string(1 + below(12), '\xFF')); break;
      default: bytes.insert(at, bytes.substr(below(bytes.size()), below(40))); break;
    }
  }
  return bytes;
}

// Under a sanitizer: no crash, no endless loop, no huge allocation; a failure names the source.
TEST(ManifestCorruption, MutatedFilesNeverCrash) {
  std::mt19937_64 engine(1);
  const std::string manifest = SampleBytes();
  const std::string list = SampleListBytes();
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto read = ReadManifest(Mutate(manifest, &engine), "source.avro");
    const auto rows = ReadManifestList(Mutate(list, &engine), "source.avro");
    for (const Status& status : {read.status(), rows.status()}) {
      if (status.ok()) continue;
      ++refused;
      ASSERT_THAT(MessageOf(status), HasSubstr("source.avro")) << i;
      const ErrorKind kind = KindOf(status);
      ASSERT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kUnsupported) << status;
    }
  }
  EXPECT_GT(refused, 10'000);
}

// Damage inside the objects only: past header and frames.
TEST(ManifestCorruption, MutatedObjectsNeverCrash) {
  const std::string valid = SampleBytes();
  auto file = avro::ContainerReader::Open(valid).ValueOrDie();
  avro::Block block;
  ASSERT_TRUE(file.Next(&block).ValueOrDie());
  const auto start = static_cast<size_t>(block.offset);
  std::mt19937_64 engine(2);
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes = valid;
    for (int changes = 0; changes < 1 + i % 3; ++changes) {
      bytes[start + engine() % block.data.size()] = static_cast<char>(engine());
    }
    (void)ReadManifest(bytes, "source.avro");
  }
}

TEST(ManifestCorruption, EveryTruncationIsRefused) {
  const std::string valid = SampleBytes();
  auto file = avro::ContainerReader::Open(valid).ValueOrDie();
  avro::Block block;
  ASSERT_TRUE(file.Next(&block).ValueOrDie());
  for (size_t size = 0; size < valid.size(); ++size) {
    const auto read = ReadManifest(valid.substr(0, size), "m.avro");
    // Cut exactly after the header it is a manifest without entries; two varints frame a block.
    EXPECT_TRUE(!read.ok() || (read->entries.empty() && size < static_cast<size_t>(block.offset)));
  }
}

TEST(ManifestCorruption, MessageNamesFieldAndByte) {
  std::string bytes = SampleBytes();
  const size_t at = bytes.find("PARQUET");
  bytes[at - 1] = 0x7F;  // length of the format's name
  const Status status = ReadManifest(bytes, "m.avro").status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt);
  EXPECT_THAT(MessageOf(status), HasSubstr("m.avro: field data_file."));
  EXPECT_THAT(MessageOf(status), HasSubstr("at byte "));
}

std::string FileOf(std::string_view schema, const avro::Metadata& metadata,
                   const std::string& object) {
  avro::ContainerWriter writer(schema, metadata, avro::Codec::kDeflate);
  writer.encoder()->Fixed(object);
  EXPECT_TRUE(writer.EndObject().ok());
  return writer.Finish().ValueOrDie();
}

// A version 1 manifest without field ids, with the block size that version 2 dropped, fields that
// nobody knows and a map in two blocks.
TEST(ManifestForeign, VersionOneByName) {
  constexpr std::string_view kSchema = R"({"type":"record","name":"manifest_entry","fields":[
    {"name":"status","type":"int"},{"name":"snapshot_id","type":["null","long"]},
    {"name":"data_file","type":{"type":"record","name":"r2","fields":[
      {"name":"file_path","type":"string"},{"name":"file_format","type":"string"},
      {"name":"partition","type":{"type":"record","name":"r102","fields":[
        {"name":"time_day","type":["null","int"]}]}},
      {"name":"record_count","type":"long"},{"name":"file_size_in_bytes","type":"long"},
      {"name":"block_size_in_bytes","type":"long"},
      {"name":"later","type":["null",{"type":"array","items":"string"}]},
      {"name":"column_sizes","type":["null",{"type":"array","items":{"type":"record",
        "name":"k117_v118","fields":[{"name":"key","type":"int"},{"name":"value","type":"long"}]},
        "logicalType":"map"}]}]}}]})";
  avro::Encoder object;
  object.Int(1);
  object.Branch(1);
  object.Long(42);
  object.Bytes("hdfs://a/b.parquet");
  object.Bytes("parquet");
  object.Branch(1);
  object.Int(-1);
  object.Long(10);
  object.Long(999);
  object.Long(64 << 20);
  object.Branch(1);
  object.Block(1);
  object.Bytes("unknown");
  object.Block(0);
  object.Branch(1);
  object.Long(-1);  // one pair, its size in bytes
  object.Long(2);
  object.Int(2);
  object.Long(22);
  object.Block(1);
  object.Int(1);
  object.Long(11);
  object.Block(0);
  PartitionSpec spec;
  spec.fields = {SamplePartitionField(1, 1000, "time_day", "day")};
  const avro::Metadata metadata = {{"schema", SchemaToJson(SampleSchema())},
                                   {"partition-spec", SpecFieldsToJson(spec)}};
  const Manifest read = ReadManifest(FileOf(kSchema, metadata, object.data()), "m").ValueOrDie();
  EXPECT_EQ(read.header.format_version, 1);
  EXPECT_EQ(read.header.spec.spec_id, 0);
  ASSERT_EQ(read.entries.size(), 1u);
  const ManifestEntry& entry = read.entries[0];
  EXPECT_EQ(entry.snapshot_id, 42);
  EXPECT_FALSE(entry.sequence_number.has_value());
  EXPECT_EQ(entry.file.file_path, "hdfs://a/b.parquet");
  EXPECT_EQ(entry.file.file_format, "PARQUET");
  EXPECT_EQ(entry.file.partition, std::vector<Value>{int32_t{-1}});
  EXPECT_EQ(entry.file.column_sizes, (std::map<int, int64_t>{{1, 11}, {2, 22}}));
}

TEST(ManifestForeign, HeaderErrorsNameTheKey) {
  const auto message = [](const avro::Metadata& metadata) {
    avro::ContainerWriter writer(R"({"type":"record","name":"manifest_entry","fields":[]})",
                                 metadata, avro::Codec::kNull);
    return MessageOf(ReadManifest(writer.Finish().ValueOrDie(), "m.avro").status());
  };
  EXPECT_THAT(message({}), HasSubstr("m.avro: header key \"schema\" is missing"));
  const std::string schema = SchemaToJson(SampleSchema());
  EXPECT_THAT(message({{"schema", schema}, {"content", "other"}}), HasSubstr("\"content\""));
  EXPECT_THAT(message({{"schema", schema}, {"schema-id", "1x"}}), HasSubstr("\"schema-id\""));
  EXPECT_THAT(message({{"schema", "{"}}), HasSubstr("schema"));
  EXPECT_THAT(message({{"format-version", "3"}}), HasSubstr("format version 3"));
  EXPECT_THAT(message({{"schema", schema}}), HasSubstr("no field status (id 0)"));
}

// Lists of version 1: other names of the counts, some of them null or missing.
TEST(ManifestForeign, VersionOneList) {
  constexpr std::string_view kSchema = R"({"type":"record","name":"manifest_file","fields":[
    {"name":"manifest_path","type":"string","field-id":500},
    {"name":"manifest_length","type":"long","field-id":501},
    {"name":"partition_spec_id","type":"int","field-id":502},
    {"name":"added_snapshot_id","type":["null","long"],"field-id":503},
    {"name":"added_data_files_count","type":["null","int"]},
    {"name":"existing_data_files_count","type":["null","int"],"field-id":505},
    {"name":"partitions","type":["null",{"type":"array","items":{"type":"record","name":"r508",
      "fields":[{"name":"contains_null","type":"boolean","field-id":509},
                {"name":"lower_bound","type":["null","bytes"],"field-id":510},
                {"name":"upper_bound","type":["null","bytes"],"field-id":511}]},
      "element-id":508}],"field-id":507}]})";
  avro::Encoder object;
  object.Bytes("s3://b/m.avro");
  object.Long(1234);
  object.Int(0);
  object.Branch(1);
  object.Long(42);
  object.Branch(1);
  object.Int(5);
  object.Branch(0);
  object.Branch(1);
  object.Block(1);
  object.Boolean(false);
  object.Branch(1);
  object.Bytes("low");
  object.Branch(0);
  object.Block(0);
  const auto rows = ReadManifestList(FileOf(kSchema, {}, object.data()), "l").ValueOrDie();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].manifest_path, "s3://b/m.avro");
  EXPECT_EQ(rows[0].added_snapshot_id, 42);
  EXPECT_EQ(rows[0].added_files_count, 5);
  EXPECT_EQ(rows[0].existing_files_count, kUnknownCount);
  EXPECT_EQ(rows[0].deleted_rows_count, kUnknownCount);
  EXPECT_EQ(rows[0].sequence_number, 0);
  EXPECT_EQ(rows[0].content, ManifestContent::kData);
  ASSERT_EQ(rows[0].partitions.size(), 1u);
  EXPECT_EQ(rows[0].partitions[0].lower_bound, "low");
  EXPECT_FALSE(rows[0].partitions[0].contains_nan.has_value());
}

// CASES O12: a column promoted from int to long since; partition values follow the file's header,
// whatever its Avro type was.
TEST(ManifestForeign, PartitionValuesOfNarrowerTypes) {
  ManifestHeader narrow = SampleHeader();
  narrow.schema.fields = {SampleField(1, "i", "int"), SampleField(2, "f", "float")};
  narrow.spec.fields = {SamplePartitionField(1, 1000, "i", "identity"),
                        SamplePartitionField(2, 1001, "f", "identity")};
  ManifestEntry entry = SampleEntry(1);
  entry.file.partition = {int32_t{79}, 1.5f};
  std::string bytes(ViewOf(WriteManifest(narrow, {entry}).ValueOrDie()));
  auto file = avro::ContainerReader::Open(bytes).ValueOrDie();
  // The same objects under a header whose schema has the wider types.
  avro::Metadata metadata = file.metadata();
  const std::string schema = metadata.at("avro.schema");
  metadata.erase("avro.schema");
  metadata.erase("avro.codec");
  narrow.schema.fields = {SampleField(1, "i", "long"), SampleField(2, "f", "double")};
  metadata["schema"] = SchemaToJson(narrow.schema);
  avro::Block block;
  ASSERT_TRUE(file.Next(&block).ValueOrDie());
  const Manifest read =
      ReadManifest(FileOf(schema, metadata, std::string(block.data)), "m").ValueOrDie();
  EXPECT_EQ(read.entries[0].file.partition, (std::vector<Value>{int64_t{79}, 1.5}));
  // A type that does not fit is an error, not a wrong value.
  narrow.schema.fields[0] = SampleField(1, "i", "string");
  metadata["schema"] = SchemaToJson(narrow.schema);
  const Status status =
      ReadManifest(FileOf(schema, metadata, std::string(block.data)), "m").status();
  EXPECT_THAT(MessageOf(status), HasSubstr("data_file.partition.i"));
}

}  // namespace
}  // namespace timelake::iceberg
