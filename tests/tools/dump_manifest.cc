// dump_manifest {manifest|list} <file>: what our readers see in a file of any writer, as JSON
// (bytes as hexadecimal text), for comparison with another Avro reader.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

namespace timelake::iceberg {
namespace {

using Json = nlohmann::json;

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char c : bytes) out += fmt::format("{:02x}", c);
  return out;
}

template <typename T>
Json Maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json MaybeHex(const std::optional<std::string>& value) {
  return value ? Json(Hex(*value)) : Json();
}

Json MapOf(const std::map<int, int64_t>& map) {
  Json json = Json::object();
  for (const auto& [key, value] : map) json[std::to_string(key)] = value;
  return json;
}

Json MapOf(const std::map<int, std::string>& map) {
  Json json = Json::object();
  for (const auto& [key, value] : map) json[std::to_string(key)] = Hex(value);
  return json;
}

Json PartitionJson(const std::vector<Value>& partition) {
  Json json = Json::array();
  for (const Value& value : partition) {
    std::visit(
        [&](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::monostate>) {
            json.push_back(nullptr);
          } else if constexpr (std::is_same_v<T, std::string>) {
            json.push_back(Hex(held));
          } else if constexpr (std::is_same_v<T, arrow::Decimal128>) {
            json.push_back(held.ToIntegerString());
          } else {
            json.push_back(held);
          }
        },
        value);
  }
  return json;
}

Json FileJson(const DataFile& file) {
  return {{"content", static_cast<int>(file.content)},
          {"file_path", file.file_path},
          {"file_format", file.file_format},
          {"partition", PartitionJson(file.partition)},
          {"record_count", file.record_count},
          {"file_size_in_bytes", file.file_size_in_bytes},
          {"column_sizes", MapOf(file.column_sizes)},
          {"value_counts", MapOf(file.value_counts)},
          {"null_value_counts", MapOf(file.null_value_counts)},
          {"nan_value_counts", MapOf(file.nan_value_counts)},
          {"lower_bounds", MapOf(file.lower_bounds)},
          {"upper_bounds", MapOf(file.upper_bounds)},
          {"key_metadata", MaybeHex(file.key_metadata)},
          {"split_offsets", file.split_offsets},
          {"equality_ids", file.equality_ids},
          {"sort_order_id", Maybe(file.sort_order_id)},
          {"referenced_data_file", Maybe(file.referenced_data_file)}};
}

Result<Json> ManifestJson(std::string_view bytes, std::string_view source) {
  TL_ASSIGN_OR_RAISE(const Manifest manifest, ReadManifest(bytes, source));
  Json entries = Json::array();
  for (const ManifestEntry& entry : manifest.entries) {
    entries.push_back({{"status", static_cast<int>(entry.status)},
                       {"snapshot_id", Maybe(entry.snapshot_id)},
                       {"sequence_number", Maybe(entry.sequence_number)},
                       {"file_sequence_number", Maybe(entry.file_sequence_number)},
                       {"data_file", FileJson(entry.file)}});
  }
  const ManifestHeader& header = manifest.header;
  return Json{
      {"format_version", header.format_version},      {"content", static_cast<int>(header.content)},
      {"schema", SchemaToJson(header.schema)},        {"spec_id", header.spec.spec_id},
      {"spec_fields", SpecFieldsToJson(header.spec)}, {"entries", entries}};
}

Json RowJson(const ManifestFile& row) {
  Json partitions = Json::array();
  for (const FieldSummary& summary : row.partitions) {
    partitions.push_back({{"contains_null", summary.contains_null},
                          {"contains_nan", Maybe(summary.contains_nan)},
                          {"lower_bound", MaybeHex(summary.lower_bound)},
                          {"upper_bound", MaybeHex(summary.upper_bound)}});
  }
  return {{"manifest_path", row.manifest_path},
          {"manifest_length", row.manifest_length},
          {"partition_spec_id", row.partition_spec_id},
          {"content", static_cast<int>(row.content)},
          {"sequence_number", row.sequence_number},
          {"min_sequence_number", row.min_sequence_number},
          {"added_snapshot_id", row.added_snapshot_id},
          {"added_files_count", row.added_files_count},
          {"existing_files_count", row.existing_files_count},
          {"deleted_files_count", row.deleted_files_count},
          {"added_rows_count", row.added_rows_count},
          {"existing_rows_count", row.existing_rows_count},
          {"deleted_rows_count", row.deleted_rows_count},
          {"partitions", partitions},
          {"key_metadata", MaybeHex(row.key_metadata)}};
}

Result<Json> ListJson(std::string_view bytes, std::string_view source) {
  TL_ASSIGN_OR_RAISE(const auto rows, ReadManifestList(bytes, source));
  Json json = Json::array();
  for (const ManifestFile& row : rows) json.push_back(RowJson(row));
  return json;
}

}  // namespace
}  // namespace timelake::iceberg

int main(int argc, char** argv) {
  using namespace timelake::iceberg;
  const std::string kind = argc == 3 ? argv[1] : "";
  if (kind != "manifest" && kind != "list") {
    std::fputs("usage: dump_manifest {manifest|list} <file>\n", stderr);
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto json = kind == "list" ? ListJson(bytes, argv[2]) : ManifestJson(bytes, argv[2]);
  if (!json.ok()) {
    std::fprintf(stderr, "%s\n", json.status().ToString().c_str());
    return 1;
  }
  std::puts(json->dump().c_str());
  return 0;
}
