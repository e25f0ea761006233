#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <arrow/util/compression.h>
#include <fmt/format.h>

#include "base/text.h"
#include "iceberg/json_tree.h"
#include "iceberg/metadata.h"
#include "iceberg/schema_json.h"

namespace timelake::iceberg {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";

// Compressed metadata may not grow beyond this: a bomb must not take the process down.
constexpr size_t kMaxMetadataBytes = size_t{1} << 30;

Result<std::string> Gunzip(std::string_view bytes, std::string_view source) {
  TL_ASSIGN_OR_RAISE(auto codec, arrow::util::Codec::Create(arrow::Compression::GZIP));
  TL_ASSIGN_OR_RAISE(auto decompressor, codec->MakeDecompressor());
  std::string text;
  size_t used = 0;
  size_t room = std::max<size_t>(bytes.size() * 8, 4096);
  while (!decompressor->IsFinished()) {
    const size_t start = text.size();
    if (start + room > kMaxMetadataBytes) {
      return Corrupt("{}: more than {} when decompressed", source, HumanBytes(kMaxMetadataBytes));
    }
    text.resize(start + room);
    auto step = decompressor->Decompress(static_cast<int64_t>(bytes.size() - used),
                                         reinterpret_cast<const uint8_t*>(bytes.data()) + used,
                                         static_cast<int64_t>(room),
                                         reinterpret_cast<uint8_t*>(text.data()) + start);
    if (!step.ok()) {
      return Corrupt("{}: not valid gzip: {}", source, MessageOf(step.status()));
    }
    used += static_cast<size_t>(step->bytes_read);
    text.resize(start + static_cast<size_t>(step->bytes_written));
    if (step->bytes_written > 0 || step->bytes_read > 0) continue;
    if (used == bytes.size() || !step->need_more_output) {
      return Corrupt("{}: gzip data ends early", source);
    }
    room *= 2;
  }
  return text;
}

Status ReadSnapshot(const JsonAt& at, bool may_lack_list, Snapshot* snapshot) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("snapshot-id", &snapshot->snapshot_id));
  TL_RETURN_NOT_OK(object.Optional("parent-snapshot-id", &snapshot->parent_snapshot_id));
  // Absent in version 1 and, for snapshots made before an upgrade, in version 2.
  TL_RETURN_NOT_OK(object.Optional("sequence-number", &snapshot->sequence_number));
  TL_RETURN_NOT_OK(object.Required("timestamp-ms", &snapshot->timestamp_ms));
  TL_RETURN_NOT_OK(object.Optional("manifest-list", &snapshot->manifest_list));
  TL_RETURN_NOT_OK(object.Optional("manifests", &snapshot->manifests));
  if (snapshot->manifest_list.empty() && !may_lack_list && snapshot->manifests.empty()) {
    return at.Error("manifest-list is missing");
  }
  Summary::Map summary;
  TL_RETURN_NOT_OK(object.Optional("summary", &summary));
  snapshot->summary = Summary(std::move(summary));
  TL_RETURN_NOT_OK(object.Optional("schema-id", &snapshot->schema_id));
  snapshot->unknown = object.Unknown();
  return Status::OK();
}

Status ReadRef(const JsonAt& at, SnapshotRef* ref) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("snapshot-id", &ref->snapshot_id));
  TL_ASSIGN_OR_RAISE(const JsonAt type, object.Get("type"));
  TL_RETURN_NOT_OK(FromJson(type, &ref->type));
  if (ref->type != "branch" && ref->type != "tag") return type.Expected("branch or tag");
  TL_RETURN_NOT_OK(object.Optional("min-snapshots-to-keep", &ref->min_snapshots_to_keep));
  TL_RETURN_NOT_OK(object.Optional("max-snapshot-age-ms", &ref->max_snapshot_age_ms));
  TL_RETURN_NOT_OK(object.Optional("max-ref-age-ms", &ref->max_ref_age_ms));
  ref->unknown = object.Unknown();
  return Status::OK();
}

Status ReadSnapshotLogEntry(const JsonAt& at, SnapshotLogEntry* entry) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("snapshot-id", &entry->snapshot_id));
  return object.Required("timestamp-ms", &entry->timestamp_ms);
}

Status ReadMetadataLogEntry(const JsonAt& at, MetadataLogEntry* entry) {
  JsonObject object(at);
  TL_RETURN_NOT_OK(object.Check());
  TL_RETURN_NOT_OK(object.Required("metadata-file", &entry->metadata_file));
  return object.Required("timestamp-ms", &entry->timestamp_ms);
}

// Reads one file; members in the order of the specification's table.
class MetadataReader {
 public:
  explicit MetadataReader(const JsonAt& at) : at_(at), object_(at) {}

  Result<TableMetadata> Read() {
    TL_RETURN_NOT_OK(object_.Check());
    TL_RETURN_NOT_OK(ReadVersion());
    TL_RETURN_NOT_OK(ReadHead());
    TL_RETURN_NOT_OK(ReadSchemas());
    TL_RETURN_NOT_OK(ReadSpecs());
    TL_RETURN_NOT_OK(ReadSortOrders());
    TL_RETURN_NOT_OK(ReadSnapshots());
    TL_RETURN_NOT_OK(ReadRefs());
    TL_RETURN_NOT_OK(CheckIds());
    metadata_.unknown = object_.Unknown();
    return std::move(metadata_);
  }

 private:
  bool version1() const { return metadata_.format_version == 1; }

  Status ReadVersion() {
    TL_ASSIGN_OR_RAISE(const JsonAt version, object_.Get("format-version"));
    TL_RETURN_NOT_OK(FromJson(version, &metadata_.format_version));
    if (metadata_.format_version < 1) return version.Expected("1 or 2");
    if (metadata_.format_version > kFormatVersion) {
      return Unsupported(
          "{}: Iceberg format version {} is newer than this version reads (1 and "
          "2); upgrade Timelake",
          at_.source, metadata_.format_version);
    }
    return Status::OK();
  }

  Status ReadHead() {
    if (version1()) {
      TL_RETURN_NOT_OK(object_.Optional("table-uuid", &metadata_.table_uuid));
    } else {
      TL_RETURN_NOT_OK(object_.Required("table-uuid", &metadata_.table_uuid));
      TL_RETURN_NOT_OK(object_.Required("last-sequence-number", &metadata_.last_sequence_number));
    }
    TL_RETURN_NOT_OK(object_.Required("location", &metadata_.location));
    std::string& location = metadata_.location;
    while (location.size() > 1 && location.ends_with('/') && !location.ends_with("://")) {
      location.pop_back();
    }
    TL_RETURN_NOT_OK(object_.Required("last-updated-ms", &metadata_.last_updated_ms));
    TL_RETURN_NOT_OK(object_.Required("last-column-id", &metadata_.last_column_id));
    return object_.Optional("properties", &metadata_.properties);
  }

  Status ReadSchemas() {
    // Version 1's single form. A version 2 file may still carry it; then it does not count, and
    // is not written back, because it would go stale.
    const std::optional<JsonAt> single = object_.Find("schema");
    const std::optional<JsonAt> list = object_.Find("schemas");
    if (!list && version1() && single) {
      Schema schema;
      TL_RETURN_NOT_OK(ReadSchema(*single, &schema));
      metadata_.current_schema_id = schema.schema_id;
      metadata_.schemas.push_back(std::move(schema));
      return Status::OK();
    }
    TL_ASSIGN_OR_RAISE(const JsonAt schemas, object_.Get("schemas"));
    TL_RETURN_NOT_OK(ReadArray(schemas, &metadata_.schemas, ReadSchema));
    return object_.Required("current-schema-id", &metadata_.current_schema_id);
  }

  Status ReadSpecs() {
    const std::optional<JsonAt> single = object_.Find("partition-spec");
    const std::optional<JsonAt> list = object_.Find("partition-specs");
    if (!list && version1()) {
      PartitionSpec spec;
      if (single) TL_RETURN_NOT_OK(ReadSpecFields(*single, true, &spec.fields));
      metadata_.partition_specs.push_back(std::move(spec));
    } else {
      TL_ASSIGN_OR_RAISE(const JsonAt specs, object_.Get("partition-specs"));
      TL_RETURN_NOT_OK(ReadArray(specs, &metadata_.partition_specs,
                                 [this](const JsonAt& element, PartitionSpec* spec) {
                                   return ReadSpec(element, version1(), spec);
                                 }));
      TL_RETURN_NOT_OK(object_.Required("default-spec-id", &metadata_.default_spec_id));
    }
    if (!version1()) return object_.Required("last-partition-id", &metadata_.last_partition_id);
    for (const PartitionSpec& spec : metadata_.partition_specs) {
      for (const PartitionField& field : spec.fields) {
        metadata_.last_partition_id = std::max(metadata_.last_partition_id, field.field_id);
      }
    }
    return object_.Optional("last-partition-id", &metadata_.last_partition_id);
  }

  Status ReadSortOrders() {
    if (version1() && !object_.Find("sort-orders")) {
      metadata_.sort_orders.push_back(SortOrder{});
      return Status::OK();
    }
    TL_ASSIGN_OR_RAISE(const JsonAt orders, object_.Get("sort-orders"));
    TL_RETURN_NOT_OK(ReadArray(orders, &metadata_.sort_orders, ReadSortOrder));
    return object_.Required("default-sort-order-id", &metadata_.default_sort_order_id);
  }

  Status ReadSnapshots() {
    TL_RETURN_NOT_OK(object_.Optional("current-snapshot-id", &metadata_.current_snapshot_id));
    if (metadata_.current_snapshot_id == -1) metadata_.current_snapshot_id.reset();
    if (auto snapshots = object_.Find("snapshots")) {
      TL_RETURN_NOT_OK(ReadArray(*snapshots, &metadata_.snapshots,
                                 [this](const JsonAt& element, Snapshot* snapshot) {
                                   return ReadSnapshot(element, version1(), snapshot);
                                 }));
    }
    if (auto log = object_.Find("snapshot-log")) {
      TL_RETURN_NOT_OK(ReadArray(*log, &metadata_.snapshot_log, ReadSnapshotLogEntry));
    }
    if (auto log = object_.Find("metadata-log")) {
      TL_RETURN_NOT_OK(ReadArray(*log, &metadata_.metadata_log, ReadMetadataLogEntry));
    }
    return Status::OK();
  }

  Status ReadRefs() {
    if (auto refs = object_.Find("refs")) {
      if (refs->node->kind != JsonNode::Kind::kObject) return refs->Expected("an object");
      for (size_t i = 0; i < refs->node->items.size(); ++i) {
        const std::string& name = refs->node->names[i];
        const JsonAt ref{&refs->node->items[i], at_.source, &*refs, name, 0};
        TL_RETURN_NOT_OK(ReadRef(ref, &metadata_.refs[name]));
      }
    }
    // The branch main always exists where there is a current snapshot (specification, "Snapshot
    // References"); older writers leave it out.
    if (metadata_.current_snapshot_id && !metadata_.refs.contains("main")) {
      SnapshotRef& main = metadata_.refs["main"];
      main.snapshot_id = *metadata_.current_snapshot_id;
      main.type = "branch";
    }
    return Status::OK();
  }

  template <typename T, typename Id>
  Status CheckUnique(std::string_view name, const std::vector<T>& values, Id T::*id) {
    std::set<Id> seen;
    for (const T& value : values) {
      if (!seen.insert(value.*id).second) {
        return at_.Error(fmt::format("{}: id {} is there twice", name, value.*id));
      }
    }
    return Status::OK();
  }

  Status Dangling(std::string_view name, int64_t id, std::string_view list) {
    return at_.Error(fmt::format("{}: {} is not in {}", name, id, list));
  }

  Status CheckIds() {
    const TableMetadata& m = metadata_;
    TL_RETURN_NOT_OK(CheckUnique("schemas", m.schemas, &Schema::schema_id));
    TL_RETURN_NOT_OK(CheckUnique("partition-specs", m.partition_specs, &PartitionSpec::spec_id));
    TL_RETURN_NOT_OK(CheckUnique("sort-orders", m.sort_orders, &SortOrder::order_id));
    TL_RETURN_NOT_OK(CheckUnique("snapshots", m.snapshots, &Snapshot::snapshot_id));
    if (CurrentSchema(m) == nullptr) {
      return Dangling("current-schema-id", m.current_schema_id, "schemas");
    }
    if (DefaultSpec(m) == nullptr) {
      return Dangling("default-spec-id", m.default_spec_id, "partition-specs");
    }
    // Order 0 is "unsorted" by definition, and some writers do not list it.
    if (DefaultSortOrder(m) == nullptr) {
      if (m.default_sort_order_id != 0) {
        return Dangling("default-sort-order-id", m.default_sort_order_id, "sort-orders");
      }
      metadata_.sort_orders.insert(metadata_.sort_orders.begin(), SortOrder{});
    }
    if (m.current_snapshot_id && CurrentSnapshot(m) == nullptr) {
      return Dangling("current-snapshot-id", *m.current_snapshot_id, "snapshots");
    }
    return CheckMain();
  }

  // Which rows the table has would depend on the reader.
  Status CheckMain() {
    auto main = metadata_.refs.find("main");
    if (main == metadata_.refs.end()) return Status::OK();
    if (metadata_.current_snapshot_id == main->second.snapshot_id) return Status::OK();
    return at_.Error(fmt::format("refs.main points at snapshot {}, current-snapshot-id is {}",
                                 main->second.snapshot_id,
                                 metadata_.current_snapshot_id.value_or(-1)));
  }

  const JsonAt& at_;
  JsonObject object_;
  TableMetadata metadata_;
};

}  // namespace

Result<TableMetadata> ReadMetadata(std::string_view json, std::string_view source) {
  std::string text;
  if (json.starts_with(kGzipMagic)) {
    TL_ASSIGN_OR_RAISE(text, Gunzip(json, source));
    json = text;
  }
  TL_ASSIGN_OR_RAISE(const JsonNode root, ParseJson(json, source));
  const JsonAt at{&root, source, nullptr, {}, 0};
  return MetadataReader(at).Read();
}

}  // namespace timelake::iceberg
