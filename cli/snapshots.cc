#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "human.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"
#include "time_text.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string table;
  bool json = false;
};

Json ToJson(const std::vector<SnapshotInfo>& snapshots) {
  Json list = Json::array();
  for (const SnapshotInfo& snapshot : snapshots) {
    Json parent = snapshot.parent_id ? Json(fmt::format("{}", *snapshot.parent_id)) : Json();
    list.push_back({{"snapshot_id", fmt::format("{}", snapshot.snapshot_id)},
                    {"parent_id", std::move(parent)},
                    {"sequence_number", snapshot.sequence_number},
                    {"time", UtcFromMillis(snapshot.timestamp_ms)},
                    {"operation", snapshot.operation},
                    {"current", snapshot.current},
                    {"summary", snapshot.summary}});
  }
  return list;
}

// A number of the summary, e.g. "+1,000"; empty where other writers left it out.
std::string SummaryCount(const SnapshotInfo& snapshot, const char* key, const char* sign = "") {
  const auto found = snapshot.summary.find(key);
  if (found == snapshot.summary.end() || found->second == "0") return "";
  const std::string& digits = found->second;
  const bool number =
      digits.size() <= 18 && digits.find_first_not_of("0123456789") == std::string::npos;
  return sign + (number ? Count(std::stoll(digits)) : digits);
}

std::string ToText(const std::vector<SnapshotInfo>& snapshots) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(snapshots.size());
  for (const SnapshotInfo& snapshot : snapshots) {
    rows.push_back({fmt::format("{}", snapshot.snapshot_id), UtcFromMillis(snapshot.timestamp_ms),
                    snapshot.operation, SummaryCount(snapshot, "added-records", "+"),
                    SummaryCount(snapshot, "deleted-records", "-"),
                    SummaryCount(snapshot, "total-records"), snapshot.current ? "current" : ""});
  }
  return RenderTable({{"snapshot", true},
                      {"time"},
                      {"operation"},
                      {"added", true},
                      {"deleted", true},
                      {"rows", true},
                      {""}},
                     rows);
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Table table, context->OpenTable(arguments.table));
  ARROW_ASSIGN_OR_RAISE(const auto snapshots, table.Snapshots());
  return arguments.json ? PrintJson(ToJson(snapshots)) : PrintOut(ToText(snapshots));
}

}  // namespace

void AddSnapshots(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("snapshots", "List a table's snapshots, oldest first");
  AddTableName(command, &arguments->table);
  AddJsonFlag(command, &arguments->json);
  SetExamples(command,
              "  timelake snapshots cpu\n"
              "  timelake snapshots cpu --json\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
