#include "iceberg/invariants.h"

#include <functional>

#include <gtest/gtest.h>

#include "unit/iceberg/expect.h"

namespace timelake::iceberg {
namespace {

Snapshot NewSnapshot(int64_t id, std::optional<int64_t> parent, int64_t sequence_number) {
  Snapshot snapshot;
  snapshot.snapshot_id = id;
  snapshot.parent_snapshot_id = parent;
  snapshot.sequence_number = sequence_number;
  snapshot.timestamp_ms = 1000 * sequence_number;
  snapshot.manifest_list = "mem://t/metadata/snap-" + std::to_string(id) + ".avro";
  snapshot.summary["operation"] = "append";
  snapshot.schema_id = 0;
  return snapshot;
}

// A table with two snapshots.
TableMetadata Table() {
  TableMetadata m;
  m.table_uuid = "u";
  m.location = "mem://t";
  m.last_sequence_number = 2;
  m.last_updated_ms = 100'000;
  m.schemas.push_back(Must(ParseSchemaText("time:timestamptz!, host:string, v:double")));
  m.last_column_id = 3;
  m.partition_specs.emplace_back();
  m.partition_specs[0].fields.push_back({1, 1000, "time_day", ParseTransform("day"), {}});
  m.last_partition_id = 1000;
  m.sort_orders.emplace_back();
  m.sort_orders.emplace_back();
  m.sort_orders[1].order_id = 1;
  m.sort_orders[1].fields.emplace_back().source_id = 1;
  m.default_sort_order_id = 1;
  m.snapshots = {NewSnapshot(10, std::nullopt, 1), NewSnapshot(20, 10, 2)};
  m.current_snapshot_id = 20;
  m.refs["main"].snapshot_id = 20;
  m.refs["main"].type = "branch";
  m.snapshot_log = {{1000, 10}, {2000, 20}};
  m.metadata_log = {{500, "v1"}, {1000, "v2"}};
  m.properties["timelake.commit-id"] = "c1";
  return m;
}

TableMetadata Appended(const TableMetadata& base, int64_t id = 30) {
  TableMetadata next = base;
  ++next.last_sequence_number;
  next.last_updated_ms += 1000;
  next.snapshots.push_back(NewSnapshot(id, base.current_snapshot_id, next.last_sequence_number));
  next.current_snapshot_id = id;
  next.refs["main"].snapshot_id = id;
  next.refs["main"].type = "branch";
  next.snapshot_log.push_back({next.last_updated_ms, id});
  return next;
}

using Change = std::function<void(TableMetadata*)>;

TEST(CheckMetadata, AcceptsGoodTables) {
  EXPECT_TRUE(CheckMetadata(Table()).ok()) << CheckMetadata(Table()).ToString();
  EXPECT_TRUE(CheckMetadata(Appended(Table())).ok());
  TableMetadata empty = Table();
  empty.snapshots.clear();
  empty.snapshot_log.clear();
  empty.refs.clear();
  empty.current_snapshot_id.reset();
  EXPECT_TRUE(CheckMetadata(empty).ok()) << CheckMetadata(empty).ToString();
  // A parent that has expired, and clocks that disagree within the tolerance.
  TableMetadata expired = Table();
  expired.snapshots.erase(expired.snapshots.begin());
  expired.snapshot_log[1].timestamp_ms = expired.snapshot_log[0].timestamp_ms - 59'000;
  EXPECT_TRUE(CheckMetadata(expired).ok()) << CheckMetadata(expired).ToString();
}

TEST(CheckMetadata, NamesTheBrokenRule) {
  const std::pair<Change, const char*> cases[] = {
      {[](TableMetadata* m) { m->format_version = 3; }, "format-version 3"},
      {[](TableMetadata* m) { m->table_uuid = ""; }, "table-uuid is empty"},
      {[](TableMetadata* m) { m->location = ""; }, "location is empty"},
      {[](TableMetadata* m) { m->location += "/"; }, "location mem://t/ ends with '/'"},
      {[](TableMetadata* m) { m->last_sequence_number = -1; }, "last-sequence-number -1"},
      {[](TableMetadata* m) { m->last_sequence_number = 1; },
       "snapshot 20: sequence number 2 is not in 0..1"},
      {[](TableMetadata* m) { m->schemas.clear(); }, "current-schema-id 0"},
      {[](TableMetadata* m) { m->schemas.push_back(m->schemas[0]); }, "schema id 0 is there twice"},
      {[](TableMetadata* m) { m->current_schema_id = 4; }, "current-schema-id 4"},
      {[](TableMetadata* m) { m->last_column_id = 2; }, "field id 3 is above last-column-id 2"},
      {[](TableMetadata* m) { m->schemas[0].fields[1].id = 1; }, "schema 0: columns \"time\""},
      {[](TableMetadata* m) { m->default_spec_id = 4; }, "default-spec-id 4"},
      {[](TableMetadata* m) { m->partition_specs.push_back(m->partition_specs[0]); },
       "partition spec id 0 is there twice"},
      {[](TableMetadata* m) { m->last_partition_id = 999; }, "above last-partition-id 999"},
      {[](TableMetadata* m) {
         auto& fields = m->partition_specs[0].fields;
         fields.push_back(PartitionField(fields[0]));
       },
       "field id 1000 is there twice"},
      {[](TableMetadata* m) { m->default_sort_order_id = 4; }, "default-sort-order-id 4"},
      {[](TableMetadata* m) { m->sort_orders[1].order_id = 0; }, "sort order id 0 is there twice"},
      {[](TableMetadata* m) { m->sort_orders[0].fields.emplace_back(); },
       "sort order 0 has fields"},
      {[](TableMetadata* m) { m->snapshots[0].snapshot_id = 20; }, "snapshot id 20 is there twice"},
      {[](TableMetadata* m) { m->snapshots[0].snapshot_id = 0; }, "snapshot id 0 is not positive"},
      {[](TableMetadata* m) { m->snapshots[0].snapshot_id = -5; }, "snapshot id -5"},
      {[](TableMetadata* m) { m->snapshots[1].manifest_list = ""; }, "20 has no manifest list"},
      {[](TableMetadata* m) { m->snapshots[0].sequence_number = 2; },
       "snapshot 20: sequence number 2 is not above that of its parent 10 (2)"},
      {[](TableMetadata* m) { m->current_snapshot_id = 21; }, "current snapshot 21"},
      {[](TableMetadata* m) { m->current_snapshot_id = 10; },
       "\"main\" points at snapshot 20, the current snapshot is 10"},
      {[](TableMetadata* m) { m->current_snapshot_id.reset(); }, "the current snapshot is none"},
      {[](TableMetadata* m) { m->refs.clear(); }, "\"main\" points at snapshot none"},
      {[](TableMetadata* m) { m->refs["main"].type = "tag"; }, "\"main\" is not a branch"},
      {[](TableMetadata* m) { m->refs["t"] = {10, "twig", {}, {}, {}, {}}; }, "ref \"t\": type"},
      {[](TableMetadata* m) { m->refs["t"] = {7, "tag", {}, {}, {}, {}}; },
       "ref \"t\" points at snapshot 7, which is not kept"},
      {[](TableMetadata* m) { m->snapshot_log[0].timestamp_ms = 63'000; }, "snapshot-log: entry 1"},
      {[](TableMetadata* m) { m->metadata_log[0].timestamp_ms = 63'000; }, "metadata-log: entry 1"},
      {[](TableMetadata* m) { m->snapshot_log[1].timestamp_ms = 200'000; },
       "after last-updated-ms"},
      {[](TableMetadata* m) { m->metadata_log[1].metadata_file = "v1"; }, "v1 is there twice"},
  };
  for (const auto& [change, fragment] : cases) {
    SCOPED_TRACE(fragment);
    TableMetadata m = Table();
    change(&m);
    ExpectError(CheckMetadata(m), ErrorKind::kCorrupt, fragment);
  }
}

TEST(CheckSuccession, AcceptsGoodCommits) {
  const TableMetadata base = Table();
  EXPECT_TRUE(CheckSuccession(base, Appended(base)).ok());
  // Expiry together with an append.
  TableMetadata expiring = Appended(base);
  expiring.snapshots.erase(expiring.snapshots.begin());
  EXPECT_TRUE(CheckSuccession(base, expiring).ok());
  // Properties and a rollback.
  TableMetadata rolled_back = base;
  rolled_back.properties["timelake.commit-id"] = "c2";
  rolled_back.current_snapshot_id = 10;
  rolled_back.refs["main"].snapshot_id = 10;
  EXPECT_TRUE(CheckSuccession(base, rolled_back).ok());
  EXPECT_TRUE(CheckSuccession(rolled_back, Appended(rolled_back)).ok());
  // A schema that nobody uses any more may go.
  TableMetadata with_schema = base;
  with_schema.schemas.push_back(base.schemas[0]);
  with_schema.schemas[1].schema_id = 1;
  EXPECT_TRUE(CheckSuccession(with_schema, Appended(base)).ok());
  // The first table and the first snapshot.
  TableMetadata version1 = base;
  version1.format_version = 1;
  version1.table_uuid = "";
  EXPECT_TRUE(CheckSuccession(version1, Appended(base)).ok());
}

TEST(CheckSuccession, ATombstoneMayBeFollowedByAnotherTable) {
  TableMetadata dropped = Table();
  dropped.properties["timelake.commit-id"] = "c2";
  dropped.properties["timelake.dropped"] = "true";
  dropped.snapshots.clear();
  dropped.snapshot_log.clear();
  dropped.refs.clear();
  dropped.current_snapshot_id.reset();
  EXPECT_TRUE(CheckMetadata(dropped).ok());
  EXPECT_TRUE(CheckSuccession(Table(), dropped).ok());
  TableMetadata created = Table();
  created.table_uuid = "u2";
  created.last_sequence_number = 0;
  created.schemas[0].fields.pop_back();
  EXPECT_TRUE(CheckSuccession(dropped, created).ok());
  ExpectError(CheckSuccession(Table(), created), ErrorKind::kCorrupt, "table-uuid changes");
  created.last_updated_ms = dropped.last_updated_ms - 1;
  ExpectError(CheckSuccession(dropped, created), ErrorKind::kCorrupt, "last-updated-ms goes back");
}

TEST(CheckSuccession, NamesTheBrokenRule) {
  const std::pair<Change, const char*> cases[] = {
      {[](TableMetadata* m) { m->table_uuid = "x"; }, "table-uuid changes from u to x"},
      {[](TableMetadata* m) { m->last_sequence_number = 1; }, "last-sequence-number goes back"},
      {[](TableMetadata* m) { m->last_updated_ms = 99'999; },
       "last-updated-ms goes back from 100000 to 99999"},
      {[](TableMetadata* m) { m->format_version = 1; }, "format-version goes back"},
      {[](TableMetadata* m) { m->last_column_id = 2; }, "last-column-id goes back"},
      {[](TableMetadata* m) { m->last_partition_id = 2; }, "last-partition-id goes back"},
      {[](TableMetadata* m) { m->snapshots.back().parent_snapshot_id = 10; },
       "new snapshot 30 has the parent 10, the base's head is 20"},
      {[](TableMetadata* m) { m->snapshots.back().parent_snapshot_id.reset(); }, "parent none"},
      {[](TableMetadata* m) { m->snapshots.back().sequence_number = 5; },
       "new snapshot 30 has sequence number 5, the base's last is 2"},
      {[](TableMetadata* m) { m->last_sequence_number = 9; },
       "last-sequence-number is 9, expected 3"},
      {[](TableMetadata* m) { m->current_snapshot_id = 20; },
       "new snapshot 30 is not the current one, 20 is"},
      {[](TableMetadata* m) { m->snapshots.push_back(NewSnapshot(40, 30, 4)); },
       "one commit adds 2 snapshots, 30 and 40"},
      {[](TableMetadata* m) { m->snapshots[0].manifest_list = "x"; }, "snapshot 10 has changed"},
      {[](TableMetadata* m) { m->snapshots[0].sequence_number = 0; }, "snapshot 10 has changed"},
      {[](TableMetadata* m) { m->schemas.clear(); }, "schema 0 is lost"},
      {[](TableMetadata* m) { m->schemas[0].fields[0].name = "t"; }, "schema 0 has changed"},
      {[](TableMetadata* m) { m->partition_specs.clear(); }, "partition spec 0 is lost"},
      {[](TableMetadata* m) { m->partition_specs[0].fields.clear(); }, "spec 0 has changed"},
      {[](TableMetadata* m) { m->sort_orders.pop_back(); }, "sort order 1 is lost"},
      {[](TableMetadata* m) { m->sort_orders[1].fields[0].source_id = 2; },
       "sort order 1 has changed"},
  };
  for (const auto& [change, fragment] : cases) {
    SCOPED_TRACE(fragment);
    TableMetadata next = Appended(Table());
    change(&next);
    ExpectError(CheckSuccession(Table(), next), ErrorKind::kCorrupt, fragment);
  }
}

TEST(CheckSuccession, ACommitWithoutSnapshotNeedsANewCommitId) {
  TableMetadata next = Table();
  ExpectError(CheckSuccession(Table(), next), ErrorKind::kCorrupt,
              "property timelake.commit-id is still c1");
  next.properties.erase("timelake.commit-id");
  ExpectError(CheckSuccession(Table(), next), ErrorKind::kCorrupt,
              "needs the property timelake.commit-id");
  next.properties["timelake.commit-id"] = "c2";
  EXPECT_TRUE(CheckSuccession(Table(), next).ok());
  ++next.last_sequence_number;
  ExpectError(CheckSuccession(Table(), next), ErrorKind::kCorrupt, "expected 2");
}

TEST(CheckManifestList, Rows) {
  const Snapshot snapshot = NewSnapshot(20, 10, 2);
  ManifestFile added;
  added.manifest_path = "m2";
  added.sequence_number = 2;
  added.min_sequence_number = 1;
  added.added_snapshot_id = 20;
  ManifestFile older;
  older.manifest_path = "m1";
  older.sequence_number = 1;
  older.min_sequence_number = 1;
  older.added_snapshot_id = 10;
  EXPECT_TRUE(CheckManifestList(snapshot, {added, older}).ok());
  EXPECT_TRUE(CheckManifestList(snapshot, {}).ok());

  const std::pair<std::function<void(ManifestFile*)>, const char*> cases[] = {
      {[](ManifestFile* row) { row->manifest_path = ""; }, "a manifest has no path"},
      {[](ManifestFile* row) { row->manifest_path = "m1"; }, "manifest m1 is listed twice"},
      {[](ManifestFile* row) { row->sequence_number = 3; }, "m2: sequence number 3 is above"},
      {[](ManifestFile* row) { row->min_sequence_number = 3; }, "min_sequence_number 3 is above"},
      {[](ManifestFile* row) { row->min_sequence_number = -1; }, "m2: min_sequence_number is -1"},
      {[](ManifestFile* row) { row->sequence_number = 1; }, "has sequence number 1, not 2"},
      {[](ManifestFile* row) { row->manifest_length = -1; }, "manifest_length is -1"},
      {[](ManifestFile* row) { row->added_files_count = -1; }, "added_files_count is -1"},
      {[](ManifestFile* row) { row->existing_files_count = -1; }, "existing_files_count is -1"},
      {[](ManifestFile* row) { row->deleted_files_count = -1; }, "deleted_files_count is -1"},
      {[](ManifestFile* row) { row->added_rows_count = -1; }, "added_rows_count is -1"},
      {[](ManifestFile* row) { row->existing_rows_count = -1; }, "existing_rows_count is -1"},
      {[](ManifestFile* row) { row->deleted_rows_count = -1; }, "deleted_rows_count is -1"},
  };
  for (const auto& [change, fragment] : cases) {
    SCOPED_TRACE(fragment);
    ManifestFile broken = added;
    change(&broken);
    ExpectError(CheckManifestList(snapshot, {older, broken}), ErrorKind::kCorrupt, fragment);
  }
}

}  // namespace
}  // namespace timelake::iceberg
