#pragma once

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <arrow/io/interfaces.h>
#include <parquet/exception.h>

#include "table/env.h"

namespace timelake::table {

// A data file for Parquet's reader. Errors of the store are tagged with their kind on the way, so
// that what has no kind afterwards came from Parquet itself: the bytes are wrong.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenSource(const Env& env,
                                                                const std::string& uri,
                                                                std::optional<int64_t> size);

// A failed call into Parquet as an error of ours that names the file: the store's errors keep
// their kind, "not implemented" is kUnsupported, everything else kCorrupt.
Status ParquetError(const std::string& uri, const std::string& where, const Status& status);

namespace internal {

template <typename T>
struct AsResult {
  using type = Result<T>;
};
template <typename T>
struct AsResult<Result<T>> {
  using type = Result<T>;
};
template <>
struct AsResult<Status> {
  using type = Status;
};

}  // namespace internal

// Runs a call into Parquet, which reports by exception or by status; nothing escapes.
template <typename F>
auto CatchParquet(F&& call) -> typename internal::AsResult<decltype(call())>::type {
  try {
    return call();
  } catch (const parquet::ParquetStatusException& e) {
    return e.status();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory("out of memory");
  } catch (const std::exception& e) {
    return Status::Invalid(e.what());
  }
}

}  // namespace timelake::table
