#pragma once

#include <exception>

#include "base/error.h"

// The border to DuckDB: it throws, we return. Inside its callbacks a Status becomes an exception,
// and at the entry points of this folder an exception becomes a Status again, with the same kind.

namespace duckdb {
class ErrorData;
}

namespace timelake::sql {

// Throws `status` as a DuckDB exception that remembers the kind. Never an InternalException or a
// fatal one: those invalidate the whole database instance.
[[noreturn]] void Throw(const Status& status);

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) Throw(status);
}

template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result.ok()) Throw(result.status());
  return std::move(result).ValueUnsafe();
}

// DuckDB's error with its text, but without "Binder Error: " in front. `fatal`, if given, is set
// when the database instance can no longer be used.
Status FromDuckDb(const duckdb::ErrorData& error, bool* fatal = nullptr);

// The exception that is being handled; call inside `catch (...)`.
Status FromCurrentException(bool* fatal = nullptr);

// Runs `body`, which returns a Status or Result, and turns what it throws into a Status.
template <typename Body>
auto Guard(const Body& body, bool* fatal = nullptr) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return FromCurrentException(fatal);
  }
}

}  // namespace timelake::sql
