#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

#include "timelake/lake.h"

namespace timelake {

// A value of any type of SQL, as the text that a cast to it reads: {"2026-01-03", "DATE"}.
struct TypedText {
  std::string text;
  std::string type;
};

struct ParamList;

// A value for a query parameter (`$name`, `$1`, `?`).
using ParamValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, TypedText, ParamList>;

// A list, e.g. for `host IN $hosts`; its values must have a type in common.
struct ParamList {
  std::vector<ParamValue> values;
};

struct SessionOptions {
  std::string name_space = "default";  // where bare table names are looked up
  int threads = 0;                     // 0: as many as the machine has
  std::string memory_limit;            // e.g. "2GB"; empty: DuckDB's default
  std::string temp_directory;          // for spilling; empty: none
  // Columns of text leave as dictionary<int32, string>, each batch with a dictionary of its own,
  // instead of as string: smaller and faster where values repeat.
  bool dictionaries = false;
};

struct Params {
  std::map<std::string, ParamValue> named;
  std::vector<ParamValue> positional;
};

namespace detail {
class SessionImpl;
}

// An embedded DuckDB with the lake attached as catalog `lake`: namespaces are schemas, each query
// sees every table at its newest version. Thread-safe; queries of one session run one at a time
// (open a session per thread to run them at once). Move-only.
class Session {
 public:
  static arrow::Result<Session> Open(const Lake& lake, const SessionOptions& options = {});

  explicit Session(std::shared_ptr<detail::SessionImpl> impl);

  // Runs one statement and streams its result; the reader keeps the session alive and must be read
  // to the end or destroyed before the next statement. `kInvalidArgument` carries DuckDB's message
  // for a bad query; more than one statement is refused (see Split).
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> Sql(std::string_view text,
                                                               const Params& params = {});

  // The statements of a script, by DuckDB's parser.
  static arrow::Result<std::vector<std::string>> Split(std::string_view text);

  // Stops the running statement; callable from any thread. A no-op when none runs.
  void Interrupt();

 private:
  std::shared_ptr<detail::SessionImpl> impl_;
};

}  // namespace timelake
