#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "table/chunk_tiers.h"

namespace timelake::table {

// Where a setting may be given; bits of SettingDef::levels.
enum SettingLevel : unsigned {
  kAtCreate = 1,   // fixed when the table is created
  kAtTable = 2,    // table property `timelake.<name>`
  kAtSession = 4,  // LakeOptions::settings, SET
  kAtCall = 8,     // per call
  kManaged = 16,   // set by the library, never by hand
};

enum class SettingKind { kText, kBool, kInteger, kDuration, kChoice, kNames, kTiers };

struct SettingDef {
  std::string_view name;           // without "timelake."; Iceberg's own ("write....") in full
  std::string_view default_value;  // as typed; "" means none
  unsigned levels;
  SettingKind kind;
  int64_t min, max;          // kInteger: inclusive; kDuration: microseconds
  std::string_view choices;  // kChoice: comma-separated; kDuration: words taken instead
  std::string_view description;
  std::string_view property;  // full property key
};

// The registry: one row a setting, in the order of docs/settings.md.
const std::vector<SettingDef>& Registry();

// By name in any accepted spelling ("timelake." optional, '_' for '-', lower case); null when
// unknown.
const SettingDef* FindSetting(std::string_view name);

// What a setting accepts, for people: "a duration from 1s", "1 .. 1000000", "zstd, lz4, ...".
std::string AcceptedText(const SettingDef& def);

// Checks one assignment at a level. kInvalidArgument: unknown name (with the nearest one), wrong
// level ("... is fixed when the table is created"), or a value that is not accepted (with what is).
// Returns the property key. kAtCreate takes settings of table level, too. A name with a dot that is
// not ours is a foreign property: any text, at table level and at create only.
Result<std::string> CheckSetting(std::string_view name, std::string_view value, SettingLevel level);

// The same for taking a property off a table; also for settings of other versions.
Result<std::string> CheckUnset(std::string_view name);

// The text to store of a checked value: durations in one unit ("36h", not "1d12h"), as the peer
// reads no other form; the rest unchanged. `key` is what CheckSetting returned.
std::string StoredValue(std::string_view key, std::string_view value);

// Cross checks on a full property map (codec and level fit, delete-min-age <= metadata-min-age,
// min-snapshots <= max-snapshots, retention needs a time column). Texts that do not parse are
// passed over: they fall back to defaults.
Status CheckTogether(const std::map<std::string, std::string>& properties);

inline constexpr int64_t kNoMaxFuture = INT64_MAX;
inline constexpr int64_t kNeverCold = INT64_MAX;

// What an append does with rows that are older than the table's retention.
enum class OnExpired { kError, kSkip, kKeep };

// Settings in force for one operation, typed. Precedence: call, session, table property, default.
// A stored table property that does not parse (another engine wrote it) falls back to the default
// and is named in `warnings`; call and session values were checked before.
struct Settings {
  int64_t target_file_size_bytes = 0;
  int64_t row_group_rows = 0;
  int64_t data_page_rows = 0;
  int64_t dictionary_page_bytes = 0;
  std::string codec;               // zstd, lz4, snappy, gzip, brotli, uncompressed
  std::optional<int> codec_level;  // set exactly when the codec has levels
  std::string float_encoding;      // auto, dictionary, byte-stream-split
  std::string integer_encoding;    // auto, dictionary, delta-binary-packed
  std::string string_encoding;     // auto, dictionary, plain, delta-length-..., delta-byte-array
  std::vector<std::string> bloom_columns;  // names, in the order given
  int64_t write_memory_bytes = 0;          // what one append may hold, at most
  std::string temp_directory;              // of spilled rows; empty: as the environment says
  bool add_new_columns = false;            // new-columns
  int64_t max_future_us = 0;               // kNoMaxFuture: off (do not add it to a time)
  OnExpired on_expired = OnExpired::kError;
  bool auto_maintain = true;
  int64_t auto_maintain_bytes = 0;  // that one append may merge
  int64_t compact_min_files = 0;
  std::vector<ChunkTier> chunk_tiers;  // empty: partitions stay as they are
  int64_t compact_cold_after_us = 0;   // kNeverCold: off (do not add it to a time)
  int64_t commit_timeout_us = 0;       // time budget of one commit's retries
  int64_t metadata_min_age_us = 0;     // the "age" of the commit protocol
  int64_t delete_min_age_us = 0;
  int64_t snapshot_retention_us = 0;
  int64_t min_snapshots = 0;
  int64_t max_snapshots = 0;
  int64_t keep_snapshots_until_ms = 0;  // 0: none
  int64_t batch_id_retention_us = 0;
  int64_t previous_versions_max = 0;  // write.metadata.previous-versions-max
  int64_t manifest_target_bytes = 0;  // commit.manifest.target-size-bytes
  bool shared = false;                // timelake.shared
  std::optional<bool> read_dedup;     // none: as dedup
  bool latest_from_index = true;
  bool aggregates_from_metadata = true;
  // How long readers take a version for the newest; none: as the kind of store suggests.
  std::optional<int64_t> version_check_interval_us;
  std::vector<std::string> warnings;
};

using SettingMap = std::map<std::string, std::string>;  // canonical names -> text

Result<Settings> ResolveSettings(const std::map<std::string, std::string>& properties,
                                 const SettingMap& session = {}, const SettingMap& call = {});

// docs/settings.md.
std::string SettingsMarkdown();

}  // namespace timelake::table
