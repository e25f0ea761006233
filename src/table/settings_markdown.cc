#include "table/settings_values.h"

namespace timelake::table {
namespace {

constexpr std::string_view kHead = R"(# Settings

<!-- Generated from the registry in src/table/settings_registry.cc. Do not edit: change the registry,
     then write this file anew. A test compares the two. -->

A setting is looked up from the nearest place to the farthest: the call, the session, the table, the
default. Where a setting may be given is its level:

| level | given by | lasts |
|---|---|---|
| create | the options of `CreateTable`, `timelake create` | as long as the table: it is part of the contract |
| table | `SetProperties`, `timelake alter --set`, also at create | until it is changed; stored as the property named below |
| session | `LakeOptions::settings`, `SET` | as long as the lake is open |
| call | `AppendOptions::settings` | one call |
| managed | the library itself | never set by hand |

Names may be written with or without `timelake.`, and with `_` for `-`. An unknown name, a value that
is not accepted and a level that a setting does not have are errors, at every level. Names with
a dot that are not in this table belong to other engines: they are stored as they are and have no
effect here. `true` and `false` are the only truth values; durations are whole numbers with units, such
as `90d`, `12h`, `1h30m` or `250ms` (`y` is 365 days), and are stored in one unit.

Some settings are checked together: the compression level fits the codec, `delete-min-age` is not above
`metadata-min-age`, `min-snapshots` is not above `max-snapshots`. A stored property that another
program has set to something unusable counts as not set, and is reported as a warning.

| setting | default | accepted | levels | property | meaning |
|---|---|---|---|---|---|
)";

std::string Code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

}  // namespace

std::string SettingsMarkdown() {
  std::string text(kHead);
  for (const SettingDef& def : Registry()) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", Code(def.name), Code(def.default_value),
                    AcceptedText(def), LevelNames(def.levels), Code(def.property), def.description);
  }
  return text;
}

}  // namespace timelake::table
