#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "human.h"
#include "interrupt.h"
#include "output_stream.h"
#include "report.h"
#include "text_table.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string name;
  std::string select;
  std::vector<std::string> settings;
  RollupOptions create;
  RefreshRollupOptions refresh;
  bool if_exists = false;
  bool json = false;
};

Status PrintRefresh(const RollupRefresh& done, bool json) {
  const Json object = {{"rollup", done.rollup},
                       {"rows", done.rows},
                       {"ranges", done.ranges},
                       {"left", done.left},
                       {"changed", done.changed}};
  std::string text = fmt::format("{}: nothing new", done.rollup);
  if (done.changed) {
    text = fmt::format("{}: {} written", done.rollup, Counted(done.rows, "row"));
  }
  if (done.left > 0) {
    text += fmt::format(", {} of time left for the next run", Counted(done.left, "range"));
  }
  return PrintReport(json, object, text);
}

Status Create(Context* context, const Arguments& arguments) {
  RollupOptions options = arguments.create;
  options.cancelled = [] { return Stopping(); };
  ARROW_ASSIGN_OR_RAISE(options.settings, ParsePairs(arguments.settings, "--set"));
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  ARROW_ASSIGN_OR_RAISE(const auto done,
                        lake.CreateRollup(arguments.name, arguments.select, options));
  return PrintRefresh(done, arguments.json);
}

Status Refresh(Context* context, const Arguments& arguments) {
  RefreshRollupOptions options = arguments.refresh;
  options.cancelled = [] { return Stopping(); };
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  ARROW_ASSIGN_OR_RAISE(const auto done, lake.RefreshRollup(arguments.name, options));
  return PrintRefresh(done, arguments.json);
}

Status List(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  ARROW_ASSIGN_OR_RAISE(const auto rollups, lake.ListRollups());
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const RollupInfo& rollup : rollups) {
    list.push_back({{"rollup", rollup.rollup},
                    {"source", rollup.source},
                    {"width", rollup.width},
                    {"keys", rollup.keys},
                    {"aggregates", rollup.aggregates},
                    {"filter", rollup.filter.empty() ? Json() : Json(rollup.filter)},
                    {"refresh_interval", rollup.refresh_interval},
                    {"retention", rollup.retention.empty() ? Json() : Json(rollup.retention)},
                    {"stale", rollup.stale}});
    rows.push_back({rollup.rollup, rollup.source, rollup.width,
                    fmt::format("{}", fmt::join(rollup.keys, ", ")),
                    fmt::format("{}", fmt::join(rollup.aggregates, ", ")),
                    rollup.stale ? "behind" : "up to date"});
  }
  if (arguments.json) return PrintJson(list);
  return PrintOut(
      RenderTable({{"rollup"}, {"of"}, {"width"}, {"keys"}, {"aggregates"}, {"state"}}, rows));
}

Status Drop(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, context->OpenLake());
  const Status status = lake.DropRollup(arguments.name);
  const bool missing = KindOf(status) == ErrorKind::kNotFound && arguments.if_exists;
  if (!status.ok() && !missing) return status;
  return PrintReport(arguments.json, {{"rollup", arguments.name}, {"dropped", status.ok()}},
                     fmt::format("{}: {}", arguments.name, missing ? "does not exist" : "dropped"));
}

using Action = Status (*)(Context*, const Arguments&);

CLI::App* AddAction(CLI::App* app, Context* context, const char* name, const char* description,
                    const std::shared_ptr<Arguments>& arguments, Action action) {
  CLI::App* command = app->add_subcommand(name, description);
  AddJsonFlag(command, &arguments->json);
  command->callback([context, arguments, action] {
    context->action = [context, arguments, action] { return action(context, *arguments); };
  });
  return command;
}

void AddName(CLI::App* command, Arguments* arguments) {
  command->add_option("ROLLUP", arguments->name, "The rollup, as [namespace.]name")
      ->required()
      ->type_name("");
}

}  // namespace

void AddRollup(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* group = app->add_subcommand(
      "rollup", "Tables of aggregates that are kept up to date and answer queries");
  group->require_subcommand(1);

  CLI::App* create = AddAction(group, context, "create", "Make a rollup by its query, and fill it",
                               arguments, Create);
  AddName(create, arguments.get());
  create
      ->add_option("SELECT", arguments->select,
                   "SELECT columns, time_bucket(width, time) AS bucket, aggregates FROM table "
                   "[WHERE ...] GROUP BY ALL")
      ->required()
      ->type_name("");
  create->add_flag("--replace", arguments->create.or_replace, "Make a rollup of that name anew");
  create->add_flag("--if-not-exists", arguments->create.if_not_exists,
                   "Leave a rollup of that name as it is");
  AddRepeated(create, "--set", &arguments->settings,
              "A setting of the rollup: retention, rollup-refresh-interval, ...; may be given "
              "several times")
      ->type_name("NAME=VALUE");

  CLI::App* refresh =
      AddAction(group, context, "refresh", "Bring a rollup up to date", arguments, Refresh);
  AddName(refresh, arguments.get());
  refresh->add_flag("--full", arguments->refresh.full, "Compute all buckets anew");
  RequireAtLeast(0, refresh
                        ->add_option("--max-bytes", arguments->refresh.max_bytes,
                                     "Of data files that are read; the next run goes on "
                                     "(default: 0, no limit)")
                        ->type_name("BYTES"));

  AddAction(group, context, "ls", "List the rollups", arguments, List);

  CLI::App* drop = AddAction(group, context, "drop", "Drop a rollup", arguments, Drop);
  AddName(drop, arguments.get());
  drop->add_flag("--if-exists", arguments->if_exists, "A rollup that does not exist is no error");

  SetExamples(group,
              "  timelake rollup create cpu_1h \"SELECT host, time_bucket('1h', time) AS bucket, "
              "avg(usage) AS usage FROM cpu GROUP BY ALL\" --set retention=2y\n"
              "  timelake rollup refresh cpu_1h\n"
              "  timelake rollup ls\n");
}

}  // namespace timelake::cli
