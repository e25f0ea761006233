#include "command_line.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "output_stream.h"
#include "suggest.h"

namespace timelake::cli {
namespace {

constexpr char kFooter[] = R"(Examples:
  timelake import weather weather.csv.gz --time-column time --series-key station
  timelake sql "SELECT station, avg(temp) FROM weather GROUP BY station"
  timelake append --help

Results go to standard output; errors, notes and progress to standard error.
Exit codes: 0 done, 1 failed, 2 the command line is wrong.)";

void AddGlobalOptions(CLI::App* app, Context* context) {
  context->warehouse = "./warehouse";
  app->add_option("-w,--warehouse", context->warehouse,
                  "Folder or URI that holds the tables (default: ./warehouse)")
      ->type_name("FOLDER")
      ->envname("TIMELAKE_WAREHOUSE");
  app->add_option("-o,--option", context->storage_options,
                  "An option of the storage; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app->add_option("--cache-dir", context->cache_dir,
                  "Folder that keeps what was read of an object store, for all processes")
      ->type_name("FOLDER")
      ->envname("TIMELAKE_CACHE_DIR");
  app->add_option("--cache-bytes", context->cache_bytes, "Size of that folder (default: 4 GiB)")
      ->type_name("BYTES")
      ->envname("TIMELAKE_CACHE_BYTES");
  app->add_flag("-v,--verbose", context->verbosity,
                "Say what the library does, on standard error; -vv says more");
  app->set_version_flag(
      "-V,--version", fmt::format("timelake {} (table format {})", kVersion, kTableFormatVersion));
}

void AddCommands(CLI::App* app, Context* context) {
  app->require_subcommand(1);
  app->fallthrough();  // for the commands: they take the global options, too
  AddCreate(app, context);
  AddAppend(app, context);
  AddImport(app, context);
  AddSql(app, context);
  AddLatest(app, context);
  AddInfo(app, context);
  AddLs(app, context);
  AddSnapshots(app, context);
  AddFiles(app, context);
  AddAlter(app, context);
  AddSettings(app, context);
  AddDelete(app, context);
  AddRollback(app, context);
  AddRollup(app, context);
  AddMaintain(app, context);
  AddRelocate(app, context);
  AddPublish(app, context);
  AddVerify(app, context);
  AddDrop(app, context);
  AddDuckdb(app, context);
  for (CLI::App* command : app->get_subcommands({})) command->group("Commands");
  app->get_formatter()->label("SUBCOMMAND", "COMMAND");
}

// Descriptions wrapped to the width of the page, under the column that CLI11 starts them in.
std::string Wrapped(const std::string& help) {
  constexpr size_t kWidth = 100;
  constexpr size_t kIndent = 30;
  std::string text;
  for (size_t start = 0; start < help.size();) {
    const size_t end = std::min(help.find('\n', start), help.size());
    std::string line = help.substr(start, end - start);
    while (line.size() > kWidth) {
      const size_t space = line.rfind(' ', kWidth);
      if (space == std::string::npos || space <= kIndent) break;
      text.append(line, 0, space).push_back('\n');
      line = std::string(kIndent, ' ') + line.substr(space + 1);
    }
    text.append(line).push_back('\n');
    start = end + 1;
  }
  return text;
}

const CLI::App& Selected(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

// All words that may stand where `word` stands: commands, or options.
std::vector<std::string> Candidates(const CLI::App& app, bool option) {
  std::vector<std::string> names;
  if (!option) {
    for (const auto* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }
  for (const CLI::App* owner : {&Selected(app), &app}) {
    for (const auto* known : owner->get_options()) {
      for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

// What is wrong with the command line, in our words where CLI11's are of little help.
std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  if (rest.empty() || error.get_name() == "ValidationError") {
    if (app.get_subcommands().empty() && error.get_name() == "RequiredError") {
      return "no command is given";
    }
    return error.what();
  }
  const std::string word = rest.front().substr(0, rest.front().find('='));
  const bool option = word.starts_with("-");
  const bool command = !option && app.get_subcommands().empty();
  const std::string what = option ? "option" : command ? "command" : "argument";
  std::string text = fmt::format("unknown {} \"{}\"", what, word);
  if (option || command) {
    const std::string nearest = Nearest(word, Candidates(app, option));
    if (!nearest.empty()) text += fmt::format(", did you mean \"{}\"?", nearest);
  }
  return text;
}

int Usage(const CLI::App& app, const std::string& message) {
  Say("error", message);
  const std::string& command = Selected(app).get_name();
  Say("note", fmt::format("see timelake {}{}--help", command == app.get_name() ? "" : command,
                          command == app.get_name() ? "" : " "));
  return kExitUsage;
}

int Finish(const CLI::App& app, const Context& context, const Status& status) {
  context.SayCounters();
  if (status.ok()) return kExitOk;
  if (IsBrokenPipe(status)) DieOf(SIGPIPE);
  if (IsUsageError(status)) return Usage(app, status.message());
  Say("error", Stopping() ? "interrupted" : status.message());
  if (!context.after_error.empty()) Say("note", context.after_error);
  if (Stopping()) DieOf(StopSignal());
  return kExitFailed;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CLI::App app("Time-series tables in your own folder, as Apache Iceberg", "timelake");
  Context context;
  AddGlobalOptions(&app, &context);
  AddCommands(&app, &context);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Finish(app, context, PrintOut(Wrapped(app.help())));
  } catch (const CLI::CallForVersion& version) {
    return Finish(app, context, PrintOut(std::string(version.what()) + "\n"));
  } catch (const CLI::ParseError& error) {
    return Usage(app, Explain(app, error));
  }
  Status status;
  try {
    status = context.action();
  } catch (const std::exception& error) {  // no memory, at most: nothing of ours throws
    status = Status::UnknownError(error.what());
  }
  return Finish(app, context, status);
}

}  // namespace timelake::cli
