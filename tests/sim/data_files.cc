#include "sim/data_files.h"

#include <map>

#include <arrow/api.h>

#include "sim/config.h"
#include "sim/sim_clock.h"
#include "sim/world.h"
#include "store/memory_store.h"
#include "table/contract.h"
#include "table/settings.h"
#include "write/write.h"

namespace timelake::sim {
namespace {

// A clock that stands: nothing about a data file may depend on when it was made.
class StoppedClock : public Clock {
 public:
  int64_t NowMicros() override { return kEpochUs; }
  int64_t BootMicros() override { return 0; }
  void SleepMicros(int64_t) override {}
};

Result<std::shared_ptr<arrow::Array>> Times(const std::vector<Row>& rows) {
  arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"),
                                arrow::default_memory_pool());
  for (const Row& row : rows) {
    TL_RETURN_NOT_OK(times.Append(kFirstTimeUs + row.time * kTimeStepUs));
  }
  return times.Finish();
}

// Of series, or of a column of values.
Result<std::shared_ptr<arrow::Array>> Numbers(const std::vector<Row>& rows, int column) {
  arrow::Int64Builder numbers;
  for (const Row& row : rows) {
    if (column == 2) {
      TL_RETURN_NOT_OK(numbers.Append(row.series));
    } else if (row.column == column) {
      TL_RETURN_NOT_OK(numbers.Append(row.value));
    } else {
      TL_RETURN_NOT_OK(numbers.AppendNull());
    }
  }
  return numbers.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<Row>& rows,
                                                    const iceberg::Schema& schema) {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (const iceberg::Field& field : schema.fields) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(),
                       field.id == 1 ? Times(rows) : Numbers(rows, field.id));
    fields.push_back(arrow::field(field.name, columns.back()->type(), !field.required));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<int64_t>(rows.size()),
                                  columns);
}

Result<iceberg::TableMetadata> NewTable(const std::string& location) {
  return table::NewTableMetadata(TableSchema(), OptionsOf(true, false), location, "", "", 0);
}

Result<DataFiles> Write(const std::vector<Row>& rows, const iceberg::Schema& schema) {
  auto clock = std::make_shared<StoppedClock>();
  table::Env env = table::MakeEnv(store::MakeMemoryStore(clock));
  env.clock = clock;
  env.random = SeededRandom(1);
  const std::string location = store::UriOf(*env.store, kFolder);
  TL_ASSIGN_OR_RAISE(const auto metadata, NewTable(location));
  TL_ASSIGN_OR_RAISE(write::Target target, TargetOf(metadata));
  target.schema = schema;
  TL_ASSIGN_OR_RAISE(auto batch, BatchOf(rows, schema));
  TL_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make({batch}));
  write::WriteOptions options;
  options.now_us = clock->NowMicros();
  options.threads = 1;
  TL_ASSIGN_OR_RAISE(auto written, write::WriteData(env, target, reader.get(), options));

  DataFiles result;
  result.newest = written.newest;
  result.schema = target.schema;
  for (size_t i = 0; i < written.files.size(); ++i) {
    auto& file = result.files.emplace_back();
    TL_ASSIGN_OR_RAISE(auto got, env.store->Get(written.keys[i]));
    file.bytes = got.bytes;
    file.file = written.files[i];
    std::string& path = file.file.file_path;
    path = path.substr((location + "/data/").size());
    path.resize(path.rfind('/') + 1);
    const int64_t day =
        std::get<int32_t>(file.file.partition[0]) - kFirstTimeUs / (2 * kTimeStepUs);
    for (const Row& row : rows) {
      if (row.time / 2 == day) file.rows.push_back(row);
    }
  }
  return result;
}

}  // namespace

Result<write::Target> TargetOf(const iceberg::TableMetadata& metadata) {
  write::Target target;
  target.table_name = "default.cpu";
  target.location_uri = metadata.location;
  target.schema = *iceberg::CurrentSchema(metadata);
  target.spec = *iceberg::DefaultSpec(metadata);
  target.order = *iceberg::DefaultSortOrder(metadata);
  TL_ASSIGN_OR_RAISE(target.contract, table::ReadContract(metadata));
  TL_ASSIGN_OR_RAISE(target.settings, table::ResolveSettings(metadata.properties));
  return target;
}

iceberg::Schema TableSchema() {
  return iceberg::ParseSchemaText("time:timestamptz, series:long, value:long").ValueOrDie();
}

const iceberg::Schema& NewSchema() {
  static const auto& schema =
      *new iceberg::Schema(*iceberg::CurrentSchema(NewTable("memory://t").ValueOrDie()));
  return schema;
}

TableOptions OptionsOf(bool dedup, bool shared) {
  TableOptions options;
  options.time_column = "time";
  options.series_key = {"series"};
  options.dedup = dedup;
  options.properties = {{"metadata-min-age", fmt::format("{}ms", kAgeUs / 1000)},
                        {"snapshot-retention", fmt::format("{}ms", kRetentionUs / 1000)},
                        {"min-snapshots", "1"}};
  if (shared) options.properties["shared"] = "true";
  return options;
}

std::string RetentionOfOneDay() {
  return fmt::format("{}s", (kEpochUs - kFirstTimeUs - 3 * kTimeStepUs) / 1'000'000);
}

int ValueColumn(const iceberg::Schema& schema) {
  const iceberg::Field* field = iceberg::FindField(schema, "value");
  return field == nullptr ? 0 : field->id;
}

table::WrittenColumns ColumnsFor(const iceberg::TableMetadata& metadata) {
  table::WrittenColumns columns;
  columns.schema = *iceberg::CurrentSchema(metadata);
  columns.given = {"time", "series", "value"};
  columns.last_column_id = metadata.last_column_id;
  if (ValueColumn(columns.schema) == 0) {
    iceberg::Field& field = columns.schema.fields.emplace_back();
    field.id = metadata.last_column_id + 1;
    field.name = "value";
    field.type.id = iceberg::TypeId::kLong;
  }
  return columns;
}

const DataFiles& FilesOf(const std::vector<Row>& rows, const iceberg::Schema& schema) {
  using Key = std::pair<std::vector<Row>, std::string>;
  static auto& made = *new std::map<Key, DataFiles>();  // under the baton
  Key key{rows, ""};
  for (const auto& field : schema.fields)
    key.second += fmt::format("{}:{}:{} ", field.id, field.name, field.required);
  auto it = made.find(key);
  if (it == made.end()) it = made.emplace(key, Write(rows, schema).ValueOrDie()).first;
  return it->second;
}

}  // namespace timelake::sim
