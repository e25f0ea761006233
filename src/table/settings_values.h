#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "table/settings.h"

// Values of settings, apart from names and levels. Shared by the files settings*.cc only.

namespace timelake::table {

// A codec that has compression levels, and the one used when none is set.
struct CodecLevels {
  std::string_view codec;
  int min;
  int max;
  int preset;
};

// Null for codecs without levels (lz4, snappy, uncompressed).
const CodecLevels* LevelsOf(std::string_view codec);

// "1 .. 22 with zstd, 1 .. 9 with gzip, ...".
std::string LevelRanges();

inline constexpr std::string_view kCodecName = "write.parquet.compression-codec";
inline constexpr std::string_view kLevelName = "write.parquet.compression-level";

// kInvalidArgument naming the setting, the text and what is accepted.
Status CheckValue(const SettingDef& def, std::string_view value);

// Value of a kInteger, kDuration (microseconds) or kBool (0, 1) setting; nullopt where CheckValue
// fails. The word "off" is kNoMaxFuture.
std::optional<int64_t> NumberOf(const SettingDef& def, std::string_view value);

// Settings that the peer or later versions of ours have and this version has not. Stored ones are
// left alone.
bool KnownElsewhere(std::string_view canonical_name);

// `name` without "timelake." and with '-' for '_'.
std::string CanonicalName(std::string_view name);

// "create, table", "managed".
std::string LevelNames(unsigned levels);

}  // namespace timelake::table
