#include "table/settings.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/civil_time.h"
#include "timelake/lake.h"

namespace timelake::table {
namespace {

using Properties = std::map<std::string, std::string>;
using testing::HasSubstr;

std::string ErrorOf(const Result<std::string>& result) {
  if (result.ok()) return "accepted";
  EXPECT_EQ(KindOf(result.status()), ErrorKind::kInvalidArgument);
  return MessageOf(result.status());
}

struct ValueCase {
  const char* name;
  unsigned levels;
  std::vector<std::string> good;
  std::vector<std::string> bad;
  const char* accepted;  // part of the message
};

const unsigned kLayout = kAtTable | kAtCall;

const ValueCase kValues[] = {
    {"time-column", kAtCreate, {"time", "my time"}, {"", "\xFF"}, "text"},
    {"series-key", kAtCreate, {"a", "a,b", "a,\"b,c\""}, {"", " ", "a,", "\"a"}, "column names"},
    {"chunk-interval",
     kAtCreate,
     {"hour", "day", "month", "year"},
     {"", "week", "Day", "1d"},
     "hour, day, month, year"},
    {"dedup", kAtCreate, {"true", "false"}, {"", "yes", "TRUE", "1", "true "}, "true or false"},
    {"ingest-time-column", kAtCreate, {"_ingest_ts"}, {""}, "text"},
    {"retention",
     kAtCreate | kAtTable,
     {"90d", "90 days", "1d12h", "1s", "2w", "1y"},
     {"", "0s", "90", "-1d", "3 months", "999ms", "1000000y", "forever"},
     "a duration from 1s"},
    {"target-file-size-bytes",
     kLayout,
     {"1024", "268435456", "1099511627776"},
     {"", "0", "1023", "-5", "256MiB", "1e9", " 2048", "99999999999999999999"},
     "1024 .. "},
    {"row-group-rows",
     kLayout,
     {"1", "1048576", "2147483647"},
     {"", "0", "-1", "2147483648", "1,000", "0x10", "1.0"},
     "1 .. 2147483647"},
    {"data-page-rows", kLayout, {"1", "20000"}, {"0", "-1", "many"}, "1 .. 2147483647"},
    {"dictionary-page-bytes",
     kLayout,
     {"1024", "1048576"},
     {"0", "1", "1073741825"},
     "1024 .. 1073741824"},
    {"float-encoding",
     kLayout,
     {"auto", "dictionary", "byte-stream-split"},
     {"", "plain", "Auto"},
     "auto, dictionary, byte-stream-split"},
    {"integer-encoding",
     kLayout,
     {"auto", "dictionary", "delta-binary-packed"},
     {"", "delta", "plain"},
     "auto, dictionary, delta-binary-packed"},
    {"string-encoding",
     kLayout,
     {"auto", "dictionary", "plain", "delta-length-byte-array", "delta-byte-array"},
     {"", "delta", "byte-stream-split"},
     "auto, dictionary, plain, delta-length-byte-array, delta-byte-array"},
    {"bloom-columns", kLayout, {"a", "a, b", "\"a,b\""}, {"", " ", "a,", "\"a"}, "column names"},
    {"write.parquet.compression-codec",
     kLayout,
     {"zstd", "lz4", "snappy", "gzip", "brotli", "uncompressed"},
     {"", "x", "ZSTD", "lzo", "none"},
     "zstd, lz4, snappy, gzip, brotli, uncompressed"},
    {"write.parquet.compression-level",
     kLayout,
     {"0", "1", "22"},
     {"", "99", "23", "-1", "max"},
     "1 .. 22 with zstd, 1 .. 9 with gzip, 0 .. 11 with brotli"},
    {"write.format.default", kAtTable, {"parquet"}, {"", "orc", "avro", "Parquet"}, "parquet"},
    {"write.object-storage.enabled",
     kAtTable,
     {"true", "false"},
     {"", "1", "yes"},
     "true or false"},
    {"read-dedup", kAtTable | kAtSession, {"true", "false"}, {"", "yes", "1"}, "true or false"},
    {"latest-from-index", kAtTable | kAtSession, {"true", "false"}, {"", "on"}, "true or false"},
    {"rollup-routing", kAtTable | kAtSession, {"true", "false"}, {"", "on"}, "true or false"},
    {"aggregates-from-metadata",
     kAtTable | kAtSession,
     {"true", "false"},
     {"", "on"},
     "true or false"},
    {"version-check-interval",
     kAtTable | kAtSession,
     {"0s", "250ms", "1d"},
     {"", "1", "25h", "off"},
     "a duration from 0s to 1d"},
    {"write-memory-bytes",
     kAtTable | kAtSession | kAtCall,
     {"65536", "1073741824"},
     {"", "0", "65535", "1GiB"},
     "65536 .. "},
    {"temp-directory", kAtSession | kAtCall, {"/var/tmp"}, {"", "\xFF"}, "text"},
    {"new-columns", kLayout, {"error", "add"}, {"", "Add", "true"}, "error, add"},
    {"max-future",
     kLayout,
     {"1d", "10y", "1ms", "off"},
     {"", "0s", "1", "never", "OFF", "-1d"},
     "or off"},
    {"on-expired", kLayout, {"error", "skip", "keep"}, {"", "drop", "Skip"}, "error, skip, keep"},
    {"commit-timeout",
     kAtTable | kAtSession | kAtCall,
     {"60s", "50ms", "1d"},
     {"", "0s", "60", "2d"},
     "a duration from 1ms to 1d"},
    {"shared", kAtTable, {"true", "false"}, {"", "True", "0"}, "true or false"},
    {"batch-id-retention", kAtTable, {"24h", "0s"}, {"", "24", "-1h"}, "a duration from 0s"},
    {"commit.manifest.target-size-bytes",
     kAtTable,
     {"8388608", "1024"},
     {"", "0", "8MB"},
     "1024 .. "},
    {"auto-maintain",
     kAtTable | kAtSession | kAtCall,
     {"true", "false"},
     {"", "on", "1"},
     "true or false"},
    {"auto-maintain-bytes",
     kAtTable | kAtSession | kAtCall,
     {"0", "67108864"},
     {"", "-1", "64MiB"},
     "0 .. "},
    {"compact-min-files", kLayout, {"2", "8"}, {"", "0", "1", "many"}, "2 .. 2147483647"},
    {"compact-cold-after", kLayout, {"1h", "0s", "off"}, {"", "1", "never", "-1h"}, "or off"},
    {"rollup-refresh-interval", kAtTable, {"1m", "0s", "off"}, {"", "1", "-1h"}, "or off"},
    {"chunk-tiers",
     kAtTable,
     {"hour:2d, day:90d, month", "day:1y,year", "day"},
     {"", "hour:2d", "week:2d, month", "day:1d, hour", "hour:0s, day"},
     "spans that grow"},
    {"snapshot-retention", kAtTable, {"1h", "0s"}, {"", "1", "1 month"}, "a duration from 0s"},
    {"min-snapshots", kAtTable, {"1", "100"}, {"", "0", "-1", "five"}, "1 .. 2147483647"},
    {"max-snapshots", kAtTable, {"1", "100"}, {"", "0", "-1"}, "1 .. 2147483647"},
    {"keep-snapshots-until",
     kAtTable,
     {"0", "1796000000000"},
     {"", "-1", "2027-01-01", "7d"},
     "a whole number from 0"},
    {"metadata-min-age", kAtTable, {"1h", "10ms"}, {"", "0s", "9ms", "1"}, "a duration from 10ms"},
    {"delete-min-age", kAtTable, {"1h", "10ms"}, {"", "0s", "1"}, "a duration from 10ms"},
    {"write.metadata.previous-versions-max",
     kAtTable,
     {"1", "20"},
     {"", "0", "-1", "all"},
     "1 .. 2147483647"},
    {"format-version", kManaged, {}, {"0.3.0"}, ""},
    {"writer", kManaged, {}, {"me"}, ""},
    {"commit-id", kManaged, {}, {"x"}, ""},
    {"rollups", kManaged, {}, {"a.b"}, ""},
    {"rollup-tables", kManaged, {}, {"a.b"}, ""},
    {"rollup-definition", kManaged, {}, {"{}"}, ""},
    {"rollup-source", kManaged, {}, {"a.b"}, ""},
    {"rollup-bucket", kManaged, {}, {"1h"}, ""},
    {"rollup-aggregates", kManaged, {}, {"[]"}, ""},
    {"batch-id-log", kManaged, {}, {"x"}, ""},
    {"dropped", kManaged, {}, {"true"}, ""},
};

constexpr SettingLevel kLevels[] = {kAtCreate, kAtTable, kAtSession, kAtCall};

TEST(Settings, ThisTestCoversTheRegistryInItsOrder) {
  std::vector<std::string> expected;
  for (const ValueCase& c : kValues) expected.push_back(c.name);
  std::vector<std::string> names;
  for (const SettingDef& def : Registry()) names.emplace_back(def.name);
  EXPECT_EQ(names, expected);
}

TEST(Settings, RegistryIsConsistent) {
  std::set<std::string_view> keys;
  for (const SettingDef& def : Registry()) {
    SCOPED_TRACE(def.name);
    EXPECT_TRUE(keys.insert(def.property).second);
    const bool iceberg = def.name.find('.') != std::string_view::npos;
    EXPECT_EQ(def.property, iceberg ? std::string(def.name) : "timelake." + std::string(def.name));
    EXPECT_TRUE(def.description.ends_with('.'));
    EXPECT_EQ(FindSetting(def.name), &def);
    EXPECT_EQ(FindSetting(def.property), &def);
    const SettingLevel level = def.levels & kAtTable ? kAtTable : kAtCreate;
    if (!def.default_value.empty() && def.levels != kManaged) {
      EXPECT_EQ(CheckSetting(def.name, def.default_value, level).ValueOrDie(), def.property);
    }
  }
}

TEST(Settings, ValuesAtEveryLevel) {
  for (const ValueCase& c : kValues) {
    const SettingDef* def = FindSetting(c.name);
    ASSERT_NE(def, nullptr) << c.name;
    EXPECT_EQ(def->levels, c.levels) << c.name;
    for (SettingLevel level : kLevels) {
      SCOPED_TRACE(std::string(c.name) + " at level " + std::to_string(level));
      const bool has_level =
          (c.levels & level) != 0 || (level == kAtCreate && (c.levels & kAtTable) != 0);
      for (const std::string& value : c.good) {
        const Result<std::string> key = CheckSetting(c.name, value, level);
        if (has_level) {
          ASSERT_TRUE(key.ok()) << key.status().ToString();
          EXPECT_EQ(*key, def->property);
        } else {
          EXPECT_THAT(ErrorOf(key), HasSubstr(c.name));
        }
      }
      for (const std::string& value : c.bad) {
        SCOPED_TRACE("value '" + value + "'");
        const std::string error = ErrorOf(CheckSetting(c.name, value, level));
        EXPECT_THAT(error, HasSubstr(std::string("setting ") + c.name));
        if (!has_level) continue;
        EXPECT_THAT(error, HasSubstr(c.accepted));
        if (value != "\xFF") {
          EXPECT_THAT(error, HasSubstr(value.starts_with('"') ? "\\\"" : '"' + value));
        }
      }
    }
  }
}

TEST(Settings, MessagesOfWrongLevels) {
  EXPECT_EQ(ErrorOf(CheckSetting("chunk_interval", "hour", kAtTable)),
            "setting chunk-interval is fixed when the table is created, by its options (chunk)");
  EXPECT_EQ(ErrorOf(CheckSetting("timelake.time-column", "t", kAtCall)),
            "setting time-column is fixed when the table is created, by its options (time_column)");
  EXPECT_EQ(ErrorOf(CheckSetting("format-version", "0.4.0", kAtTable)),
            "setting format-version is set by Timelake itself, not by hand");
  EXPECT_EQ(ErrorOf(CheckSetting("row-group-rows", "1000", kAtSession)),
            "setting row-group-rows can't be set at the session level, only at: table, call");
  EXPECT_EQ(ErrorOf(CheckSetting("retention", "90d", kAtCall)),
            "setting retention can't be set at the call level, only at: create, table");
  EXPECT_EQ(ErrorOf(CheckSetting("row-group-rows", "0", kAtCall)),
            "setting row-group-rows: \"0\" is not accepted; accepted: 1 .. 2147483647");
  EXPECT_EQ(ErrorOf(CheckSetting("retention", "3 months", kAtTable)),
            "setting retention: duration \"3 months\": \"months\" is not a unit; write whole "
            "numbers with units y (365 days), w, d, h, m, s, ms or us, such as 90d or 1h30m; "
            "accepted: a duration from 1s to 365000d");
}

TEST(Settings, Spellings) {
  for (const char* name :
       {"row-group-rows", "row_group_rows", "timelake.row-group-rows", "timelake.row_group_rows"}) {
    EXPECT_EQ(CheckSetting(name, "5", kAtTable).ValueOrDie(), "timelake.row-group-rows") << name;
  }
  EXPECT_EQ(CheckSetting("write.parquet.compression_codec", "lz4", kAtCall).ValueOrDie(),
            "write.parquet.compression-codec");
  struct {
    const char* name;
    const char* fragment;
  } unknown[] = {
      {"row-group-row", "did you mean row-group-rows?"},
      {"Row-Group-Rows", "did you mean row-group-rows?"},
      {"timelake.retentoin", "did you mean retention?"},
      {"Timelake.Retention", "did you mean retention?"},
      {"Write.Format.Default", "did you mean write.format.default?"},
      {"timelake.write.format.default", "unknown setting \"timelake.write.format.default\""},
      {"compression", "unknown setting \"compression\" (`timelake settings` lists them)"},
      {"timelake.owner", "unknown setting \"timelake.owner\" (`"},
      {"timelake.", "unknown setting"},
      {"", "unknown setting \"\""},
  };
  for (const auto& c : unknown) {
    for (SettingLevel level : kLevels) {
      EXPECT_THAT(ErrorOf(CheckSetting(c.name, "1", level)), HasSubstr(c.fragment)) << c.name;
    }
    EXPECT_THAT(ErrorOf(CheckUnset(c.name)), HasSubstr("unknown setting")) << c.name;
  }
}

TEST(Settings, OthersProperties) {
  for (SettingLevel level : {kAtCreate, kAtTable}) {
    EXPECT_EQ(CheckSetting("write.target-file-size-bytes", "x", level).ValueOrDie(),
              "write.target-file-size-bytes");
    EXPECT_EQ(CheckSetting("my_team.owner", "", level).ValueOrDie(), "my_team.owner");
    EXPECT_THAT(ErrorOf(CheckSetting("a.b", "\xFF", level)), HasSubstr("not valid UTF-8"));
    EXPECT_THAT(ErrorOf(CheckSetting("a.\xFF", "", level)), HasSubstr("not UTF-8"));
    EXPECT_THAT(ErrorOf(CheckSetting("a.\n", "", level)), HasSubstr("control characters"));
  }
  for (SettingLevel level : {kAtSession, kAtCall}) {
    EXPECT_THAT(ErrorOf(CheckSetting("my_team.owner", "", level)), HasSubstr("unknown setting"));
  }
}

TEST(Settings, ThePeersSettingsAreKnownButNotTaken) {
  for (const char* name :
       {"in_list_pruning", "timelake.newest-first", "head-format", "read-dedup-strategy"}) {
    for (SettingLevel level : kLevels) {
      EXPECT_THAT(ErrorOf(CheckSetting(name, "true", level)),
                  HasSubstr("is not one that this version of Timelake has"));
    }
  }
  EXPECT_EQ(CheckUnset("in_list_pruning").ValueOrDie(), "timelake.in-list-pruning");
  // Stored ones are nobody's mistake.
  const Settings settings = ResolveSettings({{"timelake.in-list-pruning", "x"},
                                             {"timelake.from-the-future", "1"},
                                             {"timelake.format-version", "0.3.0"}})
                                .ValueOrDie();
  EXPECT_TRUE(settings.warnings.empty());
}

TEST(Settings, Unset) {
  EXPECT_EQ(CheckUnset("retention").ValueOrDie(), "timelake.retention");
  EXPECT_EQ(CheckUnset("timelake.row_group_rows").ValueOrDie(), "timelake.row-group-rows");
  EXPECT_EQ(CheckUnset("a.b").ValueOrDie(), "a.b");
  EXPECT_THAT(ErrorOf(CheckUnset("dedup")), HasSubstr("is fixed when the table is created"));
  EXPECT_THAT(ErrorOf(CheckUnset("commit-id")), HasSubstr("is set by Timelake itself"));
}

TEST(Settings, StoredDurationsHaveOneUnit) {
  const std::pair<const char*, const char*> cases[] = {
      {"1d12h", "36h"}, {"90 days", "90d"}, {"1w", "7d"},         {"1h30m", "90m"},
      {"0s", "0s"},     {"250ms", "250ms"}, {"1ms 1us", "1001us"}};
  for (const auto& [typed, stored] : cases) {
    EXPECT_EQ(StoredValue("timelake.snapshot-retention", typed), stored);
  }
  EXPECT_EQ(StoredValue("timelake.max-future", "off"), "off");
  EXPECT_EQ(StoredValue("timelake.row-group-rows", "007"), "007");
  EXPECT_EQ(StoredValue("owner.name", "1d12h"), "1d12h");
}

TEST(Settings, CheckedTogether) {
  const std::string codec = "write.parquet.compression-codec";
  const std::string level = "write.parquet.compression-level";
  struct {
    Properties properties;
    const char* error;  // null: fine
  } cases[] = {
      {{}, nullptr},
      {{{level, "22"}}, nullptr},
      {{{codec, "zstd"}, {level, "0"}}, "0 is not accepted with zstd"},
      {{{codec, "gzip"}, {level, "9"}}, nullptr},
      {{{codec, "GZIP"}, {level, "10"}}, "10 is not accepted with gzip"},
      {{{codec, "brotli"}, {level, "0"}}, nullptr},
      {{{codec, "brotli"}, {level, "12"}}, "0 .. 11 with brotli"},
      {{{codec, "lz4"}, {level, "1"}}, "lz4 has no levels, but 1 is given"},
      {{{codec, "snappy"}, {level, "1"}}, "snappy has no levels"},
      {{{codec, "uncompressed"}, {level, "1"}}, "uncompressed has no levels"},
      {{{codec, "uncompressed"}, {level, "null"}}, nullptr},
      {{{"timelake.retention", "9d"}}, "requires a time column"},
      {{{"timelake.retention", "9d"}, {"timelake.time-column", "t"}}, nullptr},
      {{{"timelake.metadata-min-age", "50ms"}}, nullptr},
      {{{"timelake.delete-min-age", "2h"}},
       "delete-min-age (2h) must not be above "
       "metadata-min-age (1h)"},
      {{{"timelake.delete-min-age", "2h"}, {"timelake.metadata-min-age", "2h"}}, nullptr},
      {{{"timelake.delete-min-age", "1h"}, {"timelake.metadata-min-age", "59m"}},
       "must not be above metadata-min-age (59m)"},
      {{{"timelake.min-snapshots", "500"}}, nullptr},
      {{{"timelake.max-snapshots", "2"}}, nullptr},
      {{{"timelake.min-snapshots", "5"}, {"timelake.max-snapshots", "5"}}, nullptr},
      {{{"timelake.min-snapshots", "6"}, {"timelake.max-snapshots", "5"}},
       "min-snapshots (6) must not be above max-snapshots (5)"},
  };
  for (const auto& c : cases) {
    const Status status = CheckTogether(c.properties);
    if (c.error == nullptr) {
      EXPECT_TRUE(status.ok()) << status.ToString();
    } else {
      EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument);
      EXPECT_THAT(MessageOf(status), HasSubstr(c.error));
    }
  }
}

TEST(Settings, Defaults) {
  const Settings s = ResolveSettings({}).ValueOrDie();
  EXPECT_EQ(s.target_file_size_bytes, 256 << 20);
  EXPECT_EQ(s.row_group_rows, 1 << 20);
  EXPECT_EQ(s.data_page_rows, 20000);
  EXPECT_EQ(s.dictionary_page_bytes, 1 << 20);
  EXPECT_EQ(s.codec, "zstd");
  EXPECT_EQ(s.codec_level, 3);
  EXPECT_EQ(s.float_encoding, "auto");
  EXPECT_EQ(s.integer_encoding, "auto");
  EXPECT_EQ(s.string_encoding, "auto");
  EXPECT_TRUE(s.bloom_columns.empty());
  EXPECT_EQ(s.write_memory_bytes, 1 << 30);
  EXPECT_EQ(s.temp_directory, "");
  EXPECT_EQ(s.max_future_us, kMicrosPerDay);
  EXPECT_EQ(s.commit_timeout_us, kMicrosPerMinute);
  EXPECT_EQ(s.metadata_min_age_us, kMicrosPerHour);
  EXPECT_EQ(s.delete_min_age_us, kMicrosPerHour);
  EXPECT_EQ(s.snapshot_retention_us, kMicrosPerHour);
  EXPECT_EQ(s.min_snapshots, 5);
  EXPECT_EQ(s.max_snapshots, 100);
  EXPECT_EQ(s.keep_snapshots_until_ms, 0);
  EXPECT_EQ(s.batch_id_retention_us, kMicrosPerDay);
  EXPECT_EQ(s.previous_versions_max, 20);
  EXPECT_EQ(s.manifest_target_bytes, 8 << 20);
  EXPECT_FALSE(s.shared);
  EXPECT_TRUE(s.warnings.empty());
}

TEST(Settings, NearestLevelWins) {
  const Properties table = {{"timelake.commit-timeout", "10s"},
                            {"timelake.row-group-rows", "100"},
                            {"timelake.max-future", "off"},
                            {"timelake.shared", "true"},
                            {"timelake.keep-snapshots-until", "1796000000000"}};
  Settings s = ResolveSettings(table).ValueOrDie();
  EXPECT_EQ(s.commit_timeout_us, 10 * kMicrosPerSecond);
  EXPECT_EQ(s.max_future_us, kNoMaxFuture);
  EXPECT_TRUE(s.shared);
  EXPECT_EQ(s.keep_snapshots_until_ms, 1796000000000);
  s = ResolveSettings(table, {{"commit-timeout", "20s"}}).ValueOrDie();
  EXPECT_EQ(s.commit_timeout_us, 20 * kMicrosPerSecond);
  s = ResolveSettings(table, {{"commit-timeout", "20s"}},
                      {{"commit_timeout", "30s"}, {"timelake.row-group-rows", "7"}})
          .ValueOrDie();
  EXPECT_EQ(s.commit_timeout_us, 30 * kMicrosPerSecond);
  EXPECT_EQ(s.row_group_rows, 7);
  EXPECT_THAT(ResolveSettings(table, {{"row-group-rows", "7"}}).status().message(),
              HasSubstr("session level"));
  EXPECT_THAT(ResolveSettings(table, {}, {{"row-group-rows", "0"}}).status().message(),
              HasSubstr("1 .. 2147483647"));
}

TEST(Settings, LevelFollowsItsCodec) {
  const std::string codec = "write.parquet.compression-codec";
  const std::string level = "write.parquet.compression-level";
  struct {
    Properties table;
    SettingMap call;
    const char* codec;  // null: an error
    std::optional<int> level;
    size_t warnings = 0;
  } cases[] = {
      {{{codec, "gzip"}}, {}, "gzip", 6},
      {{{codec, "brotli"}}, {}, "brotli", 8},
      {{{codec, "lz4"}}, {}, "lz4", std::nullopt},
      {{{level, "19"}}, {}, "zstd", 19},
      {{{codec, "ZSTD"}, {level, "19"}}, {}, "zstd", 19},
      {{{level, "19"}}, {{codec, "gzip"}}, "gzip", 6},
      {{{level, "19"}}, {{codec, "snappy"}}, "snappy", std::nullopt},
      {{{codec, "gzip"}}, {{level, "9"}}, "gzip", 9},
      {{{codec, "gzip"}}, {{level, "10"}}, nullptr, std::nullopt},
      {{{codec, "lz4"}}, {{level, "1"}}, nullptr, std::nullopt},
      {{}, {{codec, "brotli"}, {level, "0"}}, "brotli", 0},
      {{{codec, "gzip"}, {level, "22"}}, {}, "gzip", 6, 1},
      {{{codec, "snappy"}, {level, "1"}}, {}, "snappy", std::nullopt, 1},
      {{{codec, "lzo"}}, {}, "zstd", 3, 1},
  };
  for (const auto& c : cases) {
    const Result<Settings> s = ResolveSettings(c.table, {}, c.call);
    ASSERT_EQ(s.ok(), c.codec != nullptr) << s.status().ToString();
    if (!s.ok()) continue;
    EXPECT_EQ(s->codec, c.codec);
    EXPECT_EQ(s->codec_level, c.level) << c.codec;
    EXPECT_EQ(s->warnings.size(), c.warnings) << c.codec;
  }
}

TEST(Settings, UnusableStoredValuesFallBackAndAreReported) {
  Settings s = ResolveSettings({{"timelake.row-group-rows", "0"},
                                {"timelake.retention", "3 months"},
                                {"write.format.default", "orc"},
                                {"timelake.max-future", "soon"}})
                   .ValueOrDie();
  EXPECT_EQ(s.row_group_rows, 1 << 20);
  EXPECT_EQ(s.max_future_us, kMicrosPerDay);
  ASSERT_EQ(s.warnings.size(), 4);
  EXPECT_THAT(s.warnings,
              testing::Contains("table property timelake.row-group-rows = \"0\" is not accepted "
                                "(1 .. 2147483647); using 1048576"));
  EXPECT_THAT(s.warnings, testing::Contains(HasSubstr("timelake.retention = \"3 months\"")));

  s = ResolveSettings({{"timelake.delete-min-age", "2h"},
                       {"timelake.min-snapshots", "9"},
                       {"timelake.max-snapshots", "3"}})
          .ValueOrDie();
  EXPECT_EQ(s.delete_min_age_us, kMicrosPerHour);
  EXPECT_EQ(s.min_snapshots, 9);
  EXPECT_EQ(s.max_snapshots, 9);
  EXPECT_EQ(s.warnings.size(), 2);
}

TEST(Settings, DefaultsGiveWayToTheirBounds) {
  Settings s = ResolveSettings({{"timelake.metadata-min-age", "50ms"}}).ValueOrDie();
  EXPECT_EQ(s.delete_min_age_us, 50 * kMicrosPerMilli);
  s = ResolveSettings({{"timelake.metadata-min-age", "2h"}}).ValueOrDie();
  EXPECT_EQ(s.delete_min_age_us, kMicrosPerHour);
  s = ResolveSettings({{"timelake.max-snapshots", "2"}}).ValueOrDie();
  EXPECT_EQ(s.min_snapshots, 2);
  s = ResolveSettings({{"timelake.min-snapshots", "200"}}).ValueOrDie();
  EXPECT_EQ(s.max_snapshots, 200);
  EXPECT_TRUE(s.warnings.empty());
}

TEST(Settings, ListedAndDocumented) {
  const std::vector<SettingInfo> all = AllSettings();
  ASSERT_EQ(all.size(), Registry().size());
  EXPECT_EQ(all[2].name, "chunk-interval");
  EXPECT_EQ(all[2].default_value, "day");
  EXPECT_EQ(all[2].levels, "create");
  EXPECT_EQ(all[2].accepted, "hour, day, month, year");
  const std::string page = SettingsMarkdown();
  for (const SettingInfo& info : all) {
    EXPECT_THAT(page, HasSubstr("| `" + info.name + "` |"));
    EXPECT_EQ(info.levels == "managed", info.accepted.empty()) << info.name;
  }
  EXPECT_THAT(page, HasSubstr("| `row-group-rows` | `1048576` | 1 .. 2147483647 | table, call | "
                              "`timelake.row-group-rows` | Rows in one Parquet row group"));
}

TEST(Settings, PageInDocsIsUpToDate) {
  const std::filesystem::path path = std::filesystem::path(TL_SOURCE_DIR) / "docs/settings.md";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no docs/settings.md";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), SettingsMarkdown());
}

}  // namespace
}  // namespace timelake::table
