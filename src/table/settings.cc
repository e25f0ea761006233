#include "table/settings.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "base/utf8.h"
#include "table/settings_values.h"
#include "timelake/version.h"

namespace timelake::table {
namespace {

Status UnknownSetting(std::string_view name) {
  std::vector<std::string> names;
  for (const SettingDef& def : Registry()) {
    if ((def.levels & kManaged) == 0) names.emplace_back(def.name);
  }
  const std::optional<std::string> near = NearestName(CanonicalName(ToLowerAscii(name)), names);
  return InvalidArgument("unknown setting {}{} (`timelake settings` lists them)", Quote(name),
                         near ? "; did you mean " + *near + "?" : "");
}

std::string_view LevelName(SettingLevel level) {
  switch (level) {
    case kAtCreate: return "create";
    case kAtTable: return "table";
    case kAtSession: return "session";
    case kAtCall: return "call";
    case kManaged: break;
  }
  return "managed";
}

// The member of TableOptions that a setting of create level only is given by.
std::string_view OptionOf(const SettingDef& def) {
  if (def.name == "time-column") return "time_column";
  if (def.name == "series-key") return "series_key";
  if (def.name == "chunk-interval") return "chunk";
  if (def.name == "ingest-time-column") return "ingest_time";
  return def.name;
}

Status CheckLevel(const SettingDef& def, SettingLevel level) {
  if (def.levels & kManaged) {
    return InvalidArgument("setting {} is set by Timelake itself, not by hand", def.name);
  }
  unsigned allowed = def.levels;
  // What can be altered later can also be given at once.
  if (allowed & kAtTable) allowed |= kAtCreate;
  if (allowed & level) return Status::OK();
  if (def.levels == kAtCreate) {
    return InvalidArgument("setting {} is fixed when the table is created, by its options ({})",
                           def.name, OptionOf(def));
  }
  return InvalidArgument("setting {} can't be set at the {} level, only at: {}", def.name,
                         LevelName(level), LevelNames(def.levels));
}

// Names that are neither ours nor the peer's: the properties of other engines have dots.
bool IsForeignName(std::string_view name) {
  const std::string lower = ToLowerAscii(name);
  if (name.find('.') == std::string_view::npos || lower.starts_with("timelake.")) return false;
  // "Write.Format.Default" would be stored and have no effect.
  return FindSetting(lower) == nullptr;
}

Status CheckForeign(std::string_view name, std::string_view value) {
  // They end up in JSON, which can hold nothing else.
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (!IsValidUtf8(name) || control) {
    return InvalidArgument("property name {} has control characters or bytes that are not UTF-8",
                           Quote(name));
  }
  if (!IsValidUtf8(value)) {
    return InvalidArgument("property {}: value {} is not valid UTF-8", name, Quote(value));
  }
  return Status::OK();
}

// Of each operation some dozens are looked up.
using DefMap = std::unordered_map<std::string_view, const SettingDef*>;
DefMap MapOf(std::string_view SettingDef::*key) {
  DefMap map;
  for (const SettingDef& def : Registry()) map.emplace(def.*key, &def);
  return map;
}

// By its own name, which is one.
const SettingDef& DefOf(std::string_view name) {
  static const DefMap map = MapOf(&SettingDef::name);
  return *map.at(name);
}

// Null: not of ours.
const SettingDef* DefOfProperty(std::string_view property) {
  static const DefMap map = MapOf(&SettingDef::property);
  const auto found = map.find(property);
  return found == map.end() ? nullptr : found->second;
}

// The text of a property, if CheckValue accepts it. Other engines write codec names in any case.
std::optional<std::string> Accepted(const SettingDef& def, std::string text) {
  if (def.kind == SettingKind::kChoice || def.kind == SettingKind::kBool) {
    text = ToLowerAscii(text);
  }
  if (!CheckValue(def, text).ok()) return std::nullopt;
  return text;
}

std::optional<std::string> StoredText(const std::map<std::string, std::string>& properties,
                                      const SettingDef& def) {
  const auto found = properties.find(std::string(def.property));
  return found == properties.end() ? std::nullopt : Accepted(def, found->second);
}

std::optional<int64_t> StoredNumber(const std::map<std::string, std::string>& properties,
                                    std::string_view name) {
  const SettingDef& def = DefOf(name);
  const std::optional<std::string> text = StoredText(properties, def);
  return text ? NumberOf(def, *text) : std::nullopt;
}

Status CheckLevelOfCodec(std::string_view codec, int64_t level) {
  const CodecLevels* levels = LevelsOf(codec);
  if (levels == nullptr) {
    return InvalidArgument("setting {}: {} has no levels, but {} is given", kLevelName, codec,
                           level);
  }
  if (level >= levels->min && level <= levels->max) return Status::OK();
  return InvalidArgument("setting {}: {} is not accepted with {}; accepted: {}", kLevelName, level,
                         codec, LevelRanges());
}

// Looks settings up in the layers call, session, table, default.
class Resolver {
 public:
  enum Source { kDefault, kTable, kSession, kCall };

  Resolver(const std::map<std::string, std::string>& properties, std::vector<std::string>* warnings)
      : warnings_(warnings) {
    for (const auto& [property, value] : properties) {
      const SettingDef* def = DefOfProperty(property);
      if (def == nullptr || def->levels & kManaged) continue;
      if (auto text = Accepted(*def, value)) {
        values_[def->name] = {*std::move(text), kTable};
      } else {
        Warn(fmt::format("table property {} = {} is not accepted ({}); using {}", property,
                         Quote(value), AcceptedText(*def),
                         def->default_value.empty() ? "none" : def->default_value));
      }
    }
  }

  Status Add(const SettingMap& layer, SettingLevel level, Source source) {
    for (const auto& [name, value] : layer) {
      TL_RETURN_NOT_OK(CheckSetting(name, value, level).status());
      values_[FindSetting(name)->name] = {value, source};
    }
    return Status::OK();
  }

  Source SourceOf(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? kDefault : found->second.source;
  }

  std::string Text(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string(DefOf(name).default_value) : found->second.text;
  }

  int64_t Number(std::string_view name) const {
    return NumberOf(DefOf(name), Text(name)).value_or(0);
  }

  void Warn(std::string message) { warnings_->push_back(std::move(message)); }

 private:
  struct Value {
    std::string text;
    Source source;
  };
  std::map<std::string_view, Value> values_;
  std::vector<std::string>* warnings_;
};

Status ResolveCodec(Resolver* resolver, Settings* out) {
  out->codec = resolver->Text(kCodecName);
  const CodecLevels* levels = LevelsOf(out->codec);
  if (levels != nullptr) out->codec_level = levels->preset;
  const Resolver::Source source = resolver->SourceOf(kLevelName);
  // A level belongs to the codec it was chosen for: a call that names another codec drops it.
  if (source == Resolver::kDefault || source < resolver->SourceOf(kCodecName)) return Status::OK();
  const int64_t level = resolver->Number(kLevelName);
  const Status fits = CheckLevelOfCodec(out->codec, level);
  if (fits.ok()) {
    out->codec_level = static_cast<int>(level);
  } else if (source == Resolver::kTable) {
    resolver->Warn(MessageOf(fits) + "; using the codec's default");
  } else {
    return fits;
  }
  return Status::OK();
}

// Of two settings that bound each other the one without a value gives way.
void ResolveHistory(Resolver* resolver, Settings* out) {
  out->metadata_min_age_us = resolver->Number("metadata-min-age");
  out->delete_min_age_us = resolver->Number("delete-min-age");
  if (out->delete_min_age_us > out->metadata_min_age_us) {
    if (resolver->SourceOf("delete-min-age") == Resolver::kTable) {
      resolver->Warn(
          "table property timelake.delete-min-age is above metadata-min-age; using that");
    }
    out->delete_min_age_us = out->metadata_min_age_us;
  }
  out->min_snapshots = resolver->Number("min-snapshots");
  out->max_snapshots = resolver->Number("max-snapshots");
  if (out->min_snapshots <= out->max_snapshots) return;
  if (resolver->SourceOf("min-snapshots") == Resolver::kDefault) {
    out->min_snapshots = out->max_snapshots;
    return;
  }
  if (resolver->SourceOf("max-snapshots") == Resolver::kTable) {
    resolver->Warn("table property timelake.max-snapshots is below min-snapshots; using that");
  }
  out->max_snapshots = out->min_snapshots;
}

}  // namespace

Result<std::string> CheckSetting(std::string_view name, std::string_view value,
                                 SettingLevel level) {
  if (const SettingDef* def = FindSetting(name)) {
    TL_RETURN_NOT_OK(CheckLevel(*def, level));
    TL_RETURN_NOT_OK(CheckValue(*def, value));
    return std::string(def->property);
  }
  if (KnownElsewhere(CanonicalName(name))) {
    return InvalidArgument("setting {} is not one that this version of Timelake has ({})",
                           CanonicalName(name), kVersion);
  }
  const bool stored = level == kAtCreate || level == kAtTable;
  if (!stored || !IsForeignName(name)) return UnknownSetting(name);
  TL_RETURN_NOT_OK(CheckForeign(name, value));
  return std::string(name);
}

Result<std::string> CheckUnset(std::string_view name) {
  if (const SettingDef* def = FindSetting(name)) {
    TL_RETURN_NOT_OK(CheckLevel(*def, kAtTable));
    return std::string(def->property);
  }
  if (const std::string canonical = CanonicalName(name); KnownElsewhere(canonical)) {
    return "timelake." + canonical;
  }
  if (!IsForeignName(name)) return UnknownSetting(name);
  return std::string(name);
}

Status CheckTogether(const std::map<std::string, std::string>& properties) {
  if (properties.contains("timelake.retention") && !properties.contains("timelake.time-column")) {
    return InvalidArgument("setting retention requires a time column, and the table has none");
  }
  if (const auto level = StoredNumber(properties, kLevelName)) {
    const auto codec = StoredText(properties, DefOf(kCodecName));
    TL_RETURN_NOT_OK(CheckLevelOfCodec(codec.value_or("zstd"), *level));
  }
  const auto text = [&](std::string_view name) {
    const SettingDef& def = DefOf(name);
    return StoredText(properties, def).value_or(std::string(def.default_value));
  };
  const auto above = [&](std::string_view low, std::string_view high) {
    return NumberOf(DefOf(low), text(low)) > NumberOf(DefOf(high), text(high));
  };
  if (StoredNumber(properties, "delete-min-age") && above("delete-min-age", "metadata-min-age")) {
    return InvalidArgument("setting delete-min-age ({}) must not be above metadata-min-age ({})",
                           text("delete-min-age"), text("metadata-min-age"));
  }
  if (StoredNumber(properties, "min-snapshots") && StoredNumber(properties, "max-snapshots") &&
      above("min-snapshots", "max-snapshots")) {
    return InvalidArgument("setting min-snapshots ({}) must not be above max-snapshots ({})",
                           text("min-snapshots"), text("max-snapshots"));
  }
  return Status::OK();
}

Result<Settings> ResolveSettings(const std::map<std::string, std::string>& properties,
                                 const SettingMap& session, const SettingMap& call) {
  Settings out;
  Resolver resolver(properties, &out.warnings);
  TL_RETURN_NOT_OK(resolver.Add(session, kAtSession, Resolver::kSession));
  TL_RETURN_NOT_OK(resolver.Add(call, kAtCall, Resolver::kCall));
  out.target_file_size_bytes = resolver.Number("target-file-size-bytes");
  out.row_group_rows = resolver.Number("row-group-rows");
  out.data_page_rows = resolver.Number("data-page-rows");
  out.dictionary_page_bytes = resolver.Number("dictionary-page-bytes");
  out.float_encoding = resolver.Text("float-encoding");
  out.integer_encoding = resolver.Text("integer-encoding");
  out.string_encoding = resolver.Text("string-encoding");
  TL_ASSIGN_OR_RAISE(out.bloom_columns, SplitNames(resolver.Text("bloom-columns")));
  out.write_memory_bytes = resolver.Number("write-memory-bytes");
  out.temp_directory = resolver.Text("temp-directory");
  out.add_new_columns = resolver.Text("new-columns") == "add";
  out.max_future_us = resolver.Number("max-future");
  const std::string on_expired = resolver.Text("on-expired");
  out.on_expired = on_expired == "skip"   ? OnExpired::kSkip
                   : on_expired == "keep" ? OnExpired::kKeep
                                          : OnExpired::kError;
  out.auto_maintain = resolver.Number("auto-maintain") != 0;
  out.auto_maintain_bytes = resolver.Number("auto-maintain-bytes");
  out.compact_min_files = resolver.Number("compact-min-files");
  out.compact_cold_after_us = resolver.Number("compact-cold-after");
  if (const std::string tiers = resolver.Text("chunk-tiers"); !tiers.empty()) {
    TL_ASSIGN_OR_RAISE(out.chunk_tiers, ParseChunkTiers(tiers));
  }
  out.commit_timeout_us = resolver.Number("commit-timeout");
  out.snapshot_retention_us = resolver.Number("snapshot-retention");
  out.keep_snapshots_until_ms = resolver.Number("keep-snapshots-until");
  out.batch_id_retention_us = resolver.Number("batch-id-retention");
  out.previous_versions_max = resolver.Number("write.metadata.previous-versions-max");
  out.manifest_target_bytes = resolver.Number("commit.manifest.target-size-bytes");
  out.shared = resolver.Number("shared") != 0;
  out.latest_from_index = resolver.Number("latest-from-index") != 0;
  out.aggregates_from_metadata = resolver.Number("aggregates-from-metadata") != 0;
  if (resolver.SourceOf("read-dedup") != Resolver::kDefault) {
    out.read_dedup = resolver.Number("read-dedup") != 0;
  }
  if (resolver.SourceOf("version-check-interval") != Resolver::kDefault) {
    out.version_check_interval_us = resolver.Number("version-check-interval");
  }
  TL_RETURN_NOT_OK(ResolveCodec(&resolver, &out));
  ResolveHistory(&resolver, &out);
  return out;
}

}  // namespace timelake::table
