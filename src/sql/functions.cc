#include "sql/functions.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include <duckdb/catalog/catalog_entry/scalar_function_catalog_entry.hpp>
#include <duckdb/common/enums/date_part_specifier.hpp>
#include <duckdb/common/types/interval.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/common/vector_operations/unary_executor.hpp>
#include <duckdb/execution/expression_executor_state.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/extension/extension_loader.hpp>

#include "base/text.h"
#include "sql/time_floor.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::Vector;

// DuckDB's grids: fixed widths count from Monday 2000-01-03, months from 2000-01.
constexpr int64_t kDefaultOrigin = 10959 * kMicrosPerDay;
constexpr int64_t kDefaultOriginMonth = 360;

template <typename T>
std::optional<T> ConstantOf(const Vector& vector) {
  if (vector.GetVectorType() != duckdb::VectorType::CONSTANT_VECTOR) return std::nullopt;
  if (duckdb::ConstantVector::IsNull(vector)) return std::nullopt;
  return *duckdb::ConstantVector::GetData<T>(vector);
}

// Days are 24 hours, as they are on UTC.
std::optional<int64_t> FixedMicros(const duckdb::interval_t& interval) {
  int64_t days = 0, sum = 0;
  if (interval.months != 0) return std::nullopt;
  if (__builtin_mul_overflow(int64_t{interval.days}, kMicrosPerDay, &days)) return std::nullopt;
  if (__builtin_add_overflow(days, interval.micros, &sum)) return std::nullopt;
  return sum;
}

// A bucket grid, or nothing if this is not a case for integers (or an error, which DuckDB reports).
std::optional<TimeFloor> BucketGrid(duckdb::DataChunk& args, bool zoned) {
  const auto width = ConstantOf<duckdb::interval_t>(args.data[0]);
  if (!width) return std::nullopt;
  int64_t origin = kDefaultOrigin;
  int64_t origin_month = kDefaultOriginMonth;
  if (args.ColumnCount() == 3 && args.data[2].GetType().id() == duckdb::LogicalTypeId::INTERVAL) {
    // An offset moves the grid. One in months does not on a fixed grid, nor one in days on months.
    const auto offset = ConstantOf<duckdb::interval_t>(args.data[2]);
    const auto micros = offset ? FixedMicros(*offset) : std::nullopt;
    if (!micros || width->months != 0) return std::nullopt;
    if (__builtin_add_overflow(origin, *micros, &origin)) return std::nullopt;
  } else if (args.ColumnCount() == 3) {
    const auto given = ConstantOf<duckdb::timestamp_t>(args.data[2]);
    if (!given || !duckdb::Timestamp::IsFinite(*given)) return std::nullopt;
    origin = given->value;
    origin_month = MonthsFromMicros(origin);
  }
  if (width->months > 0 && width->days == 0 && width->micros == 0) {
    return TimeFloor::Months(width->months, origin_month);
  }
  if (zoned && width->days != 0 && width->micros != 0) return std::nullopt;
  const auto micros = FixedMicros(*width);
  if (!micros || *micros <= 0) return std::nullopt;
  return TimeFloor::Fixed(*micros, origin);
}

void Execute(TimeFloor grid, const char* function, Vector& times, duckdb::idx_t count,
             Vector& result) {
  duckdb::UnaryExecutor::Execute<duckdb::timestamp_t, duckdb::timestamp_t>(
      times, result, count, [&](duckdb::timestamp_t time) {
        if (!duckdb::Timestamp::IsFinite(time)) return time;
        int64_t bucket = 0;
        // The result may not be one of the two values that mean infinity.
        if (!grid.Apply(time.value, &bucket) ||
            !duckdb::Timestamp::IsFinite(duckdb::timestamp_t(bucket))) {
          throw duckdb::OutOfRangeException("%s: the start of the bucket is out of range",
                                            function);
        }
        return duckdb::timestamp_t(bucket);
      });
}

bool SessionSettingIs(duckdb::ExpressionState& state, const char* setting,
                      std::initializer_list<const char*> accepted) {
  if (!state.HasContext()) return false;
  duckdb::Value value;
  if (!state.GetContext().TryGetCurrentSetting(setting, value) || value.IsNull()) return false;
  const std::string text = ToLowerAscii(value.ToString());
  for (const char* candidate : accepted) {
    if (text == candidate) return true;
  }
  return false;
}

std::optional<TimeFloor> TruncGrid(duckdb::DataChunk& args, duckdb::ExpressionState& state,
                                   bool zoned) {
  const auto part = ConstantOf<duckdb::string_t>(args.data[0]);
  if (!part) return std::nullopt;
  duckdb::DatePartSpecifier specifier;
  if (!duckdb::TryGetDatePartSpecifier(part->GetString(), specifier)) return std::nullopt;
  if (zoned &&
      !SessionSettingIs(state, "TimeZone", {"utc", "etc/utc", "gmt", "etc/gmt", "zulu", "uct"})) {
    return std::nullopt;
  }
  constexpr int64_t kMonday = 4 * kMicrosPerDay;  // 1970-01-05
  switch (specifier) {
    case duckdb::DatePartSpecifier::MILLISECONDS: return TimeFloor::Fixed(kMicrosPerMilli, 0);
    case duckdb::DatePartSpecifier::SECOND:
    case duckdb::DatePartSpecifier::EPOCH: return TimeFloor::Fixed(kMicrosPerSecond, 0);
    case duckdb::DatePartSpecifier::MINUTE: return TimeFloor::Fixed(kMicrosPerMinute, 0);
    case duckdb::DatePartSpecifier::HOUR: return TimeFloor::Fixed(kMicrosPerHour, 0);
    case duckdb::DatePartSpecifier::DAY: return TimeFloor::Fixed(kMicrosPerDay, 0);
    case duckdb::DatePartSpecifier::WEEK: return TimeFloor::Fixed(7 * kMicrosPerDay, kMonday);
    default: break;
  }
  if (zoned && !SessionSettingIs(state, "Calendar", {"gregorian", "iso8601"})) return std::nullopt;
  switch (specifier) {
    case duckdb::DatePartSpecifier::MONTH: return TimeFloor::Months(1, 0);
    case duckdb::DatePartSpecifier::QUARTER: return TimeFloor::Months(3, 0);
    case duckdb::DatePartSpecifier::YEAR: return TimeFloor::Months(12, 0);
    default: return std::nullopt;
  }
}

// The overload with these arguments, with `wrap` around what it executes. Its bind function and
// statistics stay, so what DuckDB's code finds at run time is what it put there.
void Wrap(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader& loader, const char* name,
          const duckdb::vector<LogicalType>& arguments,
          duckdb::scalar_function_t (*wrap)(duckdb::scalar_function_t original, bool zoned)) {
  auto& catalog = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  auto& schema = catalog.GetSchema(transaction, DEFAULT_SCHEMA);
  const auto entry = schema.GetEntry(transaction, duckdb::CatalogType::SCALAR_FUNCTION_ENTRY, name);
  if (!entry) return;
  const bool zoned = arguments[1].id() == duckdb::LogicalTypeId::TIMESTAMP_TZ;
  for (const auto& overload :
       entry->Cast<duckdb::ScalarFunctionCatalogEntry>().functions.functions) {
    if (overload.arguments != arguments) continue;
    duckdb::ScalarFunction ours = overload;
    ours.name = name;
    ours.SetFunctionCallback(wrap(overload.GetFunctionCallback(), zoned));
    loader.RegisterFunction(std::move(ours));
    return;
  }
}

duckdb::scalar_function_t WrapTimeBucket(duckdb::scalar_function_t original, bool zoned) {
  return [original = std::move(original), zoned](duckdb::DataChunk& args,
                                                 duckdb::ExpressionState& state, Vector& result) {
    const auto grid = BucketGrid(args, zoned);
    if (!grid) return original(args, state, result);
    Execute(*grid, "time_bucket", args.data[1], args.size(), result);
  };
}

duckdb::scalar_function_t WrapDateTrunc(duckdb::scalar_function_t original, bool zoned) {
  return [original = std::move(original), zoned](duckdb::DataChunk& args,
                                                 duckdb::ExpressionState& state, Vector& result) {
    const auto grid = TruncGrid(args, state, zoned);
    if (!grid) return original(args, state, result);
    Execute(*grid, "date_trunc", args.data[1], args.size(), result);
  };
}

}  // namespace

void RegisterFunctions(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "timelake");
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ)}) {
    const LogicalType width = LogicalType::INTERVAL;
    Wrap(database, loader, "time_bucket", {width, time}, WrapTimeBucket);
    Wrap(database, loader, "time_bucket", {width, time, time}, WrapTimeBucket);
    Wrap(database, loader, "time_bucket", {width, time, LogicalType::INTERVAL}, WrapTimeBucket);
    Wrap(database, loader, "date_trunc", {LogicalType::VARCHAR, time}, WrapDateTrunc);
    Wrap(database, loader, "datetrunc", {LogicalType::VARCHAR, time}, WrapDateTrunc);
  }
}

}  // namespace timelake::sql
