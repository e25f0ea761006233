// Runs the queries of a file against a warehouse and prints each one's median time: for profiling.
//
//   profile_queries WAREHOUSE QUERIES [runs=9] [threads=2] [only=NAME]
//
// The file has one query a line, its name before the first blank.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "timelake/lake.h"
#include "timelake/session.h"

namespace {

using Clock = std::chrono::steady_clock;

timelake::SessionOptions Options(int threads) {
  timelake::SessionOptions options;
  options.threads = threads;
  return options;
}

arrow::Result<int64_t> Run(timelake::Session& session, const std::string& text) {
  ARROW_ASSIGN_OR_RAISE(auto reader, session.Sql(text));
  int64_t rows = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
  while (true) {
    ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (!batch) return rows;
    rows += batch->num_rows();
  }
}

arrow::Status Main(const std::vector<std::string>& arguments) {
  int runs = 9;
  int threads = 2;
  std::string only;
  for (size_t i = 2; i < arguments.size(); ++i) {
    const auto split = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, split), value = arguments[i].substr(split + 1);
    if (name == "runs") runs = std::stoi(value);
    if (name == "threads") threads = std::stoi(value);
    if (name == "only") only = value;
  }
  ARROW_ASSIGN_OR_RAISE(auto lake, timelake::Lake::Open(arguments.at(0)));
  ARROW_ASSIGN_OR_RAISE(auto session, timelake::Session::Open(lake, Options(threads)));
  std::ifstream file(arguments.at(1));
  for (std::string line; std::getline(file, line);) {
    const auto blank = line.find(' ');
    if (blank == std::string::npos || line[0] == '#') continue;
    const std::string name = line.substr(0, blank), text = line.substr(blank + 1);
    if (!only.empty() && name != only) continue;
    std::vector<double> times;
    int64_t rows = 0;
    for (int run = 0; run <= runs; ++run) {
      const auto start = Clock::now();
      auto result = Run(session, text);
      if (!result.ok()) return result.status().WithMessage(name, ": ", result.status().message());
      rows = *result;
      const std::chrono::duration<double, std::milli> took = Clock::now() - start;
      if (run > 0) times.push_back(took.count());
    }
    std::sort(times.begin(), times.end());
    std::printf("%-28s %9.2f ms  (%.2f .. %.2f) %10lld rows\n", name.c_str(),
                times[times.size() / 2], times.front(), times.back(), static_cast<long long>(rows));
    std::fflush(stdout);
  }
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) {
    std::cerr << "profile_queries WAREHOUSE QUERIES [runs=9] [threads=2] [only=NAME]\n";
    return 2;
  }
  const arrow::Status status = Main(arguments);
  if (!status.ok()) std::cerr << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
