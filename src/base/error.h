#pragma once

#include <string>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

#include "timelake/error.h"

// Errors inside the library: arrow::Status and arrow::Result with a timelake::ErrorKind as detail.
// Use ARROW_RETURN_NOT_OK / ARROW_ASSIGN_OR_RAISE (or the TL_ short forms below).

namespace timelake {

using arrow::Result;
using arrow::Status;

[[nodiscard]] Status MakeError(ErrorKind kind, std::string message);

// Same kind, message "context: message". Ok stays ok.
[[nodiscard]] Status WithContext(const Status& status, const std::string& context);

// The bare message, without Arrow's "Invalid: " code prefix and detail suffix.
std::string MessageOf(const Status& status);

template <typename... Args>
[[nodiscard]] Status InvalidArgument(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kInvalidArgument, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status NotFound(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kNotFound, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status AlreadyExists(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kAlreadyExists, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status Conflict(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kConflict, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status CommitUnknown(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kCommitUnknown, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status Corrupt(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kCorrupt, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status Unsupported(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kUnsupported, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status IoError(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kIo, fmt::format(f, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] Status InternalError(fmt::format_string<Args...> f, Args&&... args) {
  return MakeError(ErrorKind::kInternal, fmt::format(f, std::forward<Args>(args)...));
}

}  // namespace timelake

#define TL_RETURN_NOT_OK(expr) ARROW_RETURN_NOT_OK(expr)
#define TL_ASSIGN_OR_RAISE(lhs, expr) ARROW_ASSIGN_OR_RAISE(lhs, expr)
