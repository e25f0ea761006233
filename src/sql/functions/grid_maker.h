#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sql/functions/bucket_grid.h"

namespace duckdb {
class ClientContext;
struct interval_t;
}  // namespace duckdb

namespace timelake::sql {

// What the arguments of time_bucket but the time come to.
struct GridArguments {
  BucketWidth width;
  std::optional<int64_t> origin;
  int64_t shift_months = 0;
  int64_t shift_micros = 0;
  std::string zone;  // empty: none given

  bool operator==(const GridArguments&) const = default;

  // One argument each, InvalidArgument naming it if it does not do.
  Status SetWidth(const duckdb::interval_t& interval);
  Status SetOffset(const duckdb::interval_t& interval);
  // The name of a zone, or a time, which is an origin. `zoned`: the times that are bucketed are
  // instants, so that a zone makes sense.
  Status SetZoneOrOrigin(const std::string& text, bool zoned);
};

// Makes grids for one call of a function in one thread; remembers the last one, and the clocks of
// zones.
class GridMaker {
 public:
  // `function` is named in errors.
  GridMaker(duckdb::ClientContext& context, std::string function)
      : context_(context), function_(std::move(function)) {}

  // Valid until the next call. Throws.
  BucketGrid* Get(const GridArguments& arguments);

  [[noreturn]] void Fail(const Status& status) const;

 private:
  std::shared_ptr<ZoneClock> ClockOf(const std::string& zone);

  duckdb::ClientContext& context_;
  std::string function_;
  GridArguments arguments_;
  std::optional<BucketGrid> grid_;
  std::map<std::string, std::shared_ptr<ZoneClock>> clocks_;
};

// The clock of a zone by its name, through ICU. Throws if there is no such zone.
std::shared_ptr<ZoneClock> MakeZoneClock(duckdb::ClientContext& context, const std::string& zone);

}  // namespace timelake::sql
