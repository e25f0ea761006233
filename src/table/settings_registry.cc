#include <algorithm>

#include "base/civil_time.h"
#include "table/settings_values.h"

namespace timelake::table {
namespace {

using enum SettingKind;

// Long enough for everyone, and short enough that sums with any time of today stay in range.
constexpr int64_t kThousandYears = 365'000 * kMicrosPerDay;
constexpr int64_t kKibi = 1024;
constexpr int64_t kMebi = 1024 * kKibi;
constexpr int64_t kTebi = 1024 * 1024 * kMebi;
constexpr int64_t kNone = INT64_MAX;

// What a data file looks like can be chosen for a table or for one append.
constexpr unsigned kLayout = kAtTable | kAtCall;

// Names, meanings and property keys are shared with the peer and stored in tables: never renamed.
const std::vector<SettingDef>& Rows() {
  static const std::vector<SettingDef> rows = {
      // The contract.
      {"time-column", "", kAtCreate, kText, 0, 0, "",
       "Timestamp column that rows are ordered and partitioned by; makes a time-series table.",
       "timelake.time-column"},
      {"series-key", "", kAtCreate, kNames, 0, 0, "",
       "Columns that tell one series from another, with commas between them; needs a time column.",
       "timelake.series-key"},
      {"chunk-interval", "day", kAtCreate, kChoice, 0, 0, "hour,day,month,year",
       "Span of one partition, in UTC.", "timelake.chunk-interval"},
      {"dedup", "", kAtCreate, kBool, 0, 0, "",
       "One row for each series and time, the last written. Without a value: true with a series "
       "key, else false.",
       "timelake.dedup"},
      {"ingest-time-column", "", kAtCreate, kText, 0, 0, "",
       "Column that appends fill with their own time (named _ingest_ts when asked for at create).",
       "timelake.ingest-time-column"},
      {"retention", "", kAtCreate | kAtTable, kDuration, kMicrosPerSecond, kThousandYears, "",
       "Rows older than this may be removed. Without a value nothing is.", "timelake.retention"},

      // Data files.
      {"target-file-size-bytes", "268435456", kLayout, kInteger, kKibi, kTebi, "",
       "An append starts a new data file when one has this size.",
       "timelake.target-file-size-bytes"},
      {"row-group-rows", "1048576", kLayout, kInteger, 1, INT32_MAX, "",
       "Rows in one Parquet row group, at most.", "timelake.row-group-rows"},
      {"data-page-rows", "20000", kLayout, kInteger, 1, INT32_MAX, "",
       "Rows in one Parquet page, at most; the least that a query reads.",
       "timelake.data-page-rows"},
      {"dictionary-page-bytes", "1048576", kLayout, kInteger, kKibi, 1024 * kMebi, "",
       "Size up to which a column's dictionary may grow.", "timelake.dictionary-page-bytes"},
      {"float-encoding", "auto", kLayout, kChoice, 0, 0, "auto,dictionary,byte-stream-split",
       "Parquet encoding of float and double columns; auto looks at the values.",
       "timelake.float-encoding"},
      {"integer-encoding", "auto", kLayout, kChoice, 0, 0, "auto,dictionary,delta-binary-packed",
       "Parquet encoding of integer, date and time columns; auto looks at the values. The time "
       "column is always delta-binary-packed.",
       "timelake.integer-encoding"},
      {"string-encoding", "auto", kLayout, kChoice, 0, 0,
       "auto,dictionary,plain,delta-length-byte-array,delta-byte-array",
       "Parquet encoding of string and binary columns; auto takes a dictionary or plain, which "
       "every reader knows. Iceberg's vectorised reader for Spark reads neither delta encoding.",
       "timelake.string-encoding"},
      {"bloom-columns", "", kLayout, kNames, 0, 0, "",
       "Columns whose values get a Bloom filter in each row group: for equality on columns of many "
       "values that rows are not ordered by.",
       "timelake.bloom-columns"},
      {"write.parquet.compression-codec", "zstd", kLayout, kChoice, 0, 0,
       "zstd,lz4,snappy,gzip,brotli,uncompressed", "Compression of data files.",
       "write.parquet.compression-codec"},
      {"write.parquet.compression-level", "", kLayout, kInteger, 0, 22, "",
       "Level of the codec. Without a value: 3 with zstd, 6 with gzip, 8 with brotli.",
       "write.parquet.compression-level"},
      {"write.format.default", "parquet", kAtTable, kChoice, 0, 0, "parquet",
       "Format of data files.", "write.format.default"},
      {"write.object-storage.enabled", "false", kAtTable, kBool, 0, 0, "",
       "Data files lie below folders that are named by a hash, so that a bucket spreads the "
       "requests for the newest of them; for tables with thousands of requests a second.",
       "write.object-storage.enabled"},

      // Queries.
      {"read-dedup", "", kAtTable | kAtSession, kBool, 0, 0, "",
       "Queries leave out rows that a later write of the same series and time has replaced. "
       "Without a value: as dedup.",
       "timelake.read-dedup"},
      {"latest-from-index", "true", kAtTable | kAtSession, kBool, 0, 0, "",
       "Queries that need the newest row of each series only take it from the last-value index.",
       "timelake.latest-from-index"},
      {"rollup-routing", "true", kAtTable | kAtSession, kBool, 0, 0, "",
       "Queries of a table are answered from its rollups where that gives the same.",
       "timelake.rollup-routing"},
      {"aggregates-from-metadata", "true", kAtTable | kAtSession, kBool, 0, 0, "",
       "count, min and max take what they can from manifests and footers instead of rows.",
       "timelake.aggregates-from-metadata"},
      {"version-check-interval", "", kAtTable | kAtSession, kDuration, 0, kMicrosPerDay, "",
       "Readers that hold a table ask the store for a newer version at most this often, and see "
       "what others commit as much later; writers always ask, and own commits are seen at once. "
       "Without a value: 1s in object stores, 0s on local disk, where asking costs nothing.",
       "timelake.version-check-interval"},

      // Appends and commits.
      {"write-memory-bytes", "1073741824", kAtTable | kAtSession | kAtCall, kInteger, 64 * kKibi,
       kTebi, "",
       "Memory of one append. Rows beyond it are sorted in parts, which wait in a temporary file "
       "until they are merged into the data files.",
       "timelake.write-memory-bytes"},
      {"temp-directory", "", kAtSession | kAtCall, kText, 0, 0, "",
       "Folder of that file. Without a value: the environment variable TMPDIR, else /tmp. The file "
       "has no name and is gone with the process, however it ends.",
       "timelake.temp-directory"},
      {"new-columns", "error", kLayout, kChoice, 0, 0, "error,add",
       "Data with columns that the table lacks: refused, or the table gets them by the same "
       "commit, of the types that a new table would have, NULL in the rows before.",
       "timelake.new-columns"},
      {"max-future", "1d", kLayout, kDuration, kMicrosPerMilli, kThousandYears, "off",
       "Rows later than now plus this are refused or skipped.", "timelake.max-future"},
      {"on-expired", "error", kLayout, kChoice, 0, 0, "error,skip,keep",
       "Rows that are older than retention when they arrive: refuse the append, leave them out and "
       "count them, or keep them until the next maintenance.",
       "timelake.on-expired"},
      {"commit-timeout", "60s", kAtTable | kAtSession | kAtCall, kDuration, kMicrosPerMilli,
       kMicrosPerDay, "", "How long a commit is tried again while others win.",
       "timelake.commit-timeout"},
      {"shared", "false", kAtTable, kBool, 0, 0, "",
       "Other engines write to this table too. Set it before their first write.",
       "timelake.shared"},
      {"batch-id-retention", "24h", kAtTable, kDuration, 0, kThousandYears, "",
       "How long batch ids are remembered after their snapshots have expired.",
       "timelake.batch-id-retention"},
      {"commit.manifest.target-size-bytes", "8388608", kAtTable, kInteger, kKibi, kTebi, "",
       "Manifests below this size are merged when there are more than eight.",
       "commit.manifest.target-size-bytes"},

      // Maintenance.
      {"auto-maintain", "true", kAtTable | kAtSession | kAtCall, kBool, 0, 0, "",
       "Appends now and then merge the small files of the partitions that they write to.",
       "timelake.auto-maintain"},
      {"auto-maintain-bytes", "67108864", kAtTable | kAtSession | kAtCall, kInteger, 0, kTebi, "",
       "Data files that one append may merge, and the refresh of a rollup after it read, so that "
       "it does not take long.",
       "timelake.auto-maintain-bytes"},
      {"compact-min-files", "8", kLayout, kInteger, 2, INT32_MAX, "",
       "So many files of about one size (below 64 KiB, 256 KiB, 1 MiB, ...) are merged by appends.",
       "timelake.compact-min-files"},
      {"compact-cold-after", "1h", kLayout, kDuration, 0, kThousandYears, "off",
       "A partition whose end is this long ago, by the clock and by the table's newest rows, is "
       "merged by appends although its files are few.",
       "timelake.compact-cold-after"},

      {"rollup-refresh-interval", "1m", kAtTable, kDuration, 0, kThousandYears, "off",
       "Of a rollup: an append to the table that it is made from refreshes it when the last "
       "refresh is this long ago.",
       "timelake.rollup-refresh-interval"},

      // What is kept of the past.
      {"chunk-tiers", "", kAtTable, kTiers, 0, 0, "",
       "Partitions that grow longer as their rows grow old: new rows go to the first span, and "
       "maintenance rewrites what is older. Without a value partitions stay as they are.",
       "timelake.chunk-tiers"},
      {"snapshot-retention", "1h", kAtTable, kDuration, 0, kThousandYears, "",
       "Snapshots older than this expire.", "timelake.snapshot-retention"},
      {"min-snapshots", "5", kAtTable, kInteger, 1, INT32_MAX, "",
       "Newest snapshots that never expire.", "timelake.min-snapshots"},
      {"max-snapshots", "100", kAtTable, kInteger, 1, INT32_MAX, "",
       "Snapshots beyond this many expire whatever their age.", "timelake.max-snapshots"},
      {"keep-snapshots-until", "", kAtTable, kInteger, 0, kNone, "",
       "No snapshot expires before this time (milliseconds since 1970).",
       "timelake.keep-snapshots-until"},
      {"metadata-min-age", "1h", kAtTable, kDuration, 10 * kMicrosPerMilli, kThousandYears, "",
       "A replaced version stays this long. Every writer and reader relies on it: below minutes "
       "only for tests.",
       "timelake.metadata-min-age"},
      {"delete-min-age", "1h", kAtTable, kDuration, 10 * kMicrosPerMilli, kThousandYears, "",
       "Files stay this long after no version needs them; not above metadata-min-age, which also "
       "lowers the default.",
       "timelake.delete-min-age"},
      {"write.metadata.previous-versions-max", "20", kAtTable, kInteger, 1, INT32_MAX, "",
       "Length of the log of versions inside a metadata file. Versions themselves go by age.",
       "write.metadata.previous-versions-max"},

      // Set by the library.
      {"format-version", "0.3.0", kManaged, kText, 0, 0, "",
       "Timelake's table format; 0.1.0 where it is missing.", "timelake.format-version"},
      {"writer", "", kManaged, kText, 0, 0, "", "What created the table.", "timelake.writer"},
      {"commit-id", "", kManaged, kText, 0, 0, "",
       "Random id of the last commit that added no snapshot.", "timelake.commit-id"},
      {"rollups", "", kManaged, kText, 0, 0, "",
       "Rollups of the table that the Rust timelake knows, too.", "timelake.rollups"},
      {"rollup-tables", "", kManaged, kText, 0, 0, "",
       "Rollups of the table that it does not know.", "timelake.rollup-tables"},
      {"rollup-definition", "", kManaged, kText, 0, 0, "", "What a rollup is made of.",
       "timelake.rollup-definition"},
      {"rollup-source", "", kManaged, kText, 0, 0, "",
       "The table that a rollup is made from; this and the next two where the Rust timelake knows "
       "such a rollup.",
       "timelake.rollup-source"},
      {"rollup-bucket", "", kManaged, kText, 0, 0, "", "The width of its buckets.",
       "timelake.rollup-bucket"},
      {"rollup-aggregates", "", kManaged, kText, 0, 0, "", "Its aggregates.",
       "timelake.rollup-aggregates"},
      {"batch-id-log", "", kManaged, kText, 0, 0, "",
       "Where batch ids of expired snapshots are kept.", "timelake.batch-id-log"},
      {"dropped", "", kManaged, kText, 0, 0, "", "Marks the last version of a dropped table.",
       "timelake.dropped"},
  };
  return rows;
}

// The peer's, up to its 0.7.0.
constexpr std::string_view kElsewhere[] = {
    "filter-pushdown", "head-format",         "head-inline-bytes",  "in-list-pruning",
    "newest-first",    "read-dedup-strategy", "time-weighted-mean",
};

}  // namespace

const std::vector<SettingDef>& Registry() { return Rows(); }

std::string CanonicalName(std::string_view name) {
  constexpr std::string_view kPrefix = "timelake.";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  std::string canonical(name);
  std::replace(canonical.begin(), canonical.end(), '_', '-');
  return canonical;
}

const SettingDef* FindSetting(std::string_view name) {
  const std::string canonical = CanonicalName(name);
  for (const SettingDef& def : Rows()) {
    if (def.name != canonical) continue;
    // "timelake.write.format.default" is nobody's property.
    const bool foreign = def.property == def.name;
    return foreign && name.size() != canonical.size() ? nullptr : &def;
  }
  return nullptr;
}

bool KnownElsewhere(std::string_view canonical_name) {
  return std::find(std::begin(kElsewhere), std::end(kElsewhere), canonical_name) !=
         std::end(kElsewhere);
}

std::string LevelNames(unsigned levels) {
  std::string text;
  const auto add = [&](SettingLevel level, std::string_view name) {
    if ((levels & level) == 0) return;
    if (!text.empty()) text += ", ";
    text += name;
  };
  add(kAtCreate, "create");
  add(kAtTable, "table");
  add(kAtSession, "session");
  add(kAtCall, "call");
  add(kManaged, "managed");
  return text;
}

}  // namespace timelake::table
