#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "console.h"
#include "human.h"
#include "interrupt.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"
#include "timelake/maintain.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::vector<std::string> tables;
  std::vector<std::string> settings;
  std::string shard;
  bool no_compact = false;
  bool no_rollups = false;
  bool no_retention = false;
  bool no_manifests = false;
  bool no_expire = false;
  bool no_orphans = false;
  bool json = false;
  MaintainOptions options;
};

Json ToJson(const std::string& table, const MaintainReport& report) {
  Json planned = Json::array();
  for (const MaintainStep& step : report.planned) {
    planned.push_back({{"task", step.task},
                       {"partition", step.partition},
                       {"reason", step.reason},
                       {"files", step.files},
                       {"bytes", step.bytes},
                       {"rows", step.rows}});
  }
  return {{"table", table},
          {"planned", std::move(planned)},
          {"partitions_dropped", report.partitions_dropped},
          {"files_dropped", report.files_dropped},
          {"rows_dropped", report.rows_dropped},
          {"files_held_back", report.files_held_back},
          {"partitions_compacted", report.partitions_compacted},
          {"files_rewritten", report.files_rewritten},
          {"files_written", report.files_written},
          {"rows_rewritten", report.rows_rewritten},
          {"bytes_rewritten", report.bytes_rewritten},
          {"bytes_written", report.bytes_written},
          {"duplicates_removed", report.duplicates_removed},
          {"rows_deleted", report.rows_deleted},
          {"delete_files_removed", report.delete_files_removed},
          {"merges_abandoned", report.merges_abandoned},
          {"merges_left", report.merges_left},
          {"bytes_left", report.bytes_left},
          {"index_rebuilt", report.index_rebuilt},
          {"manifests_rewritten", report.manifests_rewritten},
          {"manifests_written", report.manifests_written},
          {"snapshots_expired", report.snapshots_expired},
          {"versions_freed", report.versions_freed},
          {"objects_deleted", report.objects_deleted},
          {"orphans_deleted", report.orphans_deleted},
          {"orphan_bytes", report.orphan_bytes},
          {"orphans_young", report.orphans_young},
          {"rollups_refreshed", report.rollups_refreshed},
          {"rollup_rows", report.rollup_rows},
          {"seconds", report.seconds}};
}

// What would be dropped and merged, partition by partition.
std::string PlanText(const std::string& table, const MaintainReport& report) {
  if (report.planned.empty()) return table + ": nothing to drop, merge or delete\n";
  std::vector<std::vector<std::string>> rows;
  std::map<std::string, int64_t> files;  // by task
  int64_t bytes = 0;
  for (const MaintainStep& step : report.planned) {
    rows.push_back({step.partition.empty() ? "-" : step.partition, Count(step.files),
                    Bytes(step.bytes), Count(step.rows), step.reason});
    files[step.task] += step.files;
    bytes += step.bytes;
  }
  std::vector<std::string> parts;
  const auto add = [&](const char* task, const char* verb, const char* what) {
    if (files[task] > 0) parts.push_back(fmt::format("{} {}", verb, Counted(files[task], what)));
  };
  const auto behind = std::count_if(report.planned.begin(), report.planned.end(),
                                    [](const auto& step) { return step.task == "rollups"; });
  if (behind > 0) parts.push_back("refresh " + Counted(behind, "rollup"));
  add("retention", "drop", "file");
  add("compaction", "merge", "file");
  add("manifests", "cluster", "manifest");
  add("expiry", "expire", "snapshot");
  add("orphans", "delete", "orphan");
  return fmt::format("{}: would {}, {}\n", table, fmt::join(parts, " and "), Bytes(bytes)) +
         RenderTable({{"partition"}, {"files", true}, {"size", true}, {"rows", true}, {"reason"}},
                     rows);
}

std::string DoneText(const std::string& table, const MaintainReport& report) {
  std::string text = table + ":";
  if (report.rollups_refreshed > 0) {
    text += fmt::format(" {} refreshed ({}),", Counted(report.rollups_refreshed, "rollup"),
                        Counted(report.rollup_rows, "row"));
  }
  if (report.files_dropped > 0) {
    text += fmt::format(" {} of {} dropped,", Counted(report.rows_dropped, "row"),
                        Counted(report.partitions_dropped, "past partition"));
  }
  if (report.files_rewritten > 0) {
    text += fmt::format(" {} of {} merged into {},", Counted(report.files_rewritten, "file"),
                        Counted(report.partitions_compacted, "partition"), report.files_written);
  }
  if (report.duplicates_removed > 0) {
    text += fmt::format(" {} replaced,", Counted(report.duplicates_removed, "row"));
  }
  if (report.delete_files_removed > 0) {
    text += fmt::format(" {} and {} applied,", Counted(report.delete_files_removed, "delete file"),
                        Counted(report.rows_deleted, "deleted row"));
  }
  if (report.index_rebuilt) text += " last-value index built again,";
  if (report.manifests_rewritten > 0) {
    text += fmt::format(" {} clustered into {},", Counted(report.manifests_rewritten, "manifest"),
                        report.manifests_written);
  }
  if (report.snapshots_expired > 0) {
    text += fmt::format(" {} expired,", Counted(report.snapshots_expired, "snapshot"));
  }
  if (report.objects_deleted > 0) {
    text += fmt::format(" {} deleted,", Counted(report.objects_deleted, "object"));
  }
  if (report.orphans_deleted > 0) {
    text += fmt::format(" {} deleted ({}),", Counted(report.orphans_deleted, "orphan"),
                        Bytes(report.orphan_bytes));
  }
  if (text.ends_with(':')) text += " nothing to do,";
  text += " " + Seconds(report.seconds) + "\n";
  if (report.merges_left > 0) {
    text += fmt::format("{}: {} left for the next run ({})\n", table,
                        Counted(report.merges_left, "merge"), Bytes(report.bytes_left));
  }
  if (report.merges_abandoned > 0) {
    text += fmt::format("{}: {} given up, as another writer changed the files; run it again\n",
                        table, Counted(report.merges_abandoned, "merge"));
  }
  return text;
}

// "2/5"
Status ParseShard(const std::string& text, MaintainOptions* options) {
  if (text.empty()) return Status::OK();
  int length = 0;
  const int read =
      std::sscanf(text.c_str(), "%9d/%9d%n", &options->shard, &options->shards, &length);
  if (read == 2 && static_cast<size_t>(length) == text.size() && options->shard >= 0 &&
      options->shard < options->shards) {
    return Status::OK();
  }
  return UsageError(fmt::format(
      "--shard {}: accepted is I/N, the number of shards N and which of them, 0 to N - 1", text));
}

// A table that fails is reported, the others are done, and the command fails in the end.
Status Run(Context* context, const Arguments& arguments) {
  MaintainOptions options = arguments.options;
  options.compact = !arguments.no_compact;
  options.rollups = !arguments.no_rollups;
  options.retention = !arguments.no_retention;
  options.manifests = !arguments.no_manifests;
  options.expire = !arguments.no_expire;
  options.orphans = !arguments.no_orphans;
  options.cancelled = [] { return Stopping(); };
  ARROW_RETURN_NOT_OK(ParseShard(arguments.shard, &options));
  ARROW_ASSIGN_OR_RAISE(options.settings, ParsePairs(arguments.settings, "--set"));
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  std::vector<std::string> names = arguments.tables;
  if (names.empty()) {
    ARROW_ASSIGN_OR_RAISE(names, lake.ListTables());
  }
  Json list = Json::array();
  Status first_error;
  for (const std::string& name : names) {
    auto report = [&]() -> Result<MaintainReport> {
      ARROW_ASSIGN_OR_RAISE(Table table, lake.OpenTable(name));
      return Maintain(table, options);
    }();
    if (!report.ok()) {
      if (!first_error.ok()) Say("error", first_error.message());
      first_error = report.status();
      if (Stopping()) break;
      continue;
    }
    list.push_back(ToJson(name, *report));
    if (arguments.json) continue;
    ARROW_RETURN_NOT_OK(
        PrintOut(options.dry_run ? PlanText(name, *report) : DoneText(name, *report)));
  }
  if (arguments.tables.empty() && !Stopping()) {
    ARROW_ASSIGN_OR_RAISE(const auto dropped, MaintainDropped(lake, options));
    for (const DroppedTable& table : dropped) {
      if (!table.status.ok()) {
        if (!first_error.ok()) Say("error", first_error.message());
        first_error = table.status;
      }
      const MaintainReport& report = table.report;
      if (report.objects_deleted == 0 && report.planned.empty()) continue;
      list.push_back(ToJson(table.name, report));
      if (arguments.json) continue;
      const std::string name = table.name + " (dropped)";
      ARROW_RETURN_NOT_OK(
          PrintOut(options.dry_run ? PlanText(name, report) : DoneText(name, report)));
    }
  }
  if (arguments.json) ARROW_RETURN_NOT_OK(PrintJson(list));
  return first_error;
}

}  // namespace

void AddMaintain(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand(
      "maintain",
      "Refresh rollups, drop past partitions, merge small files, expire snapshots");
  command->add_option("TABLES", arguments->tables, "Tables (default: all)")->type_name("");
  command->add_flag("--dry-run", arguments->options.dry_run,
                    "Only show what would be dropped and merged, and why");
  command->add_flag("--no-compact", arguments->no_compact, "Merge no files");
  command->add_flag("--no-rollups", arguments->no_rollups, "Refresh no rollups");
  command->add_flag("--no-retention", arguments->no_retention, "Drop no past partitions");
  command->add_flag("--exact", arguments->options.exact,
                    "Delete single rows past retention, too, out of partitions that stay");
  command->add_flag("--no-manifests", arguments->no_manifests, "Leave manifests as they are");
  command->add_flag("--no-expire", arguments->no_expire, "Expire no snapshots and delete nothing");
  command->add_flag("--no-orphans", arguments->no_orphans,
                    "Leave objects that no version refers to");
  command
      ->add_option("--orphan-min-age", arguments->options.orphan_min_age,
                   "Younger objects are no orphans (default: 3d; below 24h only with --force)")
      ->type_name("DURATION");
  command->add_flag("--force", arguments->options.force,
                    "Take --orphan-min-age below 24h: no writer may be at work");
  command->add_flag("--full", arguments->options.full,
                    "Merge every partition as a whole, also where nothing asks for it");
  RequireAtLeast(0, command
                        ->add_option("--max-bytes", arguments->options.max_bytes,
                                     "Of data files that are read; the next run goes on "
                                     "(default: 0, no limit)")
                        ->type_name("BYTES"));
  command
      ->add_option(
          "--max-seconds", arguments->options.max_seconds,
          "Nothing that takes long begins later; what is done is committed (default: 0, no limit)")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--shard", arguments->shard,
                   "Do only this share of the work: I of N, counted from 0, on as many machines")
      ->type_name("I/N");
  AddRepeated(command, "--set", &arguments->settings,
              "A setting for this run only; may be given several times")
      ->type_name("NAME=VALUE");
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake maintain\n"
              "  timelake maintain cpu --dry-run\n"
              "  timelake maintain cpu mem --max-seconds 600 --json\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
