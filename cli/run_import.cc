#include "run_import.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "console.h"
#include "human.h"
#include "interrupt.h"
#include "report.h"

namespace timelake::cli {
namespace {

Json ToJson(const std::string& table, const ImportResult& result, double seconds) {
  return {{"table", table},
          {"rows", result.rows},
          {"skipped", result.skipped},
          {"files", result.files},
          {"bytes", result.bytes},
          {"commits", result.commits},
          {"duplicates", result.duplicates},
          {"version", result.version},
          {"added_columns", result.added_columns},
          {"seconds", seconds}};
}

std::string ToText(const std::string& table, const ImportResult& result, double seconds) {
  std::string text = fmt::format("{}: {} appended in {} ({}, {}), version {}, {}", table,
                                 Counted(result.rows, "row"), Counted(result.commits, "commit"),
                                 Counted(result.files, "file"), Bytes(result.bytes), result.version,
                                 Seconds(seconds));
  if (!result.added_columns.empty()) {
    text += fmt::format("; new columns: {}", fmt::join(result.added_columns, ", "));
  }
  if (result.skipped > 0) {
    text += fmt::format("; {} too far in the future skipped", Counted(result.skipped, "row"));
  }
  if (result.duplicates > 0) {
    text += fmt::format("; {} known by batch id and not repeated",
                        Counted(result.duplicates, "commit"));
  }
  return text;
}

// What an import that failed leaves behind.
std::string Aftermath(const Status& status, const ImportResult& committed) {
  if (KindOf(status) == ErrorKind::kCommitUnknown) {
    return "whether the last commit is in the table is not known; repeat with the same --batch-id";
  }
  if (committed.commits == 0) return "nothing was committed";
  return fmt::format("{} with {} made before the error stay, version {}",
                     Counted(committed.commits, "commit"), Counted(committed.rows, "row"),
                     committed.version);
}

}  // namespace

Status RunImport(Context* context, const std::string& table, bool json, const InputFiles& files,
                 ImportOptions options, const ImportCall& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  options.append.cancelled = [] { return Stopping(); };

  ImportResult committed;
  auto outcome = [&] {
    ProgressBar bar(table);
    options.progress = [&bar](int64_t rows, int64_t done, int64_t total) {
      bar.Update(rows, done, total);
    };
    return call(options, &committed);
  }();
  if (outcome.ok()) {
    return PrintReport(json, ToJson(table, *outcome, seconds()),
                       ToText(table, *outcome, seconds()));
  }
  const Status& status = outcome.status();
  const std::string message = files.Reworded(status.message());
  context->after_error = Aftermath(status, committed);
  if (json) {
    Json report = ToJson(table, committed, seconds());
    report["error"] = message;
    ARROW_RETURN_NOT_OK(PrintJson(report));
  }
  return status.WithMessage(message);
}

}  // namespace timelake::cli
