#include "iceberg/metadata.h"

namespace timelake::iceberg {

const Schema* SchemaById(const TableMetadata& metadata, int id) {
  for (const Schema& schema : metadata.schemas) {
    if (schema.schema_id == id) return &schema;
  }
  return nullptr;
}

const PartitionSpec* SpecById(const TableMetadata& metadata, int id) {
  for (const PartitionSpec& spec : metadata.partition_specs) {
    if (spec.spec_id == id) return &spec;
  }
  return nullptr;
}

const Snapshot* SnapshotById(const TableMetadata& metadata, int64_t id) {
  // The newest are last, and asked for most.
  for (auto it = metadata.snapshots.rbegin(); it != metadata.snapshots.rend(); ++it) {
    if (it->snapshot_id == id) return &*it;
  }
  return nullptr;
}

const Schema* CurrentSchema(const TableMetadata& metadata) {
  return SchemaById(metadata, metadata.current_schema_id);
}

const PartitionSpec* DefaultSpec(const TableMetadata& metadata) {
  return SpecById(metadata, metadata.default_spec_id);
}

const SortOrder* DefaultSortOrder(const TableMetadata& metadata) {
  for (const SortOrder& order : metadata.sort_orders) {
    if (order.order_id == metadata.default_sort_order_id) return &order;
  }
  return nullptr;
}

const Snapshot* CurrentSnapshot(const TableMetadata& metadata) {
  if (!metadata.current_snapshot_id) return nullptr;
  return SnapshotById(metadata, *metadata.current_snapshot_id);
}

}  // namespace timelake::iceberg
