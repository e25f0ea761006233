#include "table/settings_values.h"

#include <algorithm>
#include <vector>

#include "base/civil_time.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/utf8.h"

namespace timelake::table {
namespace {

// zstd 3 is the format's; gzip 6 and brotli 8 are the usual balance of those codecs.
constexpr CodecLevels kCodecLevels[] = {
    {"zstd", 1, 22, 3},
    {"gzip", 1, 9, 6},
    {"brotli", 0, 11, 8},
};

std::vector<std::string_view> Choices(const SettingDef& def) {
  std::vector<std::string_view> choices;
  std::string_view rest = def.choices;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    choices.push_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return choices;
}

bool IsChoice(const SettingDef& def, std::string_view value) {
  const std::vector<std::string_view> choices = Choices(def);
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

std::string ChoicesText(const SettingDef& def) {
  std::string text;
  for (std::string_view choice : Choices(def)) {
    if (!text.empty()) text += ", ";
    text += choice;
  }
  return text;
}

std::string RangeText(const SettingDef& def) {
  if (def.max == INT64_MAX) return fmt::format("a whole number from {}", def.min);
  return fmt::format("{} .. {}", def.min, def.max);
}

// Microseconds in the largest single unit that holds them exactly.
std::string OneUnit(int64_t micros) {
  struct Unit {
    int64_t micros;
    std::string_view symbol;
  };
  constexpr Unit kUnits[] = {{kMicrosPerDay, "d"},
                             {kMicrosPerHour, "h"},
                             {kMicrosPerMinute, "m"},
                             {kMicrosPerSecond, "s"},
                             {kMicrosPerMilli, "ms"}};
  if (micros == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (micros % unit.micros == 0) return fmt::format("{}{}", micros / unit.micros, unit.symbol);
  }
  return fmt::format("{}us", micros);
}

// Why `value` is not accepted; empty when it is.
std::string Fault(const SettingDef& def, std::string_view value) {
  if (!IsValidUtf8(value)) return Quote(value) + " is not valid UTF-8";
  const auto unless = [&](bool accepted) {
    return accepted ? std::string() : Quote(value) + " is not accepted";
  };
  switch (def.kind) {
    case SettingKind::kText: return unless(!value.empty());
    case SettingKind::kBool: return unless(value == "true" || value == "false");
    case SettingKind::kChoice: return unless(IsChoice(def, value));
    case SettingKind::kInteger: {
      const Result<int64_t> number = ParseInt64(value);
      return unless(number.ok() && *number >= def.min && *number <= def.max);
    }
    case SettingKind::kDuration: {
      if (IsChoice(def, value)) return "";
      const Result<int64_t> micros = ParseDuration(value);
      if (!micros.ok()) return MessageOf(micros.status());
      return unless(*micros >= def.min && *micros <= def.max);
    }
    case SettingKind::kNames: {
      const Result<std::vector<std::string>> names = SplitNames(value);
      if (!names.ok()) return MessageOf(names.status());
      return unless(!names->empty());
    }
    case SettingKind::kTiers: {
      const auto tiers = ParseChunkTiers(value);
      return tiers.ok() ? "" : MessageOf(tiers.status());
    }
  }
  return unless(false);
}

}  // namespace

const CodecLevels* LevelsOf(std::string_view codec) {
  for (const CodecLevels& levels : kCodecLevels) {
    if (levels.codec == codec) return &levels;
  }
  return nullptr;
}

std::string LevelRanges() {
  std::string text;
  for (const CodecLevels& levels : kCodecLevels) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} .. {} with {}", levels.min, levels.max, levels.codec);
  }
  return text;
}

std::string AcceptedText(const SettingDef& def) {
  if (def.levels & kManaged) return "";
  switch (def.kind) {
    case SettingKind::kText: return "text";
    case SettingKind::kBool: return "true or false";
    case SettingKind::kChoice: return ChoicesText(def);
    case SettingKind::kNames: return "column names with commas between them";
    case SettingKind::kInteger: return def.name == kLevelName ? LevelRanges() : RangeText(def);
    case SettingKind::kTiers: return ChunkTiersForm();
    case SettingKind::kDuration: break;
  }
  std::string text =
      fmt::format("a duration from {} to {}", FormatDuration(def.min), FormatDuration(def.max));
  if (!def.choices.empty()) text += ", or " + ChoicesText(def);
  return text;
}

Status CheckValue(const SettingDef& def, std::string_view value) {
  const std::string fault = Fault(def, value);
  if (fault.empty()) return Status::OK();
  return InvalidArgument("setting {}: {}; accepted: {}", def.name, fault, AcceptedText(def));
}

std::optional<int64_t> NumberOf(const SettingDef& def, std::string_view value) {
  if (!Fault(def, value).empty()) return std::nullopt;
  switch (def.kind) {
    case SettingKind::kBool: return value == "true" ? 1 : 0;
    case SettingKind::kInteger: return ParseInt64(value).ValueOr(def.min);
    case SettingKind::kDuration:
      if (IsChoice(def, value)) return kNoMaxFuture;
      return ParseDuration(value).ValueOr(def.min);
    default: return std::nullopt;
  }
}

std::string StoredValue(std::string_view key, std::string_view value) {
  const SettingDef* def = FindSetting(key);
  if (def != nullptr && def->kind == SettingKind::kTiers) {
    const auto tiers = ParseChunkTiers(value);
    return tiers.ok() ? ChunkTiersText(*tiers) : std::string(value);
  }
  if (def == nullptr || def->kind != SettingKind::kDuration || IsChoice(*def, value)) {
    return std::string(value);
  }
  const std::optional<int64_t> micros = NumberOf(*def, value);
  return micros ? OneUnit(*micros) : std::string(value);
}

}  // namespace timelake::table
