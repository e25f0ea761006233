#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "arguments.h"
#include "commands.h"
#include "console.h"
#include "human.h"
#include "input_files.h"
#include "interrupt.h"
#include "result_writer.h"
#include "sql_script.h"

namespace timelake::cli {
namespace {

struct Arguments {
  std::string query;
  std::string file;
  std::vector<std::string> params;
  std::vector<std::string> settings;
  SessionOptions session;
  OutputArguments output;
};

Result<std::string> ScriptText(const Arguments& arguments) {
  if (!arguments.file.empty()) {
    if (!arguments.query.empty())
      return UsageError("the statements are given twice: QUERY and --file");
    return ReadTextFile(arguments.file);
  }
  if (arguments.query.empty() || arguments.query == "-") return ReadStdin();
  return arguments.query;
}

void SayTime(int64_t rows, double seconds, OutputFormat format) {
  if (format != OutputFormat::kNone && !StderrIsTerminal()) return;
  Say("note", fmt::format("{} in {}", Counted(rows, "row"), Seconds(seconds)));
}

// What DuckDB returns for a statement without a result of its own.
bool IsTally(const arrow::Schema& schema) {
  if (schema.num_fields() != 1) return false;
  const std::string& name = schema.field(0)->name();
  return name == "Count" || name == "Success";
}

Status RunStatement(Session* session, const std::string& statement, const Params& params,
                    OutputFormat format, ResultWriter* writer) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  if (Stopping()) return Status::Cancelled("interrupted");
  ARROW_ASSIGN_OR_RAISE(auto reader, session->Sql(statement, ParamsFor(statement, params)));
  if (!IsQuery(statement) && IsTally(*reader->schema())) {
    const auto nowhere = MakeResultWriter(OutputFormat::kNone, nullptr);
    return WriteResult(reader.get(), nowhere.get()).status();
  }
  ARROW_ASSIGN_OR_RAISE(const int64_t rows, WriteResult(reader.get(), writer));
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  SayTime(rows, elapsed.count(), format);
  return Status::OK();
}

// An error of a script says which statement failed; those before it took effect.
Status InScript(const Status& status, size_t index, size_t count) {
  if (status.ok() || count == 1 || IsBrokenPipe(status)) return status;
  return status.WithMessage(
      fmt::format("statement {} of {}: {}", index + 1, count, status.message()));
}

Status Run(Context* context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(const OutputFormat format, ToOutputFormat(arguments.output));
  ARROW_ASSIGN_OR_RAISE(const auto settings, ParsePairs(arguments.settings, "--set"));
  ARROW_ASSIGN_OR_RAISE(const Params params, ParseParams(arguments.params));
  ARROW_ASSIGN_OR_RAISE(const std::string text, ScriptText(arguments));
  ARROW_ASSIGN_OR_RAISE(const auto statements, SplitScript(text));
  ARROW_RETURN_NOT_OK(CheckParamsUsed(statements, params));
  const auto queries = std::count_if(statements.begin(), statements.end(), IsQuery);
  if (IsBinary(format) && queries > 1) {
    return UsageError(fmt::format("--format {} holds one result, and {} statements have one",
                                  arguments.output.format, queries));
  }

  ARROW_ASSIGN_OR_RAISE(const Lake lake, context->OpenLake(settings));
  ARROW_ASSIGN_OR_RAISE(Session session, Session::Open(lake, arguments.session));
  ARROW_ASSIGN_OR_RAISE(auto stream, ResultStream::Open(arguments.output.file));
  const auto writer = MakeResultWriter(format, stream);
  const StopWatcher watcher([&session] { session.Interrupt(); });
  for (size_t i = 0; i < statements.size(); ++i) {
    const Status status = RunStatement(&session, statements[i], params, format, writer.get());
    ARROW_RETURN_NOT_OK(InScript(status, i, statements.size()));
  }
  return stream->Commit();
}

void AddSessionOptions(CLI::App* command, Arguments* arguments) {
  command
      ->add_option("--namespace", arguments->session.name_space,
                   "Where table names without a namespace are looked up (default: default)")
      ->type_name("NAME");
  AddRepeated(command, "--param", &arguments->params,
              "The value of $NAME: an integer, a number, true, false, else text. NAME:=JSON gives "
              "null, or text like \"12\". The names 1, 2, ... are $1 or ?")
      ->type_name("NAME=VALUE");
  AddRepeated(command, "--set", &arguments->settings,
              "A setting for this session; may be given several times")
      ->type_name("NAME=VALUE");
  auto* threads = command->add_option("--threads", arguments->session.threads,
                                      "Threads of the query (default: as many as the machine has)");
  RequireAtLeast(1, threads->type_name("NUMBER"));
  command
      ->add_option("--memory-limit", arguments->session.memory_limit,
                   "Most memory of the query, e.g. 2GB")
      ->type_name("SIZE");
  command
      ->add_option("--temp-directory", arguments->session.temp_directory,
                   "Folder for what does not fit into memory (default: none)")
      ->type_name("FOLDER");
}

}  // namespace

void AddSql(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app->add_subcommand("sql", "Run SQL on the tables and print the results");
  command
      ->add_option("QUERY", arguments->query,
                   "One or more statements; read from standard input if missing")
      ->type_name("");
  command->add_option("-f,--file", arguments->file, "A file of statements, - for standard input")
      ->type_name("FILE");
  AddSessionOptions(command, arguments.get());
  AddOutputOptions(command, &arguments->output);
  SetExamples(command,
              "  timelake sql \"SELECT host, avg(usage) FROM cpu GROUP BY host\"\n"
              "  timelake sql \"FROM cpu WHERE host = \\$host\" --param host=web-1 --format csv\n"
              "  timelake sql -f report.sql --format parquet --output report.parquet\n");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Run(context, *arguments); };
  });
}

}  // namespace timelake::cli
