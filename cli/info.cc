#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "human.h"
#include "output_stream.h"
#include "report.h"
#include "schema_names.h"
#include "text_table.h"
#include "time_text.h"
#include "timelake/maintain.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  bool json = false;
};

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json ToJson(const TableHealth& health) {
  Json due = Json::array();
  for (const MaintainStep& step : health.due) {
    due.push_back({{"task", step.task},
                   {"partition", step.partition},
                   {"reason", step.reason},
                   {"files", step.files},
                   {"bytes", step.bytes},
                   {"rows", step.rows}});
  }
  return {{"small_files", health.small_files},
          {"unsorted_files", health.unsorted_files},
          {"overlapping_files", health.overlapping_files},
          {"hint_lag", health.hint_lag},
          {"due", std::move(due)}};
}

// Files, or snapshots, by task.
std::string Due(const TableHealth& health) {
  std::map<std::string, int64_t> counts;
  for (const MaintainStep& step : health.due) counts[step.task] += step.files;
  std::vector<std::string> parts;
  for (const auto& [task, count] : counts) {
    const char* what = task == "expiry" ? "snapshot" : task == "manifests" ? "manifest" : "file";
    parts.push_back(fmt::format("{} of {}", task, Counted(count, what)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json ToJson(const TableInfo& info, const arrow::Schema& schema) {
  Json columns = Json::array();
  for (const auto& field : schema.fields()) {
    columns.push_back({{"name", field->name()},
                       {"type", TypeName(*field->type())},
                       {"required", !field->nullable()}});
  }
  Json retention = info.retention_us ? Json(*info.retention_us / 1'000'000) : Json();
  return {{"table", info.name},
          {"location", info.location},
          {"version", info.version},
          {"table_uuid", info.table_uuid},
          {"format_version", info.format_version},
          {"time_column", TextOrNull(info.time_column)},
          {"series_key", info.series_key},
          {"chunk", TextOrNull(info.chunk)},
          {"partition_by", info.partition_by},
          {"dedup", info.dedup},
          {"ingest_time_column", TextOrNull(info.ingest_time_column)},
          {"retention_seconds", std::move(retention)},
          {"rollup_of", TextOrNull(RollupSourceOf(info.properties))},
          {"rollups", RollupsOf(info.properties)},
          {"rows", info.rows},
          {"files", info.files},
          {"bytes", info.bytes},
          {"delete_files", info.delete_files},
          {"snapshots", info.snapshots},
          {"manifests", info.manifests},
          {"last_value_index", TextOrNull(info.last_value_index)},
          {"batch_id_horizon_ms", info.batch_id_horizon_ms},
          {"foreign_snapshots", info.foreign_snapshots},
          {"shared", info.shared},
          {"hint_version", info.hint_version},
          {"columns", std::move(columns)},
          {"properties", info.properties}};
}

std::vector<std::pair<std::string, std::string>> Lines(const TableInfo& info,
                                                       const TableHealth& health) {
  const bool plain = info.time_column.empty();
  std::vector<std::pair<std::string, std::string>> lines = {
      {"table", info.name},
      {"location", info.location},
      {"version", fmt::format("{}, table format {}", info.version, info.format_version)},
      {"rows", Count(info.rows)},
      {"files", fmt::format("{}, {}", Count(info.files), Bytes(info.bytes))},
      {"snapshots",
       fmt::format("{}, {}", Count(info.snapshots), Counted(info.manifests, "manifest"))},
      {"time column",
       plain ? "none, a plain table"
             : fmt::format("{}, one partition for each {}", info.time_column, info.chunk)},
  };
  const auto add = [&lines](bool condition, const char* name, std::string value) {
    if (condition) lines.emplace_back(name, std::move(value));
  };
  add(!info.series_key.empty(), "series key", fmt::format("{}", fmt::join(info.series_key, ", ")));
  add(!info.partition_by.empty(), "partitions",
      fmt::format("{}", fmt::join(info.partition_by, ", ")));
  add(!plain, "dedup", info.dedup ? "one row for each series and time" : "off");
  add(!plain, "retention", info.retention_us ? Duration(*info.retention_us) : "for ever");
  add(!plain, "latest rows", info.last_value_index.empty() ? "no index" : "indexed");
  add(!info.ingest_time_column.empty(), "ingest time", info.ingest_time_column);
  add(info.delete_files > 0, "delete files", Count(info.delete_files));
  add(info.shared, "shared", "other engines write here");
  add(!info.foreign_snapshots.empty(), "replaced by",
      fmt::format("{}", fmt::join(info.foreign_snapshots, ", ")));
  add(health.small_files > 1, "small files", Count(health.small_files));
  add(health.unsorted_files > 0, "not in order", Counted(health.unsorted_files, "file"));
  add(health.overlapping_files > 0, "overlapping", Counted(health.overlapping_files, "file"));
  add(!health.due.empty(), "due", Due(health));
  add(info.batch_id_horizon_ms > 0, "batch ids",
      "known since " + UtcFromMillis(info.batch_id_horizon_ms));
  add(info.hint_version != info.version, "version hint",
      info.hint_version == 0 ? "missing or unreadable"
                             : fmt::format("names {}", info.hint_version));
  return lines;
}

std::string ToText(const TableInfo& info, const TableHealth& health, const arrow::Schema& schema) {
  std::string text;
  for (const auto& [name, value] : Lines(info, health)) {
    text += fmt::format("{:<12}  {}\n", name, ForTerminal(value));
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& field : schema.fields()) {
    rows.push_back({ForTerminal(field->name()), TypeName(*field->type()),
                    field->nullable() ? "" : "never NULL"});
  }
  return text + "\n" + RenderTable({{"column"}, {"type"}, {""}}, rows);
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const TableInfo info, table.Info());
  // Of a table that can only be read here there is nothing to be done.
  auto health = Health(table);
  const bool read_only = KindOf(health.status()) == ErrorKind::kUnsupported;
  if (!health.ok() && !read_only) return health.status();
  const TableHealth known = health.ok() ? *health : TableHealth{};
  if (!arguments.json) return PrintOut(ToText(info, known, *table.schema()));
  Json json = ToJson(info, *table.schema());
  json["health"] = read_only ? Json() : ToJson(known);
  return PrintJson(json);
}

}  // namespace

void AddInfo(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("info", "Show what a table is and how large it is");
  AddTableName(command, &arguments->table);
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake info cpu\n"
              "  timelake info iot.readings --json\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
