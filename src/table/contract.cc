#include "table/contract.h"

#include <algorithm>
#include <array>

#include "base/civil_time.h"
#include "base/duration.h"
#include "base/text.h"
#include "timelake/version.h"

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::Schema;
using iceberg::TableMetadata;
using iceberg::TypeId;

using FormatVersion = std::array<int64_t, 3>;

// Folder names, also on file systems that count bytes.
constexpr size_t kMaxNameLength = 200;

bool IsNamePart(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

const std::string* Property(const TableMetadata& metadata, const char* key) {
  const auto found = metadata.properties.find(key);
  return found == metadata.properties.end() ? nullptr : &found->second;
}

Result<FormatVersion> ParseFormatVersion(std::string_view text) {
  FormatVersion version{};
  std::string_view rest = text;
  for (size_t i = 0; i < version.size(); ++i) {
    const size_t dot = i + 1 < version.size() ? rest.find('.') : rest.size();
    const Result<int64_t> number =
        dot == std::string_view::npos ? InvalidArgument("no dot") : ParseInt64(rest.substr(0, dot));
    if (!number.ok() || *number < 0) {
      return Corrupt("table property {}: {} is not a version", kFormatVersion, Quote(text));
    }
    version[i] = *number;
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return version;
}

// Tables without the property are of 0.1.0, which all later ones can read.
Status CheckFormatVersion(const TableMetadata& metadata) {
  const std::string* text = Property(metadata, kFormatVersion);
  if (text == nullptr) return Status::OK();
  TL_ASSIGN_OR_RAISE(const FormatVersion found, ParseFormatVersion(*text));
  TL_ASSIGN_OR_RAISE(const FormatVersion known, ParseFormatVersion(kTableFormatVersion));
  if (found <= known) return Status::OK();
  return Unsupported(
      "the table has Timelake format {}, and timelake {} understands formats up to {}: upgrade "
      "timelake",
      *text, kVersion, kTableFormatVersion);
}

// The contract names columns as they were called at create. A column that another engine has
// renamed since is found through the schema that still has the old name.
const Field* FindContractColumn(const TableMetadata& metadata, std::string_view name) {
  const Schema* current = iceberg::CurrentSchema(metadata);
  if (const Field* field = iceberg::FindField(*current, name)) return field;
  for (auto schema = metadata.schemas.rbegin(); schema != metadata.schemas.rend(); ++schema) {
    const Field* old = iceberg::FindField(*schema, name);
    if (old == nullptr) continue;
    if (const Field* field = iceberg::FindFieldById(*current, old->id)) return field;
  }
  return nullptr;
}

Result<const Field*> ContractColumn(const TableMetadata& metadata, const char* key,
                                    std::string_view name) {
  if (const Field* field = FindContractColumn(metadata, name)) return field;
  return Corrupt("table property {}: column {} is not in the schema ({})", key, Quote(name),
                 Join(iceberg::FieldNames(*iceberg::CurrentSchema(metadata)), ", "));
}

Result<const Field*> TimestampColumn(const TableMetadata& metadata, const char* key,
                                     std::string_view name) {
  TL_ASSIGN_OR_RAISE(const Field* field, ContractColumn(metadata, key, name));
  if (field->type.id == TypeId::kTimestamp || field->type.id == TypeId::kTimestamptz) return field;
  return Corrupt("table property {}: column {} is of type {}, not a timestamp", key, Quote(name),
                 iceberg::TypeName(field->type));
}

Status ReadKey(const TableMetadata& metadata, Contract* contract) {
  const std::string* text = Property(metadata, kSeriesKey);
  if (text == nullptr) return Status::OK();
  const Result<std::vector<std::string>> names = SplitNames(*text);
  if (!names.ok()) {
    return Corrupt("table property {}: {}", kSeriesKey, MessageOf(names.status()));
  }
  for (const std::string& name : *names) {
    TL_ASSIGN_OR_RAISE(const Field* field, ContractColumn(metadata, kSeriesKey, name));
    if (!field->type.is_primitive() || field->id == *contract->time_id) {
      return Corrupt("table property {}: column {} cannot be in a series key", kSeriesKey,
                     Quote(name));
    }
    contract->key_ids.push_back(field->id);
    contract->key_names.push_back(field->name);
  }
  return Status::OK();
}

Status ReadChunkAndDedup(const TableMetadata& metadata, Contract* contract) {
  contract->chunk = Chunk::kDay;
  if (const std::string* text = Property(metadata, kChunkInterval)) {
    const Result<Chunk> chunk = ParseChunk(*text);
    if (!chunk.ok()) {
      return Corrupt("table property {}: {}", kChunkInterval, MessageOf(chunk.status()));
    }
    contract->chunk = *chunk;
  }
  contract->dedup = !contract->key_ids.empty();
  if (const std::string* text = Property(metadata, kDedup)) {
    if (*text != "true" && *text != "false") {
      return Corrupt("table property {}: {} is neither true nor false", kDedup, Quote(*text));
    }
    contract->dedup = *text == "true";
  }
  return Status::OK();
}

}  // namespace

Result<Contract> ReadContract(const TableMetadata& metadata) {
  TL_RETURN_NOT_OK(CheckFormatVersion(metadata));
  if (iceberg::CurrentSchema(metadata) == nullptr) return Corrupt("the table has no schema");
  Contract contract;
  const std::string* time = Property(metadata, kTimeColumn);
  if (time == nullptr) {
    if (Property(metadata, kSeriesKey) == nullptr) return contract;
    return Corrupt("the table has the property {}, but not {}", kSeriesKey, kTimeColumn);
  }
  TL_ASSIGN_OR_RAISE(const Field* time_field, TimestampColumn(metadata, kTimeColumn, *time));
  contract.time_id = time_field->id;
  contract.time_name = time_field->name;
  TL_RETURN_NOT_OK(ReadKey(metadata, &contract));
  TL_RETURN_NOT_OK(ReadChunkAndDedup(metadata, &contract));
  if (const std::string* name = Property(metadata, kIngestTimeColumn)) {
    TL_ASSIGN_OR_RAISE(const Field* field, TimestampColumn(metadata, kIngestTimeColumn, *name));
    contract.ingest_time_id = field->id;
    contract.ingest_time_name = field->name;
  }
  if (const std::string* text = Property(metadata, kRetention)) {
    // A text that we cannot read removes nothing; ResolveSettings reports it.
    const Result<int64_t> micros = ParseDuration(*text);
    if (micros.ok() && *micros > 0) contract.retention_us = *micros;
  }
  return contract;
}

std::string_view ChunkName(Chunk chunk) {
  switch (chunk) {
    case Chunk::kHour: return "hour";
    case Chunk::kDay: return "day";
    case Chunk::kMonth: return "month";
    case Chunk::kYear: return "year";
  }
  return "";
}

int64_t LongestMicros(Chunk chunk) {
  switch (chunk) {
    case Chunk::kHour: return kMicrosPerHour;
    case Chunk::kDay: return kMicrosPerDay;
    case Chunk::kMonth: return 31 * kMicrosPerDay;
    case Chunk::kYear: return 366 * kMicrosPerDay;
  }
  return 0;
}

Result<Chunk> ParseChunk(std::string_view text) {
  for (Chunk chunk : {Chunk::kHour, Chunk::kDay, Chunk::kMonth, Chunk::kYear}) {
    if (text == ChunkName(chunk)) return chunk;
  }
  return InvalidArgument("chunk interval must be hour, day, month or year, got {}", Quote(text));
}

Result<TableName> ParseTableName(std::string_view name) {
  TableName parsed;
  const size_t dot = name.find('.');
  parsed.name_space = dot == std::string_view::npos ? "default" : name.substr(0, dot);
  parsed.table = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (!IsNamePart(parsed.name_space) || !IsNamePart(parsed.table)) {
    return InvalidArgument("table name {} must be [namespace.]table using [A-Za-z0-9_-]",
                           Quote(name));
  }
  if (parsed.name_space.size() > kMaxNameLength || parsed.table.size() > kMaxNameLength) {
    return InvalidArgument("table name {} is too long: {} characters each for namespace and table",
                           Quote(name), kMaxNameLength);
  }
  return parsed;
}

}  // namespace timelake::table
