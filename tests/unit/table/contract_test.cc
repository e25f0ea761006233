#include "table/contract.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/civil_time.h"

namespace timelake::table {
namespace {

using iceberg::Schema;
using iceberg::TableMetadata;
using testing::HasSubstr;

using Properties = std::map<std::string, std::string>;

Schema SchemaOf(const char* text) { return iceberg::ParseSchemaText(text).ValueOrDie(); }

Result<TableMetadata> NewTable(const Schema& schema, const TableOptions& options) {
  return NewTableMetadata(schema, options, "file:///w/default/t/",
                          "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "cid-1", 1700000000123);
}

Result<TableMetadata> NewTable(const char* schema, const TableOptions& options) {
  return NewTable(SchemaOf(schema), options);
}

TableOptions Options(const std::string& time, std::vector<std::string> key = {}) {
  TableOptions options;
  options.time_column = time;
  options.series_key = std::move(key);
  return options;
}

TEST(NewTable, Golden) {
  TableOptions options = Options("time", {"host", "a,b"});
  options.chunk = Chunk::kHour;
  options.retention = "1d12h";
  options.ingest_time = true;
  options.properties = {{"row_group_rows", "1000"}, {"my.owner", "me"}};
  Schema schema = SchemaOf("host:string, x:int, time:timestamptz, v:list<double>");
  schema.fields[1].name = "a,b";
  const TableMetadata m = NewTable(schema, options).ValueOrDie();

  EXPECT_EQ(m.format_version, 2);
  EXPECT_EQ(m.table_uuid, "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b");
  EXPECT_EQ(m.location, "file:///w/default/t");
  EXPECT_EQ(m.last_sequence_number, 0);
  EXPECT_EQ(m.last_updated_ms, 1700000000123);
  EXPECT_EQ(m.last_column_id, 6);
  EXPECT_EQ(m.last_partition_id, 1000);
  EXPECT_EQ(m.current_schema_id, 0);
  EXPECT_EQ(m.default_spec_id, 0);
  EXPECT_EQ(m.default_sort_order_id, 1);
  EXPECT_FALSE(m.current_snapshot_id.has_value());
  EXPECT_TRUE(m.snapshots.empty() && m.refs.empty() && m.snapshot_log.empty() &&
              m.metadata_log.empty());

  ASSERT_EQ(m.schemas.size(), 1);
  EXPECT_EQ(iceberg::SchemaToJson(m.schemas[0]),
            R"({"type":"struct","schema-id":0,"fields":[)"
            R"({"id":1,"name":"host","required":false,"type":"string"},)"
            R"({"id":2,"name":"a,b","required":false,"type":"int"},)"
            R"({"id":3,"name":"time","required":true,"type":"timestamptz"},)"
            R"({"id":4,"name":"v","required":false,"type":{"type":"list","element-id":6,)"
            R"("element":"double","element-required":false}},)"
            R"({"id":5,"name":"_ingest_ts","required":true,"type":"timestamptz"}]})");
  ASSERT_EQ(m.partition_specs.size(), 1);
  EXPECT_EQ(iceberg::SpecFieldsToJson(m.partition_specs[0]),
            R"([{"source-id":3,"field-id":1000,"name":"time_hour","transform":"hour"}])");
  ASSERT_EQ(m.sort_orders.size(), 1);
  EXPECT_EQ(m.sort_orders[0].order_id, 1);
  std::vector<int> sources;
  for (const iceberg::SortField& field : m.sort_orders[0].fields) {
    sources.push_back(field.source_id);
    EXPECT_EQ(iceberg::TransformName(field.transform), "identity");
    EXPECT_EQ(field.direction, iceberg::SortDirection::kAscending);
    EXPECT_EQ(field.null_order, iceberg::NullOrder::kFirst);
  }
  EXPECT_EQ(sources, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(m.properties, (Properties{{"timelake.time-column", "time"},
                                      {"timelake.series-key", "host,\"a,b\""},
                                      {"timelake.chunk-interval", "hour"},
                                      {"timelake.dedup", "true"},
                                      {"timelake.ingest-time-column", "_ingest_ts"},
                                      {"timelake.retention", "36h"},
                                      {"timelake.format-version", "0.3.0"},
                                      {"timelake.writer", "timelake-cpp 0.1.0"},
                                      {"timelake.commit-id", "cid-1"},
                                      {"timelake.row-group-rows", "1000"},
                                      {"my.owner", "me"},
                                      {"write.format.default", "parquet"},
                                      {"write.parquet.compression-codec", "zstd"},
                                      {"write.metadata.previous-versions-max", "20"}}));
}

TEST(NewTable, IsReadBackAsItsContract) {
  TableOptions options = Options("t", {"a", "b"});
  options.chunk = Chunk::kMonth;
  options.retention = "90 days";
  options.ingest_time = true;
  const TableMetadata m = NewTable("a:string, b:double, t:timestamp", options).ValueOrDie();
  const TableMetadata read =
      iceberg::ReadMetadata(iceberg::WriteMetadata(m), "v1.metadata.json").ValueOrDie();
  const Contract c = ReadContract(read).ValueOrDie();
  EXPECT_TRUE(c.is_time_series());
  EXPECT_EQ(c.time_id, 3);
  EXPECT_EQ(c.time_name, "t");
  EXPECT_EQ(c.key_ids, (std::vector<int>{1, 2}));
  EXPECT_EQ(c.key_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(c.chunk, Chunk::kMonth);
  EXPECT_TRUE(c.dedup);
  EXPECT_EQ(c.ingest_time_id, 4);
  EXPECT_EQ(c.ingest_time_name, "_ingest_ts");
  EXPECT_EQ(c.retention_us, 90 * kMicrosPerDay);
}

TEST(NewTable, PlainTable) {
  TableOptions options;
  options.properties = {{"write.parquet.compression-codec", "lz4"}};
  const TableMetadata m = NewTable("id:long!, name:string", options).ValueOrDie();
  EXPECT_TRUE(m.schemas[0].fields[0].required);
  EXPECT_EQ(m.last_partition_id, 999);
  EXPECT_EQ(m.default_sort_order_id, 0);
  ASSERT_EQ(m.partition_specs.size(), 1);
  EXPECT_TRUE(m.partition_specs[0].fields.empty());
  ASSERT_EQ(m.sort_orders.size(), 1);
  EXPECT_EQ(m.sort_orders[0].order_id, 0);
  EXPECT_TRUE(m.sort_orders[0].fields.empty());
  EXPECT_EQ(m.properties, (Properties{{"timelake.format-version", "0.3.0"},
                                      {"timelake.writer", "timelake-cpp 0.1.0"},
                                      {"timelake.commit-id", "cid-1"},
                                      {"write.format.default", "parquet"},
                                      {"write.parquet.compression-codec", "lz4"},
                                      {"write.metadata.previous-versions-max", "20"}}));
  EXPECT_FALSE(ReadContract(m).ValueOrDie().is_time_series());
}

TEST(NewTable, DedupFollowsTheSeriesKeyUnlessGiven) {
  const auto dedup = [](TableOptions options, std::optional<bool> given) {
    options.dedup = given;
    return NewTable("t:timestamptz, a:string", options).ValueOrDie().properties.at(kDedup);
  };
  EXPECT_EQ(dedup(Options("t"), {}), "false");
  EXPECT_EQ(dedup(Options("t"), true), "true");
  EXPECT_EQ(dedup(Options("t", {"a"}), {}), "true");
  EXPECT_EQ(dedup(Options("t", {"a"}), false), "false");
}

TEST(NewTable, TakesAnIngestTimeColumnThatIsThere) {
  TableOptions options = Options("t");
  options.ingest_time = true;
  const TableMetadata m = NewTable("_ingest_ts:timestamptz, t:timestamptz", options).ValueOrDie();
  ASSERT_EQ(m.schemas[0].fields.size(), 2);
  EXPECT_TRUE(m.schemas[0].fields[0].required);
}

struct BadTable {
  const char* schema;
  TableOptions options;
  std::vector<std::string> fragments;
};

TableOptions With(TableOptions options, const std::function<void(TableOptions*)>& change) {
  change(&options);
  return options;
}

TableOptions WithProperty(const std::string& name, const std::string& value) {
  TableOptions options = Options("t");
  options.properties = {{name, value}};
  return options;
}

TEST(NewTable, Errors) {
  const char* kSchema = "t:timestamptz, a:string, n:int, l:list<int>";
  const auto dedup = [](TableOptions* o) { o->dedup = true; };
  const auto ingest = [](TableOptions* o) { o->ingest_time = true; };
  const auto retention = [](TableOptions* o) { o->retention = "90d"; };
  const std::string long_name(240, 'x');
  const std::string long_schema = long_name + ":timestamptz";
  const BadTable cases[] = {
      {kSchema, Options("time"), {"time column \"time\" is not in the schema (t, a, n, l)"}},
      {"time:timestamp", Options("tiem"), {"did you mean \"time\"?"}},
      {kSchema, Options("T"), {"time column \"T\" is not in the schema"}},
      {kSchema, Options("n"), {"time column \"n\" must be a timestamp or timestamptz, got int"}},
      {"t:date", Options("t"), {"time column \"t\"", "got date"}},
      {"t:string", Options("t"), {"got string"}},
      {kSchema, Options("t", {"host"}), {"series key column \"host\" is not in the schema"}},
      {kSchema, Options("t", {"a", "A"}), {"series key column \"A\" is not in the schema"}},
      {kSchema, Options("t", {"t"}), {"series key column \"t\" is the time column"}},
      {kSchema, Options("t", {"a", "n", "a"}), {"series key column \"a\" is given twice"}},
      {kSchema, Options("t", {"l"}), {"series key column \"l\" must be of a primitive type, got"}},
      {kSchema, Options("t", {""}), {"series key column \"\" is not in the schema"}},
      {kSchema, Options("", {"a"}), {"series key (series_key) requires a time column"}},
      {kSchema, With(Options(""), dedup), {"dedup requires a time column"}},
      {kSchema, With(Options(""), ingest), {"ingest_time requires a time column"}},
      {kSchema, With(Options(""), retention), {"retention requires a time column"}},
      {"t:timestamptz, t_day:int",
       Options("t"),
       {"column \"t_day\" has the name of the partition field of time column \"t\"",
        "another chunk interval"}},
      {long_schema.c_str(), Options(long_name), {"is too long", "at most 229"}},
      {"t:timestamptz, _ingest_ts:int",
       With(Options("t"), ingest),
       {"column \"_ingest_ts\" must be \"_ingest_ts\" of type timestamptz, got int"}},
      {"t:timestamptz, _Ingest_TS:timestamptz",
       With(Options("t"), ingest),
       {"column \"_Ingest_TS\" must be \"_ingest_ts\""}},
      {"_ingest_ts:timestamptz", With(Options("_ingest_ts"), ingest), {"is the time column"}},
      {kSchema, With(Options("t", {"_ingest_ts"}), ingest), {"is the ingest time column"}},
      {kSchema,
       With(Options("t"), [](TableOptions* o) { o->chunk = static_cast<Chunk>(7); }),
       {"chunk interval must be hour, day, month or year", "7"}},
      {"a:int, A:int", TableOptions(), {"columns \"a\" and \"A\" differ only in case"}},
      {kSchema,
       With(Options("t"), [](TableOptions* o) { o->retention = "90"; }),
       {"setting retention", "\"90\""}},
      {kSchema,
       With(Options("t"), [](TableOptions* o) { o->retention = "0s"; }),
       {"setting retention", "\"0s\"", "from 1s"}},
      {kSchema, With(WithProperty("retention", "1d"), retention), {"retention is given twice"}},
      {kSchema,
       With(Options(""),
            [](TableOptions* o) {
              o->properties = {{"retention", "9d"}};
            }),
       {"setting retention requires a time column"}},
      {kSchema, WithProperty("row-group-rows", "0"), {"row-group-rows", "1 .. 2147483647"}},
      {kSchema, WithProperty("row_group_row", "5"), {"did you mean row-group-rows?"}},
      {kSchema, WithProperty("owner", "me"), {"unknown setting \"owner\""}},
      {kSchema, WithProperty("chunk-interval", "hour"), {"by its options (chunk)"}},
      {kSchema, WithProperty("timelake.format-version", "9.0.0"), {"by Timelake itself"}},
      {kSchema, WithProperty("write.parquet.compression-codec", "x"), {"\"x\"", "zstd, lz4"}},
      {kSchema, WithProperty("write.parquet.compression-level", "99"), {"\"99\"", "1 .. 22"}},
      {kSchema, WithProperty("delete-min-age", "2h"), {"must not be above metadata-min-age"}},
      {kSchema, WithProperty("head-format", "true"), {"not one that this version"}},
      {kSchema,
       With(Options("t"),
            [](TableOptions* o) {
              o->properties = {{"row_group_rows", "1"}, {"timelake.row-group-rows", "2"}};
            }),
       {"is given twice"}},
      {kSchema,
       With(Options("t"),
            [](TableOptions* o) {
              o->properties = {{"write.parquet.compression-codec", "lz4"},
                               {"write.parquet.compression-level", "3"}};
            }),
       {"lz4 has no levels"}},
  };
  for (const BadTable& c : cases) {
    SCOPED_TRACE(c.fragments[0]);
    const Result<TableMetadata> made = NewTable(c.schema, c.options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(KindOf(made.status()), ErrorKind::kInvalidArgument);
    for (const std::string& fragment : c.fragments) {
      EXPECT_THAT(MessageOf(made.status()), HasSubstr(fragment));
    }
  }
}

TEST(NewTable, ColumnNames) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "has no name"},
      {"a\nb", "has control characters"},
      {std::string("a\0b", 3), "control characters"},
      {"a\xFF", "is not valid UTF-8"},
      {"b", "column \"b\" is there twice"},
      {"B", "differ only in case"},
  };
  for (const auto& [name, fragment] : cases) {
    Schema schema = SchemaOf("a:int, b:int");
    schema.fields[0].name = name;
    EXPECT_THAT(NewTable(schema, {}).status().message(), HasSubstr(fragment));
    // The same inside a struct.
    Schema outer;
    outer.fields.resize(1);
    outer.fields[0].name = "s";
    outer.fields[0].type.id = iceberg::TypeId::kStruct;
    outer.fields[0].type.fields = schema.fields;
    EXPECT_THAT(NewTable(outer, {}).status().message(), HasSubstr(fragment));
  }
  EXPECT_THAT(NewTable(Schema(), {}).status().message(), HasSubstr("has no columns"));
}

TEST(ReadContract, PeersTable) {
  TableMetadata m = NewTable("time:timestamptz, host:string", Options("time")).ValueOrDie();
  // What the least of a contract looks like, with the defaults of the peer.
  m.properties = {{kTimeColumn, "time"}, {kSeriesKey, "host"}, {kRetention, "2 w"}};
  Contract c = ReadContract(m).ValueOrDie();
  EXPECT_TRUE(c.dedup);
  EXPECT_EQ(c.chunk, Chunk::kDay);
  EXPECT_FALSE(c.ingest_time_id.has_value());
  EXPECT_EQ(c.retention_us, 14 * kMicrosPerDay);
  m.properties.erase(kSeriesKey);
  m.properties[kRetention] = "for ever";
  c = ReadContract(m).ValueOrDie();
  EXPECT_FALSE(c.dedup);
  EXPECT_FALSE(c.retention_us.has_value());
}

TEST(ReadContract, RenamedColumnsAreFoundById) {
  TableMetadata m =
      NewTable("time:timestamptz, host:string, v:int", Options("time", {"host"})).ValueOrDie();
  Schema renamed = m.schemas[0];
  renamed.schema_id = 1;
  renamed.fields[0].name = "ts";
  renamed.fields[1].name = "machine";
  m.schemas.push_back(renamed);
  m.current_schema_id = 1;
  const Contract c = ReadContract(m).ValueOrDie();
  EXPECT_EQ(c.time_id, 1);
  EXPECT_EQ(c.time_name, "ts");
  EXPECT_EQ(c.key_names, std::vector<std::string>{"machine"});
}

TEST(ReadContract, Errors) {
  struct {
    const char* key;
    const char* value;  // null: erased
    ErrorKind kind;
    const char* fragment;
  } cases[] = {
      {kTimeColumn, "ts", ErrorKind::kCorrupt, "timelake.time-column: column \"ts\" is not in"},
      {kTimeColumn, "v", ErrorKind::kCorrupt, "column \"v\" is of type int, not a timestamp"},
      {kTimeColumn, nullptr, ErrorKind::kCorrupt, "timelake.series-key, but not"},
      {kSeriesKey, "host,x", ErrorKind::kCorrupt, "timelake.series-key: column \"x\" is not in"},
      {kSeriesKey, "host,", ErrorKind::kCorrupt, "timelake.series-key"},
      {kSeriesKey, "l", ErrorKind::kCorrupt, "cannot be in a series key"},
      {kSeriesKey, "time", ErrorKind::kCorrupt, "cannot be in a series key"},
      {kChunkInterval, "week", ErrorKind::kCorrupt,
       "must be hour, day, month or year, got \"week\""},
      {kDedup, "maybe", ErrorKind::kCorrupt, "timelake.dedup: \"maybe\""},
      {kIngestTimeColumn, "host", ErrorKind::kCorrupt, "column \"host\" is of type string"},
      {kFormatVersion, "0.3.1", ErrorKind::kUnsupported,
       "format 0.3.1, and timelake 0.1.0 understands formats up to 0.3.0"},
      {kFormatVersion, "0.10.0", ErrorKind::kUnsupported, "format 0.10.0"},
      {kFormatVersion, "1.0.0", ErrorKind::kUnsupported, "format 1.0.0"},
      {kFormatVersion, "0.3", ErrorKind::kCorrupt, "\"0.3\" is not a version"},
      {kFormatVersion, "0.3.0.1", ErrorKind::kCorrupt, "is not a version"},
      {kFormatVersion, "0.3.-1", ErrorKind::kCorrupt, "is not a version"},
      {kFormatVersion, "", ErrorKind::kCorrupt, "is not a version"},
  };
  const TableMetadata good =
      NewTable("time:timestamptz, host:string, v:int, l:list<int>", Options("time", {"host"}))
          .ValueOrDie();
  for (const auto& c : cases) {
    TableMetadata m = good;
    m.properties.erase(c.key);
    if (c.value != nullptr) m.properties[c.key] = c.value;
    const Result<Contract> contract = ReadContract(m);
    ASSERT_FALSE(contract.ok()) << c.fragment;
    EXPECT_EQ(KindOf(contract.status()), c.kind) << c.fragment;
    EXPECT_THAT(MessageOf(contract.status()), HasSubstr(c.fragment));
  }
  for (const char* version : {"0.1.0", "0.2.9", "0.3.0"}) {
    TableMetadata m = good;
    m.properties[kFormatVersion] = version;
    EXPECT_TRUE(ReadContract(m).ok()) << version;
  }
}

TEST(Chunks, Names) {
  for (const char* name : {"hour", "day", "month", "year"}) {
    EXPECT_EQ(ChunkName(ParseChunk(name).ValueOrDie()), name);
  }
  for (const char* name : {"", "Day", "days", "week", "years"}) {
    EXPECT_EQ(MessageOf(ParseChunk(name).status()),
              std::string("chunk interval must be hour, day, month or year, got \"") + name + '"');
  }
}

TEST(TableNames, Parse) {
  const TableName plain = ParseTableName("cpu").ValueOrDie();
  EXPECT_EQ(plain.name_space, "default");
  EXPECT_EQ(plain.table, "cpu");
  EXPECT_EQ(plain.full(), "default.cpu");
  EXPECT_EQ(ParseTableName("My-ns_1.T-2_").ValueOrDie().full(), "My-ns_1.T-2_");
  EXPECT_TRUE(ParseTableName(std::string(200, 'a') + "." + std::string(200, 'b')).ok());
  for (const char* name : {"", ".", "a.", ".a", "..", "a.b.c", "a b", "a/b", "../a", "\xC3\xA4",
                           "a\n", "a:b", "a%b", " a"}) {
    const Status status = ParseTableName(name).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << name;
    EXPECT_THAT(MessageOf(status), HasSubstr("must be [namespace.]table using [A-Za-z0-9_-]"));
  }
  for (const std::string& name : {std::string(201, 'a'), std::string(201, 'a') + ".b"}) {
    EXPECT_THAT(ParseTableName(name).status().message(), HasSubstr("is too long: 200 characters"));
  }
}

}  // namespace
}  // namespace timelake::table
