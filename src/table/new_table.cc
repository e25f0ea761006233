#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/utf8.h"
#include "table/chunk_tiers.h"
#include "table/column_names.h"
#include "table/contract.h"
#include "table/partition_options.h"
#include "table/settings.h"
#include "table/settings_columns.h"
#include "timelake/version.h"

// Version 1 of a table. What is decided here stays: ids, names and orders are never changed later.

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::Schema;
using iceberg::TableMetadata;
using iceberg::TransformKind;
using iceberg::Type;
using iceberg::TypeId;

bool IsTimestamp(const Type& type) {
  return type.id == TypeId::kTimestamp || type.id == TypeId::kTimestamptz;
}

Status NotInSchema(const Schema& schema, std::string_view what, std::string_view name) {
  std::vector<std::string> names = iceberg::FieldNames(schema);
  if (const auto near = NearestName(name, names)) {
    return InvalidArgument("{} {} is not in the schema; did you mean {}?", what, Quote(name),
                           Quote(*near));
  }
  constexpr size_t kShown = 20;
  const bool more = names.size() > kShown;
  if (more) names.resize(kShown);
  return InvalidArgument("{} {} is not in the schema ({}{})", what, Quote(name), Join(names, ", "),
                         more ? ", ..." : "");
}

// Without a time column, everything else of the contract has nothing to stand on.
Status CheckPlain(const TableOptions& options) {
  const auto needs_time = [](std::string_view what) {
    return InvalidArgument("{} requires a time column (time_column)", what);
  };
  if (!options.series_key.empty()) return needs_time("series key (series_key)");
  if (options.dedup.value_or(false)) return needs_time("dedup");
  if (!options.retention.empty()) return needs_time("retention");
  if (options.ingest_time) return needs_time("ingest_time");
  return Status::OK();
}

Status CheckSeriesKey(const Schema& schema, const TableOptions& options) {
  std::set<std::string_view> seen;
  for (const std::string& name : options.series_key) {
    const Field* field = iceberg::FindField(schema, name);
    if (field == nullptr) return NotInSchema(schema, "series key column", name);
    if (name == options.time_column) {
      return InvalidArgument("series key column {} is the time column", Quote(name));
    }
    if (options.ingest_time && name == kDefaultIngestTimeColumn) {
      return InvalidArgument("series key column {} is the ingest time column", Quote(name));
    }
    if (!field->type.is_primitive()) {
      return InvalidArgument("series key column {} must be of a primitive type, got {}",
                             Quote(name), iceberg::TypeName(field->type));
    }
    if (!seen.insert(name).second) {
      return InvalidArgument("series key column {} is given twice", Quote(name));
    }
  }
  return Status::OK();
}

Status CheckTimeSeries(const Schema& schema, const TableOptions& options) {
  const Field* time = iceberg::FindField(schema, options.time_column);
  if (time == nullptr) return NotInSchema(schema, "time column", options.time_column);
  if (!IsTimestamp(time->type)) {
    return InvalidArgument("time column {} must be a timestamp or timestamptz, got {}",
                           Quote(time->name), iceberg::TypeName(time->type));
  }
  if (ChunkName(options.chunk).empty()) {
    return InvalidArgument("chunk interval must be hour, day, month or year, got number {}",
                           static_cast<int>(options.chunk));
  }
  TL_RETURN_NOT_OK(CheckPartitionName(schema, time->name,
                                      fmt::format("{}_{}", time->name, ChunkName(options.chunk))));
  return CheckSeriesKey(schema, options);
}

// `_ingest_ts` as appends fill it; a column of that name is taken if it can hold the time.
Status AddIngestTime(const TableOptions& options, Schema* schema) {
  if (!options.ingest_time) return Status::OK();
  const std::string name = kDefaultIngestTimeColumn;
  if (options.time_column == name) {
    return InvalidArgument("ingest_time: the ingest time column {} is the time column",
                           Quote(name));
  }
  for (Field& field : schema->fields) {
    if (ToLowerAscii(field.name) != name) continue;
    if (field.name != name || field.type.id != TypeId::kTimestamptz) {
      return InvalidArgument("ingest_time: column {} must be {} of type timestamptz, got {}",
                             Quote(field.name), Quote(name), iceberg::TypeName(field.type));
    }
    field.required = true;
    return Status::OK();
  }
  Field field;
  field.name = name;
  field.required = true;
  field.type.id = TypeId::kTimestamptz;
  schema->fields.push_back(std::move(field));
  return Status::OK();
}

Result<Schema> FinalSchema(const Schema& given, const TableOptions& options) {
  if (given.fields.empty()) return InvalidArgument("the schema has no columns");
  Schema schema = given;
  TL_RETURN_NOT_OK(CheckColumnNames(schema.fields));
  if (options.time_column.empty()) {
    TL_RETURN_NOT_OK(CheckPlain(options));
  } else {
    TL_RETURN_NOT_OK(AddIngestTime(options, &schema));
    TL_RETURN_NOT_OK(CheckTimeSeries(schema, options));
  }
  for (Field& field : schema.fields) {
    if (field.name == options.time_column) field.required = true;
  }
  schema = iceberg::AssignFreshIds(schema);
  schema.schema_id = 0;
  TL_RETURN_NOT_OK(iceberg::ValidateSchema(schema));
  return schema;
}

TransformKind TransformOf(Chunk chunk) {
  switch (chunk) {
    case Chunk::kHour: return TransformKind::kHour;
    case Chunk::kDay: return TransformKind::kDay;
    case Chunk::kMonth: return TransformKind::kMonth;
    case Chunk::kYear: return TransformKind::kYear;
  }
  return TransformKind::kUnknown;
}

void SetSpecAndOrder(const TableOptions& options, std::vector<iceberg::PartitionField> more,
                     TableMetadata* metadata) {
  iceberg::PartitionSpec spec;
  iceberg::SortOrder order;
  if (!options.time_column.empty()) {
    const Schema& schema = metadata->schemas[0];
    const auto id = [&](const std::string& name) { return iceberg::FindField(schema, name)->id; };
    iceberg::PartitionField field;
    field.source_id = id(options.time_column);
    field.field_id = iceberg::kFirstPartitionFieldId;
    field.name = fmt::format("{}_{}", options.time_column, ChunkName(options.chunk));
    field.transform.kind = TransformOf(options.chunk);
    field.transform.text = ChunkName(options.chunk);
    spec.fields.push_back(std::move(field));
    order.order_id = 1;
    std::vector<std::string> columns = options.series_key;
    columns.push_back(options.time_column);
    for (const std::string& column : columns) {
      iceberg::SortField sort;  // ascending, nulls first
      sort.source_id = id(column);
      sort.transform.text = "identity";
      order.fields.push_back(std::move(sort));
    }
  }
  for (iceberg::PartitionField& field : more) {
    field.field_id = iceberg::kFirstPartitionFieldId + static_cast<int>(spec.fields.size());
    spec.fields.push_back(std::move(field));
  }
  if (!spec.fields.empty()) metadata->last_partition_id = spec.fields.back().field_id;
  metadata->default_sort_order_id = order.order_id;
  metadata->partition_specs.push_back(std::move(spec));
  metadata->sort_orders.push_back(std::move(order));
}

// With tiers of partitions new rows go to the first one's span.
Result<TableOptions> WithFirstTier(TableOptions options) {
  for (const auto& [name, value] : options.properties) {
    const SettingDef* def = FindSetting(name);
    if (def == nullptr || def->kind != SettingKind::kTiers) continue;
    TL_RETURN_NOT_OK(CheckSetting(name, value, kAtTable).status());
    TL_ASSIGN_OR_RAISE(const auto tiers, ParseChunkTiers(value));
    const Chunk first = tiers.front().chunk;
    if (options.chunk != first && options.chunk != TableOptions().chunk) {
      return InvalidArgument("chunk {} and chunk-tiers {} contradict each other",
                             ChunkName(options.chunk), Quote(value));
    }
    options.chunk = first;
  }
  return options;
}

Status AddTiers(TableMetadata* metadata) {
  const auto text = metadata->properties.find("timelake.chunk-tiers");
  if (text == metadata->properties.end()) return Status::OK();
  TL_ASSIGN_OR_RAISE(const auto tiers, ParseChunkTiers(text->second));
  return AddTierSpecs(tiers, metadata);
}

// For appends that would make very many tiny files with the buckets.
void AddCoarseSpec(TableMetadata* metadata) {
  const iceberg::PartitionSpec& spec = *iceberg::DefaultSpec(*metadata);
  iceberg::PartitionSpec coarse = WithoutBuckets(spec);
  if (coarse.fields.size() == spec.fields.size() || CoarseSpec(*metadata)) return;
  coarse.spec_id = metadata->partition_specs.back().spec_id + 1;
  metadata->partition_specs.push_back(std::move(coarse));
}

Status AddUserProperties(const TableOptions& options,
                         std::map<std::string, std::string>* properties) {
  std::set<std::string> given;
  for (const auto& [name, value] : options.properties) {
    TL_ASSIGN_OR_RAISE(const std::string key, CheckSetting(name, value, kAtTable));
    if (!given.insert(key).second) {
      return InvalidArgument("setting {} is given twice, in two spellings", Quote(name));
    }
    if (key == kRetention && !options.retention.empty()) {
      return InvalidArgument("retention is given twice, as an option and as the property {}",
                             Quote(name));
    }
    (*properties)[key] = StoredValue(key, value);
  }
  return CheckTogether(*properties);
}

Result<std::map<std::string, std::string>> Properties(const TableOptions& options,
                                                      const std::string& commit_id) {
  std::map<std::string, std::string> properties = {
      {kFormatVersion, kTableFormatVersion},
      {kWriter, fmt::format("timelake-cpp {}", kVersion)},
      {kCommitId, commit_id},
      {"write.format.default", "parquet"},
      {"write.parquet.compression-codec", "zstd"},
      // Iceberg's own default of 100 makes every metadata file longer.
      {"write.metadata.previous-versions-max", "20"},
  };
  if (!options.time_column.empty()) {
    properties[kTimeColumn] = options.time_column;
    if (!options.series_key.empty()) properties[kSeriesKey] = JoinNames(options.series_key);
    properties[kChunkInterval] = ChunkName(options.chunk);
    properties[kDedup] = options.dedup.value_or(!options.series_key.empty()) ? "true" : "false";
    if (options.ingest_time) properties[kIngestTimeColumn] = kDefaultIngestTimeColumn;
  }
  if (!options.retention.empty()) {
    TL_RETURN_NOT_OK(CheckSetting("retention", options.retention, kAtCreate).status());
    properties[kRetention] = StoredValue(kRetention, options.retention);
  }
  TL_RETURN_NOT_OK(AddUserProperties(options, &properties));
  return properties;
}

}  // namespace

Result<TableMetadata> NewTableMetadata(const Schema& schema, const TableOptions& given,
                                       const std::string& location_uri,
                                       const std::string& table_uuid, const std::string& commit_id,
                                       int64_t now_ms) {
  TableMetadata metadata;
  TL_ASSIGN_OR_RAISE(const TableOptions options, WithFirstTier(given));
  TL_ASSIGN_OR_RAISE(Schema final_schema, FinalSchema(schema, options));
  TL_ASSIGN_OR_RAISE(metadata.properties, Properties(options, commit_id));
  TL_RETURN_NOT_OK(CheckColumnSettings(final_schema, metadata.properties));
  metadata.table_uuid = table_uuid;
  metadata.location = location_uri;
  while (metadata.location.ends_with('/')) metadata.location.pop_back();
  metadata.last_updated_ms = now_ms;
  metadata.last_column_id = iceberg::HighestFieldId(final_schema);
  metadata.schemas.push_back(std::move(final_schema));
  TL_ASSIGN_OR_RAISE(auto partition_by, ReadPartitionBy(metadata.schemas[0], options));
  SetSpecAndOrder(options, std::move(partition_by), &metadata);
  TL_RETURN_NOT_OK(AddTiers(&metadata));
  AddCoarseSpec(&metadata);
  return metadata;
}

}  // namespace timelake::table
