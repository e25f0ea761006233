#include "sql/error.h"

#include <array>
#include <string>

#include <duckdb/common/error_data.hpp>
#include <duckdb/common/exception.hpp>

namespace timelake::sql {

namespace {

// Key under which an exception of ours carries its kind through DuckDB.
constexpr char kKindKey[] = "timelake_kind";

constexpr std::array kAllKinds = {ErrorKind::kInvalidArgument, ErrorKind::kNotFound,
                                  ErrorKind::kAlreadyExists,   ErrorKind::kConflict,
                                  ErrorKind::kCommitUnknown,   ErrorKind::kCorrupt,
                                  ErrorKind::kUnsupported,     ErrorKind::kIo,
                                  ErrorKind::kCancelled,       ErrorKind::kInternal};

ErrorKind KindOfType(duckdb::ExceptionType type) {
  using duckdb::ExceptionType;
  switch (type) {
    case ExceptionType::IO:
    case ExceptionType::NETWORK:
    case ExceptionType::HTTP:
    case ExceptionType::OUT_OF_MEMORY:
    case ExceptionType::PERMISSION: return ErrorKind::kIo;
    case ExceptionType::INTERRUPT: return ErrorKind::kCancelled;
    case ExceptionType::NOT_IMPLEMENTED:
    case ExceptionType::MISSING_EXTENSION:
    case ExceptionType::AUTOLOAD: return ErrorKind::kUnsupported;
    case ExceptionType::INTERNAL:
    case ExceptionType::FATAL:
    case ExceptionType::NULL_POINTER:
    case ExceptionType::INVALID: return ErrorKind::kInternal;
    default: return ErrorKind::kInvalidArgument;
  }
}

duckdb::ExceptionType TypeOfKind(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kAlreadyExists: return duckdb::ExceptionType::INVALID_INPUT;
    case ErrorKind::kUnsupported: return duckdb::ExceptionType::NOT_IMPLEMENTED;
    case ErrorKind::kCancelled: return duckdb::ExceptionType::INTERRUPT;
    default: return duckdb::ExceptionType::IO;
  }
}

}  // namespace

void Throw(const Status& status) {
  const ErrorKind kind = KindOf(status);
  duckdb::unordered_map<duckdb::string, duckdb::string> extra;
  extra[kKindKey] = std::string(KindName(kind));
  throw duckdb::Exception(extra, TypeOfKind(kind), MessageOf(status));
}

Status FromDuckDb(const duckdb::ErrorData& error, bool* fatal) {
  ErrorKind kind = KindOfType(error.Type());
  const auto& extra = error.ExtraInfo();
  if (auto found = extra.find(kKindKey); found != extra.end()) {
    for (ErrorKind candidate : kAllKinds) {
      if (KindName(candidate) == found->second) kind = candidate;
    }
  }
  if (fatal && (duckdb::Exception::InvalidatesDatabase(error.Type()) ||
                error.Type() == duckdb::ExceptionType::INTERNAL)) {
    *fatal = true;
  }
  // Only a statement timeout adds to that.
  static constexpr char kStopped[] = "the query was cancelled";
  if (kind == ErrorKind::kCancelled && error.RawMessage().rfind(kStopped, 0) != 0) {
    return MakeError(kind, kStopped);
  }
  // Internal errors of DuckDB come with a stack of addresses.
  std::string message = error.RawMessage();
  if (const auto stack = message.find("\n\nStack Trace:"); stack != std::string::npos) {
    message.resize(stack);
  }
  return MakeError(kind, std::move(message));
}

Status FromCurrentException(bool* fatal) {
  try {
    throw;
  } catch (const std::exception& e) {
    return FromDuckDb(duckdb::ErrorData(e), fatal);
  } catch (...) {
    return InternalError("unknown exception from the query engine");
  }
}

}  // namespace timelake::sql
