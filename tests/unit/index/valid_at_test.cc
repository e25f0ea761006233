#include <gmock/gmock.h>

#include "index/last_value_index.h"
#include "table/meta_cache.h"
#include "unit/write/write_testing.h"

// Which snapshots an index holds at: histories of a table, built file by file.

namespace timelake::index {
namespace {

using write::FromJson;
using write::Micros;
using write::Target;
using write::Unwrapped;
using Batch = std::shared_ptr<arrow::RecordBatch>;

class History {
 public:
  explicit History(bool dedup = true) {
    env_ = write::TestEnv();
    auto observer = std::make_shared<Observer>();
    observer->log = [this](LogLevel, const std::string& line) { log_ += line + "\n"; };
    observer->metric = [this](const char* name, int64_t value) {
      if (std::string(name) == "index.miss") misses_ += value;
    };
    env_.observer = observer;
    write::TargetSpec spec;
    spec.dedup = dedup;
    spec.chunk = "";
    target_ = write::TargetOf(spec);
    metadata_.location = target_.location_uri;
    metadata_.schemas = {target_.schema};
    metadata_.partition_specs = {target_.spec};
  }

  struct Rows {
    std::string device;
    int64_t time;
    double v;
  };

  // A data file with rows; not yet in a snapshot.
  iceberg::ManifestEntry File(const std::vector<Rows>& rows) {
    const auto written = Unwrapped(write::WriteBatches(env_, target_, {BatchOf(rows)}));
    newest_ = written.newest;
    iceberg::ManifestEntry entry;
    entry.file = written.files.at(0);
    return entry;
  }

  // Commits: `added` come with this snapshot (sequence number as given or inherited), files whose
  // path is in `removed` go.
  void Commit(const std::string& operation, std::vector<iceberg::ManifestEntry> added,
              const std::vector<std::string>& removed = {}) {
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = static_cast<int64_t>(metadata_.snapshots.size()) + 1;
    snapshot.sequence_number = ++metadata_.last_sequence_number;
    snapshot.summary["operation"] = operation;
    if (metadata_.current_snapshot_id) snapshot.parent_snapshot_id = metadata_.current_snapshot_id;
    std::erase_if(live_, [&](const auto& entry) {
      return std::count(removed.begin(), removed.end(), entry.file.file_path) > 0;
    });
    for (auto& entry : live_) entry.status = iceberg::EntryStatus::kExisting;
    for (auto& entry : added) {
      entry.snapshot_id = snapshot.snapshot_id;
      if (!entry.sequence_number) entry.sequence_number = snapshot.sequence_number;
      entry.file_sequence_number = snapshot.sequence_number;
      live_.push_back(entry);
    }
    WriteManifests(&snapshot);
    metadata_.current_snapshot_id = snapshot.snapshot_id;
    metadata_.snapshots.push_back(snapshot);
  }

  // Names a complete index in the newest snapshot.
  void NameIndex(const Batch& rows) {
    const std::string key =
        fmt::format("wh/ns/t/metadata/lvi-{}.parquet", metadata_.snapshots.size());
    EXPECT_TRUE(env_.store->Put(key, Unwrapped(Encode(rows, target_.schema))).ok());
    head().summary[table::kLastValueIndex] = "memory://" + key;
  }

  std::optional<Batch> Find(int64_t max_bytes = 256 << 20) {
    env_.cache = std::make_shared<table::MetaCache>();
    return Unwrapped(ValidAt(env_, metadata_, head(), target_.contract, max_bytes));
  }

  // "a=1 b=2" of the index found, or why there is none.
  std::string Text() {
    log_.clear();
    const auto found = Find();
    if (!found) return log_;
    const auto& devices = static_cast<const arrow::StringArray&>(*(*found)->column(1));
    const auto& values = static_cast<const arrow::DoubleArray&>(*(*found)->column(2));
    std::string text;
    for (int64_t i = 0; i < devices.length(); ++i) {
      text += fmt::format("{}{}={}", i ? " " : "", devices.GetView(i), values.Value(i));
    }
    return text;
  }

  iceberg::Snapshot& head() { return metadata_.snapshots.back(); }
  iceberg::TableMetadata& metadata() { return metadata_; }
  table::Env& env() { return env_; }
  const Batch& newest() const { return newest_; }
  const std::string& log() const { return log_; }
  int64_t misses() const { return misses_; }

 private:
  Batch BatchOf(const std::vector<Rows>& rows) {
    std::string devices, times, values;
    for (const Rows& row : rows) {
      devices += fmt::format("{}\"{}\"", devices.empty() ? "" : ",", row.device);
      times += fmt::format("{}{}", times.empty() ? "" : ",", row.time);
      values += fmt::format("{}{}", values.empty() ? "" : ",", row.v);
    }
    return write::BatchOf({{"device", FromJson(arrow::utf8(), "[" + devices + "]")},
                           {"time", FromJson(Micros(), "[" + times + "]")},
                           {"v", FromJson(arrow::float64(), "[" + values + "]")}});
  }

  void WriteManifests(iceberg::Snapshot* snapshot) {
    iceberg::ManifestHeader header;
    header.schema = target_.schema;
    header.spec = target_.spec;
    const std::string name = fmt::format("wh/ns/t/metadata/{}", snapshot->snapshot_id);
    const auto bytes = Unwrapped(iceberg::WriteManifest(header, live_));
    EXPECT_TRUE(env_.store->Put(name + "-m.avro", bytes).ok());
    const auto row = Unwrapped(
        iceberg::DescribeManifest(header, live_, "memory://" + name + "-m.avro", bytes->size(),
                                  snapshot->snapshot_id, snapshot->sequence_number));
    const auto list = Unwrapped(iceberg::WriteManifestList(
        {snapshot->snapshot_id, snapshot->parent_snapshot_id, snapshot->sequence_number}, {row}));
    EXPECT_TRUE(env_.store->Put(name + "-list.avro", list).ok());
    snapshot->manifest_list = "memory://" + name + "-list.avro";
  }

  table::Env env_;
  Target target_;
  iceberg::TableMetadata metadata_;
  std::vector<iceberg::ManifestEntry> live_;
  Batch newest_;
  std::string log_;
  int64_t misses_ = 0;
};

using testing::HasSubstr;

TEST(ValidAt, OwnIndex) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}, {"b", 5, 2}})});
  table.NameIndex(table.newest());
  EXPECT_EQ(table.Text(), "a=1 b=2");
  EXPECT_EQ(table.misses(), 0);
}

TEST(ValidAt, AForeignAppendDoesNotEndTheIndex) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}, {"b", 5, 2}})});
  table.NameIndex(table.newest());
  table.Commit("append", {table.File({{"a", 4, 3}, {"b", 5, 4}, {"c", 1, 5}})});
  table.Commit("append", {table.File({{"b", 5, 6}})});
  EXPECT_EQ(table.Text(), "a=1 b=6 c=5");
}

TEST(ValidAt, FromTheFirstSnapshotOn) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}})});
  table.Commit("append", {table.File({{"a", 6, 2}, {"b", 0, 3}})});
  EXPECT_EQ(table.Text(), "a=2 b=3");
  EXPECT_FALSE(table.Find(100).has_value());
  EXPECT_THAT(table.log(), HasSubstr("more than 100 bytes"));
}

TEST(ValidAt, AReplaceOfFilesSinceIsRead) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}})});
  table.NameIndex(table.newest());
  auto first = table.File({{"a", 6, 2}});
  auto second = table.File({{"b", 1, 3}});
  table.Commit("append", {first});
  table.Commit("append", {second});
  auto merged = table.File({{"a", 6, 2}, {"b", 1, 3}});
  merged.sequence_number = 3;
  table.Commit("replace", {merged}, {first.file.file_path, second.file.file_path});
  EXPECT_EQ(table.Text(), "a=2 b=3");
}

TEST(ValidAt, AReplaceOfOlderFilesChangesNothing) {
  History table;
  auto first = table.File({{"a", 5, 1}, {"b", 9, 1}});
  table.Commit("append", {first});
  table.Commit("append", {table.File({{"b", 9, 2}, {"c", 1, 2}})});
  table.NameIndex(*table.Find());
  auto merged = table.File({{"a", 5, 1}});
  merged.sequence_number = 1;
  table.Commit("replace", {merged}, {first.file.file_path});
  EXPECT_EQ(table.Text(), "a=1 b=2 c=2");
}

// The index does not say that its row of b came from the younger file.
TEST(ValidAt, AReplaceThatTiesWithTheIndexEndsIt) {
  History table;
  auto first = table.File({{"a", 5, 1}, {"b", 9, 1}});
  table.Commit("append", {first});
  table.Commit("append", {table.File({{"b", 9, 2}})});
  table.NameIndex(*table.Find());
  auto merged = table.File({{"a", 5, 1}, {"b", 9, 1}});
  merged.sequence_number = 2;
  table.Commit("replace", {merged}, {first.file.file_path});
  EXPECT_THAT(table.Text(), HasSubstr("rows of the same time"));
  EXPECT_EQ(table.misses(), 1);
}

TEST(ValidAt, DeletesAndOverwritesEndIt) {
  for (const char* operation : {"delete", "overwrite", ""}) {
    History table;
    auto first = table.File({{"a", 5, 1}});
    table.Commit("append", {first});
    table.NameIndex(table.newest());
    table.Commit(operation, {table.File({{"b", 5, 2}})}, {first.file.file_path});
    EXPECT_THAT(table.Text(), HasSubstr("without an index"));
    // What the simulation switches off, to see that it matters.
    auto rules = std::make_shared<table::Rules>();
    rules->index_chain = false;
    table.env().rules = rules;
    EXPECT_EQ(table.Text(), "a=1 b=2");
  }
}

TEST(ValidAt, ADeleteWithAnIndexOfItsOwn) {
  History table;
  auto first = table.File({{"a", 5, 1}});
  table.Commit("append", {first});
  table.Commit("delete", {}, {first.file.file_path});
  table.NameIndex(table.newest()->Slice(0, 0));
  table.Commit("append", {table.File({{"b", 5, 2}})});
  EXPECT_EQ(table.Text(), "b=2");
}

TEST(ValidAt, DeleteFilesEndIt) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}})});
  table.NameIndex(table.newest());
  table.head().summary["total-delete-files"] = "1";
  EXPECT_THAT(table.Text(), HasSubstr("delete files"));
}

TEST(ValidAt, ExpiredAncestorsEndIt) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}})});
  table.NameIndex(table.newest());
  table.Commit("append", {table.File({{"b", 5, 2}})});
  table.metadata().snapshots.erase(table.metadata().snapshots.begin());
  EXPECT_THAT(table.Text(), HasSubstr("snapshot 1 has expired"));
}

// The columns of the head from now on: those so far, without those of `dropped` and with `added`.
void ChangeColumns(History* history, const std::string& dropped, const std::string& added) {
  auto& metadata = history->metadata();
  iceberg::Schema schema = *iceberg::CurrentSchema(metadata);
  int highest = 0;
  for (const auto& known : metadata.schemas) {
    highest = std::max(highest, iceberg::HighestFieldId(known));
  }
  std::erase_if(schema.fields, [&](const auto& field) { return field.name == dropped; });
  if (!added.empty()) {
    iceberg::Type type;
    type.id = iceberg::TypeId::kDouble;
    schema.fields.push_back({highest + 1, added, false, type, std::nullopt, {}});
  }
  schema.schema_id = static_cast<int>(metadata.schemas.size());
  metadata.current_schema_id = schema.schema_id;
  metadata.schemas.push_back(std::move(schema));
}

TEST(ValidAt, AnIndexOfBeforeAChangeOfColumns) {
  History history;
  history.Commit("append", {history.File({{"a", 1, 1}, {"b", 1, 2}})});
  history.NameIndex(history.newest());
  history.head().schema_id = 0;
  history.head().summary[table::kWriter] = "timelake-cpp 0.1.0";
  ChangeColumns(&history, "", "p");
  const auto with_new = history.Find();
  ASSERT_TRUE(with_new);
  EXPECT_EQ((*with_new)->num_columns(), 4);
  EXPECT_EQ((*with_new)->column(3)->null_count(), 2);
  EXPECT_EQ(history.Text(), "a=1 b=2");
  ChangeColumns(&history, "v", "v");
  const auto other = history.Find();
  ASSERT_TRUE(other);
  EXPECT_EQ((*other)->column(3)->null_count(), 2);
}

TEST(ValidAt, AColumnThatIsBackEndsIt) {
  History history;
  ChangeColumns(&history, "", "p");
  ChangeColumns(&history, "p", "");
  history.Commit("append", {history.File({{"a", 1, 1}})});
  history.File({{"a", 1, 2}});
  history.NameIndex(history.newest());
  history.head().schema_id = 2;
  history.head().summary[table::kWriter] = "timelake-cpp 0.1.0";
  EXPECT_EQ(history.Text(), "a=2");
  history.metadata().current_schema_id = 1;
  EXPECT_EQ(history.Text(), "a=1");  // from the files
}

// The peer carries the rows of an index on by position.
TEST(ValidAt, AnIndexThatThePeerExtendedOverAChangeOfColumns) {
  History history;
  history.Commit("append", {history.File({{"a", 1, 1}, {"b", 1, 2}})});
  history.NameIndex(history.newest());
  history.head().schema_id = 0;
  history.head().summary[table::kWriter] = "timelake-cpp 0.1.0";
  ChangeColumns(&history, "", "p");
  const auto wrong = history.newest();
  history.Commit("append", {history.File({{"b", 2, 3}})});
  history.NameIndex(wrong);
  history.head().schema_id = 1;
  EXPECT_EQ(history.Text(), "a=1 b=3");  // from the one before
  // What it makes of that is no better.
  history.Commit("append", {history.File({{"c", 2, 4}})});
  history.NameIndex(wrong);
  history.head().schema_id = 1;
  EXPECT_EQ(history.Text(), "a=1 b=3 c=4");
  // One of ours is, and what the peer makes of it.
  history.Commit("append", {history.File({{"d", 2, 5}})});
  history.NameIndex(history.newest());
  history.head().schema_id = 1;
  history.head().summary[table::kWriter] = "timelake-cpp 0.1.0";
  EXPECT_EQ(history.Text(), "d=5");
  history.Commit("append", {history.File({{"e", 2, 6}})});
  history.NameIndex(history.newest());
  history.head().schema_id = 1;
  EXPECT_EQ(history.Text(), "e=6");
  // Unless nobody knows what it was made of.
  history.metadata().snapshots.erase(history.metadata().snapshots.begin(),
                                     history.metadata().snapshots.end() - 1);
  EXPECT_THAT(history.Text(), testing::HasSubstr("has expired"));
}

TEST(ValidAt, MissingAndBrokenIndexesMeanNone) {
  History table;
  table.Commit("append", {table.File({{"a", 5, 1}})});
  table.head().summary[table::kLastValueIndex] = "memory://wh/ns/t/metadata/gone.parquet";
  EXPECT_THAT(table.Text(), HasSubstr("gone.parquet"));
  ASSERT_TRUE(
      table.env()
          .store->Put("wh/ns/t/metadata/gone.parquet", arrow::Buffer::FromString("PAR1junk"))
          .ok());
  EXPECT_THAT(table.Text(), HasSubstr("no last-value index at snapshot 1"));
  EXPECT_EQ(table.misses(), 2);
}

TEST(ValidAt, AMissingDataFileMeansNone) {
  History table;
  auto file = table.File({{"a", 5, 1}});
  table.Commit("append", {file});
  ASSERT_TRUE(table.env().store->Delete(file.file.file_path.substr(9)).ok());
  EXPECT_THAT(table.Text(), HasSubstr("no last-value index"));
}

}  // namespace
}  // namespace timelake::index
