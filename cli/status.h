#pragma once

#include <string>

#include <arrow/result.h>
#include <arrow/status.h>

namespace timelake::cli {

using arrow::Result;
using arrow::Status;

// The exit codes, promised in docs/cli.md. A command that Ctrl-C or a closed pipe ended dies of the
// signal, as shells expect.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// The command line is wrong, not the table: exit code 2.
[[nodiscard]] Status UsageError(std::string message);
bool IsUsageError(const Status& status);

// Whoever read our output went away; not worth a message.
[[nodiscard]] Status BrokenPipe();
bool IsBrokenPipe(const Status& status);

// An error of the operating system: "<what>: <text of errno>".
[[nodiscard]] Status SystemError(const std::string& what, int error_number);

}  // namespace timelake::cli
