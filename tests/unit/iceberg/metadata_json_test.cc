#include <fstream>
#include <sstream>

#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/uuid.h"
#include "iceberg/invariants.h"
#include "iceberg/json_tree.h"
#include "iceberg/metadata.h"
#include "unit/iceberg/expect.h"
#include "unit/iceberg/metadata_sample.h"

namespace timelake::iceberg {
namespace {

constexpr int64_t kSnapshot = 5184430069070270604;

TableMetadata Sample() { return Must(ReadMetadata(kMetadataV2, "v7.metadata.json")); }

std::string Gzip(const std::string& text) {
  auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  std::string out(
      static_cast<size_t>(codec->MaxCompressedLen(static_cast<int64_t>(text.size()),
                                                  reinterpret_cast<const uint8_t*>(text.data()))),
      '\0');
  const int64_t size =
      codec
          ->Compress(static_cast<int64_t>(text.size()),
                     reinterpret_cast<const uint8_t*>(text.data()),
                     static_cast<int64_t>(out.size()), reinterpret_cast<uint8_t*>(out.data()))
          .ValueOrDie();
  out.resize(static_cast<size_t>(size));
  return out;
}

TEST(MetadataJson, ReadsEveryMember) {
  const TableMetadata m = Sample();
  EXPECT_EQ(m.format_version, 2);
  EXPECT_EQ(m.table_uuid, "0197f3c0-0000-7000-8000-000000000001");
  EXPECT_EQ(m.location, "s3://lake/ns/cpu");
  EXPECT_EQ(m.last_sequence_number, 7);
  EXPECT_EQ(m.last_updated_ms, 1767398400123);
  EXPECT_EQ(m.last_column_id, 9);
  EXPECT_EQ(CurrentSchema(m)->fields[0].doc, "when \"it\" was");
  EXPECT_EQ(CurrentSchema(m)->identifier_field_ids, std::vector<int>{1});
  EXPECT_EQ(TypeName(CurrentSchema(m)->fields[3].type), "map<string,list<fixed[4]!>>");
  EXPECT_EQ(FindAnyFieldById(*CurrentSchema(m), 7)->name, "element");
  EXPECT_EQ(DefaultSpec(m)->fields[0].transform.kind, TransformKind::kDay);
  EXPECT_EQ(DefaultSpec(m)->fields[1].transform.kind, TransformKind::kUnknown);
  EXPECT_EQ(SpecById(m, 1), nullptr);
  EXPECT_EQ(DefaultSortOrder(m)->fields[1].direction, SortDirection::kDescending);
  EXPECT_EQ(DefaultSortOrder(m)->fields[1].null_order, NullOrder::kLast);
  EXPECT_EQ(CurrentSnapshot(m)->snapshot_id, kSnapshot);
  EXPECT_EQ(CurrentSnapshot(m)->parent_snapshot_id, INT64_MAX);
  EXPECT_EQ(CurrentSnapshot(m)->operation(), "append");
  EXPECT_EQ(CurrentSnapshot(m)->schema_id, 0);
  EXPECT_EQ(SnapshotById(m, 1), nullptr);
  EXPECT_EQ(m.refs.at("main").max_snapshot_age_ms, 9007199254740993);
  EXPECT_EQ(m.refs.at("keep").type, "tag");
  EXPECT_EQ(m.snapshot_log.size(), 1u);
  EXPECT_EQ(m.metadata_log[0].timestamp_ms, 1767398300000);
}

TEST(MetadataJson, WritesBackTheSameBytes) { EXPECT_EQ(WriteMetadata(Sample()), kMetadataV2); }

TEST(MetadataJson, KeepsUnknownMembersExactly) {
  const TableMetadata m = Sample();
  const Schema& schema = m.schemas[0];
  EXPECT_EQ(schema.unknown, (UnknownFields{{"x-schema", "\"s\""}}));
  EXPECT_EQ(schema.fields[0].unknown.at("x-field"), R"({"b":1,"a":[null,true,-0.10]})");
  EXPECT_EQ(schema.fields[3].type.unknown.at("x-map"), "\"m\"");
  EXPECT_EQ(schema.fields[4].type.unknown.at("x-struct"), "1e40");
  EXPECT_EQ(m.partition_specs[0].unknown.at("x-spec"), "2");
  EXPECT_EQ(m.partition_specs[0].fields[0].unknown.at("x-part"), "1");
  EXPECT_EQ(m.snapshots[0].unknown.at("x-snap"), "[1,2]");
  EXPECT_EQ(m.sort_orders[0].unknown.at("x-order"), "null");
  EXPECT_EQ(m.sort_orders[0].fields[0].unknown.at("x-sort"), "true");
  EXPECT_EQ(m.refs.at("keep").unknown.at("x-ref"), "\"\\u0001\"");
  EXPECT_EQ(m.unknown.at("partition-statistics"), "[]");
  EXPECT_EQ(m.unknown.at("statistics"),
            R"([{"snapshot-id":5184430069070270604,"big":12345678901234567890123,)"
            R"("float":1.50e-7}])");
}

TEST(MetadataJson, OrderAndSpaceOfTheInputDoNotMatter) {
  const std::string text = R"( { "refs" : { } ,
    "current-snapshot-id" : null, "snapshots" : null, "default-sort-order-id":0,
    "sort-orders":[ {"fields":[],"order-id":0} ], "properties":{}, "last-partition-id":999,
    "default-spec-id":0, "partition-specs":[{"fields":[],"spec-id":0}], "current-schema-id":4,
    "schema":{"type":"struct","fields":[]}, "partition-spec":[],
    "schemas":[{"fields":[],"schema-id":4,"type":"struct"}], "last-column-id":0,
    "last-updated-ms":5, "last-sequence-number":0, "location":"file:///w/t/",
    "table-uuid":"u", "format-version":2 } )";
  const TableMetadata m = Must(ReadMetadata(text, "f"));
  EXPECT_EQ(m.location, "file:///w/t");
  EXPECT_EQ(CurrentSnapshot(m), nullptr);
  EXPECT_TRUE(m.unknown.empty());
  EXPECT_EQ(WriteMetadata(m),
            R"({"format-version":2,"table-uuid":"u","location":"file:///w/t",)"
            R"("last-sequence-number":0,"last-updated-ms":5,"last-column-id":0,)"
            R"("schemas":[{"type":"struct","schema-id":4,"fields":[]}],"current-schema-id":4,)"
            R"("partition-specs":[{"spec-id":0,"fields":[]}],"default-spec-id":0,)"
            R"("last-partition-id":999,"properties":{},"current-snapshot-id":-1,"snapshots":[],)"
            R"("snapshot-log":[],"metadata-log":[],"sort-orders":[{"order-id":0,"fields":[]}],)"
            R"("default-sort-order-id":0,"refs":{}})");
}

TEST(MetadataJson, LogsKeepTheirOrder) {
  TableMetadata m = Sample();
  m.snapshot_log = {{30, kSnapshot}, {10, kSnapshot}, {20, kSnapshot}};
  m.metadata_log = {{5, "b"}, {4, "a"}};
  const TableMetadata back = Must(ReadMetadata(WriteMetadata(m), "f"));
  ASSERT_EQ(back.snapshot_log.size(), 3u);
  EXPECT_EQ(back.snapshot_log[1].timestamp_ms, 10);
  EXPECT_EQ(back.metadata_log[0].metadata_file, "b");
}

TEST(MetadataJson, AddsTheMainBranch) {
  std::string text = kMetadataV2;
  const size_t refs = text.find(R"("refs":)");
  text.replace(refs, text.find(R"("partition-statistics")") - refs, "");
  const TableMetadata m = Must(ReadMetadata(text, "f"));
  ASSERT_EQ(m.refs.size(), 1u);
  EXPECT_EQ(m.refs.at("main").snapshot_id, kSnapshot);
  EXPECT_EQ(m.refs.at("main").type, "branch");
}

const char kVersion1[] =
    R"({"format-version":1,"location":"file:///w/t","last-updated-ms":9,"last-column-id":2,)"
    R"("schema":{"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int"},)"
    R"({"id":2,"name":"d","required":false,"type":"date"}]},)"
    R"("partition-spec":[{"name":"d","transform":"identity","source-id":2},)"
    R"({"name":"a_b","transform":"bucket[4]","source-id":1}],)"
    R"("current-snapshot-id":11,"snapshots":[{"snapshot-id":10,"timestamp-ms":7,)"
    R"("manifests":["file:///w/t/m1.avro","file:///w/t/m2.avro"]},)"
    R"({"snapshot-id":11,"timestamp-ms":8,"manifest-list":"file:///w/t/l.avro"}]})";

TEST(MetadataJson, Version1BecomesVersion2) {
  const TableMetadata m = Must(ReadMetadata(kVersion1, "f"));
  EXPECT_EQ(m.format_version, 1);
  EXPECT_EQ(m.table_uuid, "");
  EXPECT_EQ(m.last_sequence_number, 0);
  EXPECT_EQ(CurrentSchema(m)->fields.size(), 2u);
  EXPECT_EQ(DefaultSpec(m)->fields[0].field_id, 1000);
  EXPECT_EQ(DefaultSpec(m)->fields[1].field_id, 1001);
  EXPECT_EQ(m.last_partition_id, 1001);
  EXPECT_EQ(DefaultSortOrder(m)->order_id, 0);
  EXPECT_EQ(CurrentSnapshot(m)->sequence_number, 0);
  EXPECT_EQ(m.refs.at("main").snapshot_id, 11);
  EXPECT_EQ(m.snapshots[0].manifests.size(), 2u);

  TableMetadata upgraded = m;
  upgraded.table_uuid = "u";
  upgraded.format_version = 2;
  EXPECT_TRUE(CheckMetadata(upgraded).ok()) << CheckMetadata(upgraded).ToString();
  const std::string text = WriteMetadata(upgraded);
  const TableMetadata back = Must(ReadMetadata(text, "f"));
  EXPECT_EQ(back.format_version, 2);
  EXPECT_EQ(WriteMetadata(back), text);
  EXPECT_EQ(back.snapshots[0].manifests, m.snapshots[0].manifests);
}

TEST(MetadataJson, Version1WithTheListForms) {
  const TableMetadata m = Must(ReadMetadata(
      R"({"format-version":1,"table-uuid":"u","location":"/w/t","last-updated-ms":9,)"
      R"("last-column-id":1,"schema":{"type":"struct","fields":[]},"schemas":[)"
      R"({"type":"struct","schema-id":3,"fields":[{"id":1,"name":"a","required":true,)"
      R"("type":"int"}]}],"current-schema-id":3,"partition-spec":[],"partition-specs":[)"
      R"({"spec-id":2,"fields":[]}],"default-spec-id":2,"current-snapshot-id":-1,)"
      R"("snapshots":[]})",
      "f"));
  EXPECT_EQ(m.current_schema_id, 3);
  EXPECT_EQ(m.default_spec_id, 2);
  EXPECT_EQ(m.last_partition_id, 999);
  EXPECT_FALSE(m.current_snapshot_id.has_value());
  EXPECT_TRUE(m.refs.empty());
}

TEST(MetadataJson, ReadsGzip) {
  EXPECT_EQ(WriteMetadata(Must(ReadMetadata(Gzip(kMetadataV2), "f"))), kMetadataV2);
  // Compresses so well that the output buffer has to grow.
  TableMetadata big = Sample();
  big.properties["long"] = std::string(3'000'000, 'x');
  const std::string zipped = Gzip(WriteMetadata(big));
  EXPECT_LT(zipped.size(), 10'000u);
  EXPECT_EQ(Must(ReadMetadata(zipped, "f")).properties.at("long").size(), 3'000'000u);

  ExpectError(ReadMetadata(zipped.substr(0, zipped.size() / 2), "f").status(), ErrorKind::kCorrupt,
              "f: gzip data ends early");
  ExpectError(ReadMetadata("\x1f\x8b garbage", "f").status(), ErrorKind::kCorrupt,
              "f: not valid gzip");
}

TEST(MetadataJson, TextIsEscapedAndStaysUtf8) {
  TableMetadata m = Sample();
  m.properties["k\n\"\\\t\r\x01/"] = "\u00e9\U0001F600\x7f";
  m.properties["bad"] = "a\xff\xe2\x80z";
  const std::string text = WriteMetadata(m);
  EXPECT_NE(text.find(R"("k\n\"\\\t\r\u0001/")"), std::string::npos);
  const TableMetadata back = Must(ReadMetadata(text, "f"));
  EXPECT_EQ(back.properties.at("k\n\"\\\t\r\x01/"), "\u00e9\U0001F600\x7f");
  EXPECT_EQ(back.properties.at("bad"), "a\ufffd\ufffd\ufffdz");
}

// CASES O14
TEST(MetadataJson, SixtyFourBitIdsSurvive) {
  auto random = SeededRandom(14);
  TableMetadata m = Sample();
  for (int i = 0; i < 2'000; ++i) {
    Snapshot snapshot = m.snapshots[0];
    snapshot.snapshot_id = NewSnapshotId(*random);
    ASSERT_GT(snapshot.snapshot_id, 0);
    m.snapshots.push_back(snapshot);
  }
  const TableMetadata back = Must(ReadMetadata(WriteMetadata(m), "f"));
  ASSERT_EQ(back.snapshots.size(), m.snapshots.size());
  for (size_t i = 0; i < m.snapshots.size(); ++i) {
    ASSERT_EQ(back.snapshots[i].snapshot_id, m.snapshots[i].snapshot_id);
  }
}

TEST(SchemaJson, OfManifestHeaders) {
  const Schema schema = Must(ParseSchemaText("time:timestamptz!, v:list<double>"));
  const std::string json = SchemaToJson(schema);
  EXPECT_EQ(json,
            R"({"type":"struct","schema-id":0,"fields":[{"id":1,"name":"time","required":true,)"
            R"("type":"timestamptz"},{"id":2,"name":"v","required":false,"type":{"type":"list",)"
            R"("element-id":3,"element":"double","element-required":false}}]})");
  EXPECT_TRUE(SameFields(Must(SchemaFromJson(json, "m.avro")), schema));
  ExpectError(SchemaFromJson("[]", "m.avro").status(), ErrorKind::kCorrupt,
              "m.avro: expected an object, got an array");
  ExpectError(SchemaFromJson("{", "m.avro").status(), ErrorKind::kCorrupt, "m.avro: not valid");

  PartitionSpec spec;
  spec.fields.push_back({1, 1000, "time_day", ParseTransform("day"), {{"x", "1"}}});
  const std::string fields = SpecFieldsToJson(spec);
  EXPECT_EQ(fields,
            R"([{"source-id":1,"field-id":1000,"name":"time_day","transform":"day","x":1}])");
  EXPECT_EQ(Must(SpecFieldsFromJson(fields, "m.avro"))[0].unknown.at("x"), "1");
  EXPECT_EQ(Must(SpecFieldsFromJson(R"([{"source-id":1,"name":"a","transform":"day"}])", "m"))[0]
                .field_id,
            1000);
  EXPECT_EQ(SpecFieldsToJson(PartitionSpec{}), "[]");
}

TEST(SchemaJson, AcceptsDecimalWithSpace) {
  const char json[] =
      R"J({"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"decimal(9, 2)"}]})J";
  EXPECT_EQ(TypeName(Must(SchemaFromJson(json, "m")).fields.at(0).type), "decimal(9,2)");
}

}  // namespace
}  // namespace timelake::iceberg
