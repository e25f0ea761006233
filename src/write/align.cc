#include "write/align.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/scalar.h>

#include "base/civil_time.h"
#include "base/duration.h"
#include "base/parallel.h"
#include "base/text.h"
#include "iceberg/arrow_schema.h"

namespace timelake::write {
namespace {

bool IsKey(const table::Contract& contract, int field_id) {
  return std::find(contract.key_ids.begin(), contract.key_ids.end(), field_id) !=
         contract.key_ids.end();
}

Status UnknownColumn(const Target& target, const std::string& name) {
  const auto known = iceberg::FieldNames(target.schema);
  const auto near = NearestName(name, known);
  return InvalidArgument(
      "table {}: column {} of the data is not in the table's schema{}; known are {}",
      target.table_name, Quote(name), near ? fmt::format(" (did you mean {}?)", Quote(*near)) : "",
      Join(known, ", "));
}

// Below so many rows a thread costs more than it saves.
constexpr int64_t kFewRows = 65536;

template <typename Array>
Status CheckNoNan(const Place& place, const arrow::Array& array) {
  const auto& numbers = static_cast<const Array&>(array);
  for (int64_t i = 0; i < numbers.length(); ++i) {
    if (numbers.IsValid(i) && std::isnan(numbers.Value(i))) {
      return InvalidArgument("{}: NaN in a series key column; accepted are numbers and null",
                             place.At(i));
    }
  }
  return Status::OK();
}

}  // namespace

Result<Aligner> Aligner::Make(const Target& target, const arrow::Schema& input,
                              const WriteOptions& options) {
  // The kernels that convert and gather register themselves once per process.
  static const Status initialized = arrow::compute::Initialize();
  TL_RETURN_NOT_OK(initialized);
  std::map<std::string, int> by_name;
  for (int i = 0; i < input.num_fields(); ++i) {
    const std::string& name = input.field(i)->name();
    if (!by_name.emplace(name, i).second) {
      return InvalidArgument("table {}: the data has two columns {}", target.table_name,
                             Quote(name));
    }
    if (iceberg::FindField(target.schema, name) == nullptr) return UnknownColumn(target, name);
  }
  Aligner aligner(&target, options);
  for (const iceberg::Field& field : target.schema.fields) {
    const auto found = by_name.find(field.name);
    aligner.source_.push_back(found == by_name.end() ? -1 : found->second);
    if (found != by_name.end() || target.contract.ingest_time_id == field.id) continue;
    const bool contractual =
        target.contract.time_id == field.id || IsKey(target.contract, field.id);
    if (field.required || contractual) {
      return InvalidArgument("table {}: the data has no column {}, which is {}", target.table_name,
                             Quote(field.name),
                             target.contract.time_id == field.id ? "the table's time column"
                             : contractual                       ? "part of its series key"
                                                                 : "required");
    }
  }
  return aligner;
}

void Aligner::NameRows(std::function<int64_t(int64_t row)> place_of, std::string unit) {
  place_of_ = std::move(place_of);
  unit_ = std::move(unit);
}

Place Aligner::PlaceOf(const iceberg::Field& field) const {
  const auto row_of = [this, first = rows_in_ + 1](int64_t position) {
    return place_of_ ? place_of_(first + position) : first + position;
  };
  return {target_->table_name, field.name, row_of, unit_};
}

int64_t Aligner::latest_us() const {
  if (target_->settings.max_future_us == table::kNoMaxFuture) {
    return std::numeric_limits<int64_t>::max();
  }
  int64_t latest = 0;
  const bool beyond =
      __builtin_add_overflow(options_.now_us, target_->settings.max_future_us, &latest);
  return beyond ? std::numeric_limits<int64_t>::max() : latest;
}

int64_t Aligner::earliest_us() const {
  const auto& retention = target_->contract.retention_us;
  int64_t earliest = std::numeric_limits<int64_t>::min();
  if (!retention || target_->settings.on_expired == table::OnExpired::kKeep ||
      __builtin_sub_overflow(options_.now_us, *retention, &earliest)) {
    return std::numeric_limits<int64_t>::min();
  }
  return earliest;
}

Result<std::shared_ptr<arrow::RecordBatch>> Aligner::Align(const arrow::RecordBatch& batch) {
  if (Status broken = batch.Validate(); !broken.ok()) {
    return InvalidArgument("table {}: broken Arrow data: {}", target_->table_name,
                           MessageOf(broken));
  }
  const int64_t rows = batch.num_rows();
  arrow::FieldVector fields(source_.size());
  arrow::ArrayVector columns(source_.size());
  std::vector<Status> outcomes(source_.size());
  const int threads = rows < kFewRows ? 1 : options_.threads;
  TL_RETURN_NOT_OK(ParallelColumns(static_cast<int>(source_.size()), threads, [&](int i) {
    const iceberg::Field& field = target_->schema.fields[i];
    auto column = AlignColumn(batch, i);
    outcomes[i] = column.ok() ? CheckColumn(field, **column) : column.status();
    if (!outcomes[i].ok()) return Status::OK();
    fields[i] = arrow::field(field.name, (*column)->type(), !field.required);
    columns[i] = *std::move(column);
    return Status::OK();
  }));
  // The first column with an error is named, whichever thread was first.
  for (Status& outcome : outcomes) TL_RETURN_NOT_OK(std::move(outcome));
  TL_ASSIGN_OR_RAISE(auto aligned,
                     DropOutside(arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows,
                                                          std::move(columns))));
  rows_in_ += rows;
  return aligned;
}

Result<std::shared_ptr<arrow::Array>> Aligner::AlignColumn(const arrow::RecordBatch& batch,
                                                           size_t column) const {
  const iceberg::Field& field = target_->schema.fields[column];
  if (source_[column] >= 0) {
    return Convert(PlaceOf(field), batch.column(source_[column]), field.type, true);
  }
  if (target_->contract.ingest_time_id == field.id) {
    const arrow::TimestampScalar now(options_.now_us, iceberg::ToArrow(field.type));
    return arrow::MakeArrayFromScalar(now, batch.num_rows());
  }
  return arrow::MakeArrayOfNull(iceberg::ToArrow(field.type), batch.num_rows());
}

Status Aligner::CheckColumn(const iceberg::Field& field, const arrow::Array& array) const {
  const bool is_time = target_->contract.time_id == field.id;
  if ((field.required || is_time) && array.null_count() > 0) {
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsValid(i)) continue;
      return InvalidArgument("{}: null, but the column is {}", PlaceOf(field).At(i),
                             is_time ? "the table's time column" : "required");
    }
  }
  if (!IsKey(target_->contract, field.id)) return Status::OK();
  if (array.type_id() == arrow::Type::FLOAT) {
    return CheckNoNan<arrow::FloatArray>(PlaceOf(field), array);
  }
  if (array.type_id() == arrow::Type::DOUBLE) {
    return CheckNoNan<arrow::DoubleArray>(PlaceOf(field), array);
  }
  return Status::OK();
}

// One row of a far year would be everyone's latest for good: see the setting max-future. What is
// older than retention would be there until the next maintenance only.
Result<std::shared_ptr<arrow::RecordBatch>> Aligner::DropOutside(
    std::shared_ptr<arrow::RecordBatch> batch) {
  if (!target_->contract.is_time_series()) return batch;
  const iceberg::Field& field =
      *iceberg::FindFieldById(target_->schema, *target_->contract.time_id);
  const auto time = batch->GetColumnByName(field.name);
  const auto& times = static_cast<const arrow::TimestampArray&>(*time);
  const int64_t latest = latest_us();
  const int64_t earliest = earliest_us();
  const int64_t* values = times.raw_values();
  const int64_t* end = values + times.length();
  const auto late = [latest](int64_t value) { return value > latest; };
  const auto old = [earliest](int64_t value) { return value < earliest; };
  const int64_t beyond = std::count_if(values, end, late);
  const int64_t expired = std::count_if(values, end, old);
  if (beyond == 0 && expired == 0) return batch;
  if (beyond > 0 && options_.on_future == OnFuture::kError) {
    const int64_t row = std::find_if(values, end, late) - values;
    return InvalidArgument(
        "{}: {} is later than {}, which is now plus the setting max-future ({}); accepted are "
        "earlier times, a larger max-future, or skipping such rows",
        PlaceOf(field).At(row), FormatTimestamp(values[row]), FormatTimestamp(latest),
        FormatDuration(target_->settings.max_future_us));
  }
  if (expired > 0 && target_->settings.on_expired == table::OnExpired::kError) {
    const int64_t row = std::find_if(values, end, old) - values;
    return InvalidArgument(
        "{}: {} is earlier than {}, which is now minus the setting retention ({}), like {} rows of "
        "this batch in all; accepted are later times, a longer retention, or on-expired = skip or "
        "keep",
        PlaceOf(field).At(row), FormatTimestamp(values[row]), FormatTimestamp(earliest),
        FormatDuration(*target_->contract.retention_us), expired);
  }
  arrow::BooleanBuilder keep;
  TL_RETURN_NOT_OK(keep.Reserve(times.length()));
  for (const int64_t* value = values; value != end; ++value) {
    keep.UnsafeAppend(!late(*value) && !old(*value));
  }
  TL_ASSIGN_OR_RAISE(auto mask, keep.Finish());
  skipped_ += beyond + expired;
  TL_ASSIGN_OR_RAISE(arrow::Datum kept, arrow::compute::Filter(arrow::Datum(batch), mask));
  return kept.record_batch();
}

}  // namespace timelake::write
