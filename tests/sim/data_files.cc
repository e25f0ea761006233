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

Result<std::shared_ptr<arrow::RecordBatch>> BatchOf(const std::vector<Row>& rows) {
  const auto time_type = arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
  arrow::TimestampBuilder times(time_type, arrow::default_memory_pool());
  arrow::Int64Builder series, values;
  for (const Row& row : rows) {
    TL_RETURN_NOT_OK(times.Append(kFirstTimeUs + row.time * kTimeStepUs));
    TL_RETURN_NOT_OK(series.Append(row.series));
    TL_RETURN_NOT_OK(values.Append(row.value));
  }
  arrow::ArrayVector columns(3);
  TL_RETURN_NOT_OK(times.Finish(&columns[0]));
  TL_RETURN_NOT_OK(series.Finish(&columns[1]));
  TL_RETURN_NOT_OK(values.Finish(&columns[2]));
  const auto schema =
      arrow::schema({arrow::field("time", time_type, false), arrow::field("series", arrow::int64()),
                     arrow::field("value", arrow::int64())});
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), columns);
}

Result<DataFiles> Write(const std::vector<Row>& rows) {
  auto clock = std::make_shared<StoppedClock>();
  table::Env env = table::MakeEnv(store::MakeMemoryStore(clock));
  env.clock = clock;
  env.random = SeededRandom(1);
  const std::string location = store::UriOf(*env.store, kFolder);
  TL_ASSIGN_OR_RAISE(auto metadata, table::NewTableMetadata(TableSchema(), OptionsOf(true, false),
                                                            location, "", "", 0));
  TL_ASSIGN_OR_RAISE(const write::Target target, TargetOf(metadata));
  TL_ASSIGN_OR_RAISE(auto batch, BatchOf(rows));
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

const DataFiles& FilesOf(const std::vector<Row>& rows) {
  static auto& made = *new std::map<std::vector<Row>, DataFiles>();  // under the baton
  auto it = made.find(rows);
  if (it == made.end()) it = made.emplace(rows, Write(rows).ValueOrDie()).first;
  return it->second;
}

}  // namespace timelake::sim
