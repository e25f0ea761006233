#include <gtest/gtest.h>

#include "iceberg/metadata.h"
#include "unit/iceberg/expect.h"
#include "unit/iceberg/metadata_sample.h"

namespace timelake::iceberg {
namespace {

// The sample with the first `from` replaced.
std::string With(std::string_view from, std::string_view to) {
  std::string text = kMetadataV2;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

struct Case {
  std::string text;
  const char* message;
  ErrorKind kind = ErrorKind::kCorrupt;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    ExpectError(ReadMetadata(c.text, "v3.metadata.json").status(), c.kind, c.message);
  }
}

// CASES O14: 64-bit numbers are exact, or an error names the field.
TEST(MalformedMetadata, Numbers) {
  const char kId[] = R"("snapshots":[{"snapshot-id":5184430069070270604)";
  auto snapshot_id = [&kId](const std::string& to) {
    return With(kId, R"("snapshots":[{"snapshot-id":)" + to);
  };
  ExpectAll({
      {snapshot_id("9223372036854775808"),
       "v3.metadata.json: snapshots[0].snapshot-id: expected a 64-bit integer, got "
       "9223372036854775808"},
      {snapshot_id("-9223372036854775809"), "snapshots[0].snapshot-id: expected a 64-bit integer"},
      {snapshot_id("99999999999999999999999"), "got 99999999999999999999999"},
      {snapshot_id("4.59e+18"),
       "snapshots[0].snapshot-id: expected a 64-bit integer, got 4.59e+18"},
      {snapshot_id("5.0"), "got 5.0"},
      {snapshot_id("1e3"), "got 1e3"},
      {snapshot_id("null"), "snapshots[0].snapshot-id: null is not allowed"},
      {snapshot_id("\"5\""), "expected a 64-bit integer, got the string \"5\""},
      {snapshot_id("true"), "expected a 64-bit integer, got true"},
      {snapshot_id("[5]"), "expected a 64-bit integer, got an array"},
      {snapshot_id("{}"), "expected a 64-bit integer, got an object"},
      {With(kId, R"("snapshots":[{"snapshotid":1)"), "snapshots[0].snapshot-id: missing"},
      {With(R"("last-column-id":9)", R"("last-column-id":2147483648)"),
       "last-column-id: expected a 32-bit integer, got 2147483648"},
      {With(R"("last-sequence-number":7)", R"("last-sequence-number":7.5)"),
       "last-sequence-number: expected a 64-bit integer, got 7.5"},
      {With(R"("current-snapshot-id":5184430069070270604)",
            R"("current-snapshot-id":5184430069070270656.0)"),
       "current-snapshot-id: expected a 64-bit integer"},
      {With(R"("max-ref-age-ms":86400000)", R"("max-ref-age-ms":8.64e7)"),
       "refs.keep.max-ref-age-ms: expected a 64-bit integer, got 8.64e7"},
      {With(R"("min-snapshots-to-keep":3)", R"("min-snapshots-to-keep":3000000000)"),
       "refs.main.min-snapshots-to-keep: expected a 32-bit integer"},
      {With(R"("snapshot-log":[{"snapshot-id":5184430069070270604)",
            R"("snapshot-log":[{"snapshot-id":null)"),
       "snapshot-log[0].snapshot-id: null is not allowed"},
  });
}

TEST(MalformedMetadata, Json) {
  ExpectAll({
      {"", "v3.metadata.json: not valid JSON: parse error at line 1, column 1"},
      {"nonsense", "not valid JSON"},
      {std::string(kMetadataV2).substr(0, 700), "not valid JSON: parse error at line 1"},
      {std::string(kMetadataV2) + "x", "not valid JSON"},
      {std::string(kMetadataV2) + "{}", "not valid JSON"},
      {With("s3://lake", "s3://\xff"), "ill-formed UTF-8 byte"},
      {With("s3://lake", "s3://\n"), "not valid JSON"},
      {With("s3://lake", "\\ud800"), "not valid JSON"},
      {With("9007199254740993", "09"), "not valid JSON"},
      {With("9007199254740993", "NaN"), "not valid JSON"},
      {With("9007199254740993", "1e999"), "not valid JSON"},
      {With(R"("last-sequence-number":7)", R"("location":"again","last-sequence-number":7)"),
       "member \"location\" is there twice"},
      {"[]", "v3.metadata.json: expected an object, got an array"},
      {"7", "v3.metadata.json: expected an object, got 7"},
      {"null", "expected an object, got null"},
  });
}

TEST(MalformedMetadata, DepthAndSize) {
  const std::string open(100'000, '[');
  ExpectAll({
      {open, "nested deeper than 256 levels"},
      {With("[1,2]", open + std::string(100'000, ']')), "nested deeper than 256 levels"},
  });
  std::string deep = "\"int\"";
  for (int i = 0; i < 70; ++i) {
    deep = R"({"type":"list","element-id":)" + std::to_string(100 + i) +
           R"(,"element-required":true,"element":)" + deep + "}";
  }
  ExpectAll({{With(R"("type":"long")", R"("type":)" + deep), "types nest deeper than 64 levels"}});
}

TEST(MalformedMetadata, Members) {
  ExpectAll({
      {"{}", "v3.metadata.json: format-version: missing"},
      {With(R"("format-version":2)", R"("format-version":0)"), "expected 1 or 2, got 0"},
      {With(R"("format-version":2)", R"("format-version":"2")"), "format-version: expected a 32"},
      {With(R"("format-version":2)", R"("format-version":3)"), "format version 3 is newer",
       ErrorKind::kUnsupported},
      {With(R"("table-uuid":)", R"("uuid":)"), "table-uuid: missing"},
      {With(R"("location":"s3://lake/ns/cpu")", R"("location":7)"),
       "location: expected a string, got 7"},
      {With(R"("schemas":)", R"("schemes":)"), "schemas: missing"},
      {With(R"("current-schema-id":0)", R"("current-schema-id":5)"),
       "current-schema-id: 5 is not in schemas"},
      {With(R"("default-spec-id":0)", R"("default-spec-id":5)"),
       "default-spec-id: 5 is not in partition-specs"},
      {With(R"("default-sort-order-id":1)", R"("default-sort-order-id":5)"),
       "default-sort-order-id: 5 is not in sort-orders"},
      {With(R"("sort-orders":)", R"("orders":)"), "sort-orders: missing"},
      {With(R"("last-partition-id":1001,)", ""), "last-partition-id: missing"},
      {With(R"("current-snapshot-id":5184430069070270604)", R"("current-snapshot-id":12)"),
       "current-snapshot-id: 12 is not in snapshots"},
      {With(R"("current-snapshot-id":5184430069070270604)", R"("current-snapshot-id":-1)"),
       "refs.main points at snapshot 5184430069070270604, current-snapshot-id is -1"},
      {With(R"("properties":{"a":"b")", R"("properties":{"a b":7)"),
       "properties[\"a b\"]: expected a string, got 7"},
      {With(R"("properties":{)", R"("properties":[],"p":{)"), "properties: expected an object"},
      {With(R"("total-records":"4")", R"("total-records":4)"),
       "snapshots[0].summary.total-records: expected a string, got 4"},
      {With(R"("manifest-list":)", R"("manifest-lisp":)"),
       "snapshots[0]: manifest-list is missing"},
      {With(R"("type":"tag")", R"("type":"twig")"),
       "refs.keep.type: expected branch or tag, got the string \"twig\""},
      {With(R"("refs":{)", R"("refs":[],"r":{)"), "refs: expected an object, got an array"},
      {With(R"("snapshots":[{)", R"("snapshots":[7,{)"), "snapshots[0]: expected an object"},
      {With(R"("metadata-log":[{"metadata-file":)", R"("metadata-log":[{"file":)"),
       "metadata-log[0].metadata-file: missing"},
      {With(R"("direction":"asc")", R"("direction":"up")"),
       "sort-orders[0].fields[0].direction: expected asc or desc"},
      {With(R"("null-order":"nulls-last")", R"("null-order":"last")"),
       "sort-orders[0].fields[1].null-order: expected nulls-first or nulls-last"},
      {With(R"("field-id":1000,)", ""), "partition-specs[0].fields[0].field-id: missing"},
      {With(R"("transform":"day")", R"("transform":7)"),
       "partition-specs[0].fields[0].transform: expected a string"},
      {With(R"("partition-specs":[)", R"("partition-specs":[{"spec-id":0,"fields":[]},)"),
       "partition-specs: id 0 is there twice"},
      {With(R"("snapshots":[)",
            R"("snapshots":[{"snapshot-id":5184430069070270604,"timestamp-ms":1,)"
            R"("manifest-list":"x"},)"),
       "snapshots: id 5184430069070270604 is there twice"},
  });
}

TEST(MalformedMetadata, Schemas) {
  ExpectAll({
      {With(R"("type":"timestamptz")", R"("type":"timestamptzz")"),
       "schemas[0].fields[0].type: unknown type \"timestamptzz\""},
      {With(R"("type":"timestamptz")", R"("type":7)"), "fields[0].type: expected a type"},
      {With(R"("type":"timestamptz")", R"("type":"timestamptz_ns")"),
       "schemas[0].fields[0].type: type \"timestamptz_ns\" belongs to format version 3",
       ErrorKind::kUnsupported},
      {With(R"("type":"timestamptz")", R"("type":"INT")"), "unknown type \"INT\""},
      {With(R"({"type":"map")", R"({"type":"maps")"), "unknown type \"maps\", expected struct"},
      {With(R"("element-id":7)", R"("element-id":"7")"),
       "schemas[0].fields[3].type.value.element-id: expected a 32-bit integer"},
      {With(R"("element-required":true)", R"("element-required":1)"),
       "element-required: expected true or false, got 1"},
      {With(R"("key":"string",)", ""), "schemas[0].fields[3].type.key: missing"},
      {With(R"({"id":2,)", R"({"id":1,)"),
       "schemas[0]: columns \"time\" and \"host\" have the same field id 1"},
      {With(R"("name":"host")", R"("name":"time")"), "schemas[0]: column \"time\" is there twice"},
      {With("decimal(9,2)", "decimal(39,2)"), "decimal precision 39"},
      {With("decimal(9,2)", "decimal(9)"), "unknown type \"decimal(9)\""},
      {With("fixed[4]", "fixed[0]"), "fixed length 0"},
      {With(R"("identifier-field-ids":[1])", R"("identifier-field-ids":[77])"),
       "identifier field id 77"},
      {With(R"("required":true)", R"("required":null)"), "fields[0].required: null is not allowed"},
      {With(R"("doc":")", R"("doc":7,"d":")"), "schemas[0].fields[0].doc: expected a string"},
      {With(R"("schemas":[{"type":"struct")", R"("schemas":[{"type":"list")"),
       "schemas[0]: a schema must be a struct"},
  });
}

// Every cut and many one-byte changes: an error or a table, never a crash (run with sanitizers).
TEST(MalformedMetadata, DamagedBytes) {
  const std::string text = kMetadataV2;
  for (size_t length = 0; length < text.size(); length += 3) {
    EXPECT_FALSE(ReadMetadata(text.substr(0, length), "f").ok()) << length;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    for (char c : {'"', '{', '9', '\xff'}) {
      std::string damaged = text;
      damaged[at] = c;
      auto read = ReadMetadata(damaged, "f");
      if (read.ok()) {
        EXPECT_TRUE(ReadMetadata(WriteMetadata(*read), "f").ok()) << at << c;
      }
    }
  }
}

}  // namespace
}  // namespace timelake::iceberg
