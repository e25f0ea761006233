#include "sql/functions/grid_maker.h"

#include <algorithm>
#include <utility>

#include <duckdb/common/error_data.hpp>
#include <duckdb/common/types/data_chunk.hpp>
#include <duckdb/common/types/interval.hpp>
#include <duckdb/execution/expression_executor.hpp>
#include <duckdb/function/function_binder.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/planner/expression/bound_reference_expression.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;

// timezone(zone, instant), which gives what the zone's clock shows, bound to two columns.
class LocalTimes {
 public:
  LocalTimes(duckdb::ClientContext& context, std::string zone) : zone_(std::move(zone)) {
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> children;
    children.push_back(
        duckdb::make_uniq<duckdb::BoundReferenceExpression>(LogicalType::VARCHAR, 0));
    children.push_back(
        duckdb::make_uniq<duckdb::BoundReferenceExpression>(LogicalType::TIMESTAMP_TZ, 1));
    duckdb::ErrorData error;
    duckdb::FunctionBinder binder(context);
    call_ = binder.BindScalarFunction(DEFAULT_SCHEMA, "timezone", std::move(children), error);
    if (!call_) error.Throw();
    executor_ = std::make_unique<duckdb::ExpressionExecutor>(context, *call_);
    rows_.Initialize(duckdb::Allocator::DefaultAllocator(),
                     {LogicalType::VARCHAR, LogicalType::TIMESTAMP_TZ});
  }

  void Offsets(const std::vector<int64_t>& instants, int64_t* offsets) {
    constexpr size_t kRows = STANDARD_VECTOR_SIZE;
    for (size_t begin = 0; begin < instants.size(); begin += kRows) {
      const size_t count = std::min(kRows, instants.size() - begin);
      rows_.Reset();
      rows_.data[0].Reference(duckdb::Value(zone_));
      auto* times = duckdb::FlatVector::GetData<int64_t>(rows_.data[1]);
      std::copy_n(instants.begin() + static_cast<ptrdiff_t>(begin), count, times);
      rows_.SetCardinality(count);
      duckdb::Vector local(LogicalType::TIMESTAMP, count);
      executor_->ExecuteExpression(rows_, local);
      local.Flatten(count);
      const auto* shown = duckdb::FlatVector::GetData<int64_t>(local);
      for (size_t i = 0; i < count; ++i) {
        offsets[begin + i] = shown[i] - instants[begin + i];
      }
    }
  }

 private:
  std::string zone_;
  duckdb::unique_ptr<duckdb::Expression> call_;
  std::unique_ptr<duckdb::ExpressionExecutor> executor_;
  duckdb::DataChunk rows_;
};

}  // namespace

std::shared_ptr<ZoneClock> MakeZoneClock(duckdb::ClientContext& context, const std::string& zone) {
  auto local = std::make_shared<LocalTimes>(context, zone);
  int64_t offset = 0;
  try {
    local->Offsets({0}, &offset);
  } catch (const std::exception&) {
    Throw(InvalidArgument(
        "time zone {}: not known; `FROM pg_timezone_names()` lists the names, such as "
        "Europe/Paris or UTC",
        Quote(zone)));
  }
  return std::make_shared<ZoneClock>(
      [local](const std::vector<int64_t>& instants, int64_t* offsets) {
        local->Offsets(instants, offsets);
      });
}

Status GridArguments::SetWidth(const duckdb::interval_t& interval) {
  return MakeBucketWidth(interval.months, interval.days, interval.micros).Value(&width);
}

Status GridArguments::SetOffset(const duckdb::interval_t& interval) {
  int64_t micros = 0;
  if (__builtin_mul_overflow(int64_t{interval.days}, kMicrosPerDay, &micros) ||
      __builtin_add_overflow(micros, interval.micros, &micros)) {
    return InvalidArgument("offset: {} days are too many", interval.days);
  }
  shift_months = interval.months;
  shift_micros = micros;
  return Status::OK();
}

Status GridArguments::SetZoneOrOrigin(const std::string& text, bool zoned) {
  if (const auto time = ParseTimestamp(text); time.ok()) {
    origin = time->micros;
    return Status::OK();
  }
  if (!zoned) {
    return InvalidArgument(
        "argument {}: not an origin such as '2026-01-01'; and a time zone goes only with times of "
        "type TIMESTAMP WITH TIME ZONE",
        Quote(text));
  }
  if (text.empty()) return InvalidArgument("time zone: it is empty");
  zone = text;
  return Status::OK();
}

void GridMaker::Fail(const Status& status) const { Throw(WithContext(status, function_)); }

BucketGrid* GridMaker::Get(const GridArguments& arguments) {
  if (grid_ && arguments == arguments_) return &*grid_;
  BucketGrid::Options options;
  options.width = arguments.width;
  options.origin = arguments.origin;
  options.shift_months = arguments.shift_months;
  options.shift_micros = arguments.shift_micros;
  if (!arguments.zone.empty()) options.zone = ClockOf(arguments.zone);
  auto grid = BucketGrid::Make(options);
  if (!grid.ok()) Fail(grid.status());
  grid_ = *std::move(grid);
  arguments_ = arguments;
  return &*grid_;
}

std::shared_ptr<ZoneClock> GridMaker::ClockOf(const std::string& zone) {
  auto& clock = clocks_[zone];
  if (!clock) {
    const Status made = Guard([&] {
      clock = MakeZoneClock(context_, zone);
      return Status::OK();
    });
    if (!made.ok()) Fail(made);
  }
  return clock;
}

}  // namespace timelake::sql
