#include "sql/functions/bucket_arguments.h"

#include <duckdb/common/types/date.hpp>
#include <duckdb/common/types/interval.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/execution/expression_executor.hpp>

#include "base/civil_time.h"

namespace timelake::sql {

using duckdb::LogicalTypeId;
using duckdb::UnifiedVectorFormat;

BucketArguments::BucketArguments(duckdb::DataChunk& args, duckdb::idx_t count,
                                 std::optional<duckdb::idx_t> columns)
    : zoned_(args.data[1].GetType().id() == LogicalTypeId::TIMESTAMP_TZ) {
  for (duckdb::idx_t i = 0; i < columns.value_or(args.ColumnCount()); ++i) {
    if (i == 1) continue;
    auto& vector = args.data[i];
    constant_ &= vector.GetVectorType() == duckdb::VectorType::CONSTANT_VECTOR;
    columns_.push_back({vector.GetType().id(), {}});
    vector.ToUnifiedFormat(count, columns_.back().values);
  }
}

std::optional<GridArguments> BucketArguments::At(duckdb::idx_t row, const GridMaker& maker) const {
  GridArguments arguments;
  for (const Column& column : columns_) {
    const auto index = column.values.sel->get_index(row);
    if (!column.values.validity.RowIsValid(index)) return std::nullopt;
    if (column.type == LogicalTypeId::TIMESTAMP || column.type == LogicalTypeId::TIMESTAMP_TZ) {
      const auto time = UnifiedVectorFormat::GetData<duckdb::timestamp_t>(column.values)[index];
      if (!duckdb::Timestamp::IsFinite(time)) return std::nullopt;
    } else if (column.type == LogicalTypeId::DATE) {
      const auto date = UnifiedVectorFormat::GetData<duckdb::date_t>(column.values)[index];
      if (!duckdb::Date::IsFinite(date)) return std::nullopt;
    }
    const Status set = Set(column, index, &column == &columns_.front(), &arguments);
    if (!set.ok()) maker.Fail(set);
  }
  return arguments;
}

Status BucketArguments::Set(const Column& column, duckdb::idx_t index, bool width,
                            GridArguments* arguments) const {
  switch (column.type) {
    case LogicalTypeId::INTERVAL: {
      const auto interval = UnifiedVectorFormat::GetData<duckdb::interval_t>(column.values)[index];
      return width ? arguments->SetWidth(interval) : arguments->SetOffset(interval);
    }
    case LogicalTypeId::VARCHAR: {
      const auto text =
          UnifiedVectorFormat::GetData<duckdb::string_t>(column.values)[index].GetString();
      if (width) return ParseBucketWidth(text).Value(&arguments->width);
      return arguments->SetZoneOrOrigin(text, zoned_);
    }
    case LogicalTypeId::DATE: {
      const auto date = UnifiedVectorFormat::GetData<duckdb::date_t>(column.values)[index];
      TL_ASSIGN_OR_RAISE(arguments->origin, MicrosFromDays(date.days));
      return Status::OK();
    }
    default:
      arguments->origin =
          UnifiedVectorFormat::GetData<duckdb::timestamp_t>(column.values)[index].value;
      return Status::OK();
  }
}

std::optional<GridArguments> ConstantBucketArguments(
    duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types,
    const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments,
    const GridMaker& maker) {
  duckdb::DataChunk chunk;
  chunk.Initialize(duckdb::Allocator::DefaultAllocator(), types, 1);
  for (duckdb::idx_t i = 0; i < arguments.size(); ++i) {
    if (i == 1) continue;
    if (arguments[i]->HasParameter() || !arguments[i]->IsFoldable()) return std::nullopt;
    duckdb::Value value, cast;
    if (!duckdb::ExpressionExecutor::TryEvaluateScalar(context, *arguments[i], value) ||
        !value.DefaultTryCastAs(types[i], cast, nullptr)) {
      return std::nullopt;
    }
    chunk.SetValue(i, 0, cast);
  }
  chunk.SetCardinality(1);
  return BucketArguments(chunk, 1).At(0, maker);
}

}  // namespace timelake::sql
