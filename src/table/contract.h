#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/metadata.h"
#include "timelake/options.h"

namespace timelake::table {

// Property keys of the contract; shared with the peer, never renamed.
inline constexpr char kTimeColumn[] = "timelake.time-column";
inline constexpr char kSeriesKey[] = "timelake.series-key";
inline constexpr char kChunkInterval[] = "timelake.chunk-interval";
inline constexpr char kDedup[] = "timelake.dedup";
inline constexpr char kIngestTimeColumn[] = "timelake.ingest-time-column";
inline constexpr char kRetention[] = "timelake.retention";
inline constexpr char kFormatVersion[] = "timelake.format-version";
inline constexpr char kWriter[] = "timelake.writer";
inline constexpr char kDropped[] = "timelake.dropped";
inline constexpr char kCommitId[] = "timelake.commit-id";
inline constexpr char kShared[] = "timelake.shared";
inline constexpr char kBatchIdLog[] = "timelake.batch-id-log";
// Snapshot summary keys.
inline constexpr char kLastValueIndex[] = "timelake.last-value-index";
inline constexpr char kIndexBase[] = "timelake.index-base";
inline constexpr char kIndexPart[] = "timelake.index-part";
inline constexpr char kIndexRows[] = "timelake.index-rows";
inline constexpr char kBatchId[] = "timelake.batch-id";

inline constexpr char kDefaultIngestTimeColumn[] = "_ingest_ts";

// What makes a table a time-series table, resolved against its current schema.
struct Contract {
  std::optional<int> time_id;  // field id; nullopt: a plain table
  std::vector<int> key_ids;    // series key columns, in order
  std::vector<std::string> key_names;
  std::string time_name;
  std::optional<Chunk> chunk;
  bool dedup = false;
  std::optional<int> ingest_time_id;
  std::string ingest_time_name;
  std::optional<int64_t> retention_us;

  bool is_time_series() const { return time_id.has_value(); }
};

// kCorrupt when a named column is missing or not a timestamp; kUnsupported when
// `timelake.format-version` is newer than ours (names both versions). A column that has been
// renamed since is found by its id. A retention that does not parse counts as none.
Result<Contract> ReadContract(const iceberg::TableMetadata& metadata);

std::string_view ChunkName(Chunk chunk);
int64_t LongestMicros(Chunk chunk);
Result<Chunk> ParseChunk(std::string_view text);

// Metadata of v1 of a new table: fresh field ids, time column (and ingest time) required, partition
// field `<time>_<chunk>` id 1000, sort order 1 = (key..., time), properties. Pure. Errors name the
// column, what was given and what is accepted.
Result<iceberg::TableMetadata> NewTableMetadata(const iceberg::Schema& schema,
                                                const TableOptions& options,
                                                const std::string& location_uri,
                                                const std::string& table_uuid,
                                                const std::string& commit_id, int64_t now_ms);

// "table" or "namespace.table" -> both parts; kInvalidArgument with the accepted characters.
struct TableName {
  std::string name_space;
  std::string table;
  std::string full() const { return name_space + "." + table; }
};
Result<TableName> ParseTableName(std::string_view name);

}  // namespace timelake::table
