// date_trunc on TIMESTAMP and TIMESTAMP WITH TIME ZONE: integer arithmetic before DuckDB's function
// where the answer is the same, since ICU needs up to a microsecond a row. With a zone only while
// the session's is UTC; all else (centuries, units that vary by row) goes to DuckDB as before.

#include "sql/functions/date_trunc.h"

#include <utility>

#include <duckdb/catalog/catalog_entry/scalar_function_catalog_entry.hpp>
#include <duckdb/common/enums/date_part_specifier.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/common/vector_operations/unary_executor.hpp>
#include <duckdb/execution/expression_executor_state.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/extension/extension_loader.hpp>

#include "base/text.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::Vector;

template <typename T>
std::optional<T> ConstantOf(const Vector& vector) {
  if (vector.GetVectorType() != duckdb::VectorType::CONSTANT_VECTOR) return std::nullopt;
  if (duckdb::ConstantVector::IsNull(vector)) return std::nullopt;
  return *duckdb::ConstantVector::GetData<T>(vector);
}

void Execute(TimeFloor grid, Vector& times, duckdb::idx_t count, Vector& result) {
  duckdb::UnaryExecutor::Execute<duckdb::timestamp_t, duckdb::timestamp_t>(
      times, result, count, [&](duckdb::timestamp_t time) {
        if (!duckdb::Timestamp::IsFinite(time)) return time;
        int64_t bucket = 0;
        // The result may not be one of the two values that mean infinity.
        if (!grid.Apply(time.value, &bucket) ||
            !duckdb::Timestamp::IsFinite(duckdb::timestamp_t(bucket))) {
          throw duckdb::OutOfRangeException("date_trunc: the start of the unit is out of range");
        }
        return duckdb::timestamp_t(bucket);
      });
}

bool SessionSettingIs(duckdb::ClientContext& context, const char* setting,
                      std::initializer_list<const char*> accepted) {
  duckdb::Value value;
  if (!context.TryGetCurrentSetting(setting, value) || value.IsNull()) return false;
  const std::string text = ToLowerAscii(value.ToString());
  for (const char* candidate : accepted) {
    if (text == candidate) return true;
  }
  return false;
}

std::optional<TimeFloor> TruncGrid(duckdb::DataChunk& args, duckdb::ExpressionState& state,
                                   bool zoned) {
  const auto part = ConstantOf<duckdb::string_t>(args.data[0]);
  if (!part || !state.HasContext()) return std::nullopt;
  return DateTruncGrid(state.GetContext(), part->GetString(), zoned);
}

duckdb::scalar_function_t WrapDateTrunc(duckdb::scalar_function_t original, bool zoned) {
  return [original = std::move(original), zoned](duckdb::DataChunk& args,
                                                 duckdb::ExpressionState& state, Vector& result) {
    const auto grid = TruncGrid(args, state, zoned);
    if (!grid) return original(args, state, result);
    Execute(*grid, args.data[1], args.size(), result);
  };
}

// The overload with these arguments, with our arithmetic around what it executes. Its bind function
// and statistics stay, so what DuckDB's code finds at run time is what it put there.
void Wrap(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader& loader, const char* name,
          const duckdb::vector<LogicalType>& arguments) {
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
    ours.SetFunctionCallback(WrapDateTrunc(overload.GetFunctionCallback(), zoned));
    loader.RegisterFunction(std::move(ours));
    return;
  }
}

}  // namespace

std::optional<TimeFloor> DateTruncGrid(duckdb::ClientContext& context, const std::string& part,
                                       bool zoned) {
  duckdb::DatePartSpecifier specifier;
  if (!duckdb::TryGetDatePartSpecifier(part, specifier)) return std::nullopt;
  if (zoned &&
      !SessionSettingIs(context, "TimeZone", {"utc", "etc/utc", "gmt", "etc/gmt", "zulu", "uct"})) {
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
  if (zoned && !SessionSettingIs(context, "Calendar", {"gregorian", "iso8601"}))
    return std::nullopt;
  switch (specifier) {
    case duckdb::DatePartSpecifier::MONTH: return TimeFloor::Months(1, 0);
    case duckdb::DatePartSpecifier::QUARTER: return TimeFloor::Months(3, 0);
    case duckdb::DatePartSpecifier::YEAR: return TimeFloor::Months(12, 0);
    default: return std::nullopt;
  }
}

void RegisterDateTrunc(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader& loader) {
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ)}) {
    Wrap(database, loader, "date_trunc", {LogicalType::VARCHAR, time});
    Wrap(database, loader, "datetrunc", {LogicalType::VARCHAR, time});
  }
}

}  // namespace timelake::sql
