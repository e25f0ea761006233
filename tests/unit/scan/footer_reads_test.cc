// A scan reads the footer and the page index of each file once, those of several files at the same
// time, and a second scan reads none.

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "unit/scan/test_table.h"

namespace timelake::scan {
namespace {

struct Reads {
  struct Range {
    int64_t begin, end;
    bool Overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  };
  std::mutex mutex;
  std::map<std::string, std::vector<Range>> ranges;  // by key
  std::atomic<int> now{0}, most{0};

  int Count(const std::string& key, const Range& of) {
    std::lock_guard lock(mutex);
    const auto& all = ranges[key];
    return static_cast<int>(
        std::count_if(all.begin(), all.end(), [&](const Range& r) { return r.Overlaps(of); }));
  }
};

class CountedFile : public arrow::io::RandomAccessFile {
 public:
  CountedFile(std::shared_ptr<arrow::io::RandomAccessFile> file, std::string key, Reads* reads)
      : file_(std::move(file)), key_(std::move(key)), reads_(reads) {}

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override {
    Note(position, bytes);
    auto read = file_->ReadAt(position, bytes, out);
    --reads_->now;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override {
    Note(position, bytes);
    auto read = file_->ReadAt(position, bytes);
    --reads_->now;
    return read;
  }
  arrow::Result<int64_t> GetSize() override { return file_->GetSize(); }
  arrow::Result<int64_t> Tell() const override { return file_->Tell(); }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override { return file_->Read(bytes, out); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    return file_->Read(bytes);
  }
  arrow::Status Seek(int64_t position) override { return file_->Seek(position); }
  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }

 private:
  void Note(int64_t position, int64_t bytes) {
    const int now = ++reads_->now;
    for (int most = reads_->most; now > most;) reads_->most.compare_exchange_weak(most, now);
    {
      std::lock_guard lock(reads_->mutex);
      reads_->ranges[key_].push_back({position, position + bytes});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a store has latency
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::string key_;
  Reads* const reads_;
};

class CountedStore : public store::ObjectStore {
 public:
  CountedStore(std::shared_ptr<store::ObjectStore> store, Reads* reads)
      : store_(std::move(store)), reads_(reads) {}

  Result<store::GetReply> Get(const std::string& key) override { return store_->Get(key); }
  Result<store::HeadReply> Head(const std::string& key) override { return store_->Head(key); }
  Result<store::PutReply> Put(const std::string& key,
                              std::shared_ptr<arrow::Buffer> bytes) override {
    return store_->Put(key, std::move(bytes));
  }
  Status Sync(const std::vector<std::string>& keys) override { return store_->Sync(keys); }
  Result<store::ConditionalPutReply> PutIfAbsent(const std::string& key,
                                                 std::shared_ptr<arrow::Buffer> bytes) override {
    return store_->PutIfAbsent(key, std::move(bytes));
  }
  Result<store::ConditionalPutReply> PutIfMatch(
      const std::string& key, std::shared_ptr<arrow::Buffer> bytes,
      const std::optional<std::string>& expected) override {
    return store_->PutIfMatch(key, std::move(bytes), expected);
  }
  bool has_compare_and_swap() const override { return store_->has_compare_and_swap(); }
  Result<store::ListReply> List(const std::string& prefix) override { return store_->List(prefix); }
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override {
    return store_->ListFolders(prefix);
  }
  Status Delete(const std::string& key) override { return store_->Delete(key); }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    return store_->OpenWrite(key);
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    TL_ASSIGN_OR_RAISE(auto file, store_->OpenRead(key, size));
    return std::make_shared<CountedFile>(std::move(file), key, reads_);
  }
  std::string scheme() const override { return store_->scheme(); }

 private:
  const std::shared_ptr<store::ObjectStore> store_;
  Reads* const reads_;
};

// Of a file: its end, and where its page indexes lie.
struct Places {
  Reads::Range tail{0, 0}, index{INT64_MAX, 0};
};

Places PlacesOf(const std::shared_ptr<arrow::Buffer>& bytes) {
  Places places;
  places.tail = {bytes->size() - 8, bytes->size()};
  const auto footer =
      parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(bytes))
          ->metadata();
  for (int i = 0; i < footer->num_row_groups(); ++i) {
    for (int column = 0; column < footer->num_columns(); ++column) {
      const auto chunk = footer->RowGroup(i)->ColumnChunk(column);
      for (const auto& place : {chunk->GetColumnIndexLocation(), chunk->GetOffsetIndexLocation()}) {
        places.index.begin = std::min(places.index.begin, place->offset);
        places.index.end = std::max(places.index.end, place->offset + place->length);
      }
    }
  }
  return places;
}

TEST(FooterReads, OnceForEachFileAndSeveralAtATime) {
  iceberg::Schema schema;
  schema.fields = {table::TableColumn(1, "n", "long"), table::TableColumn(2, "host", "string")};
  TestTable table(schema, {iceberg::PartitionSpec{}});
  table::FileOptions options;
  options.rows_per_group = 2000;
  options.parquet = parquet::WriterProperties::Builder()
                        .enable_write_page_index()
                        ->data_pagesize(256)
                        ->write_batch_size(100)
                        ->disable_dictionary()
                        ->encoding(parquet::Encoding::PLAIN)
                        ->build();
  constexpr int kFiles = 24;
  constexpr int kRows = 6000;  // larger than the 64 KiB that are read for a footer
  std::vector<iceberg::DataFile> files;
  for (int f = 0; f < kFiles; ++f) {
    std::string n, host;
    for (int i = 0; i < kRows; ++i) {
      n += (i ? ", " : "") + std::to_string(f * kRows + i);
      host += std::string(i ? ", " : "") + "\"a host with some number " + std::to_string(i) + "\"";
    }
    files.push_back(
        table.Write("f" + std::to_string(f), {"[" + n + "]", "[" + host + "]"}, {}, options));
  }
  table.Commit(files);
  Reads reads;
  table::Env env = table.env();
  env.store = std::make_shared<CountedStore>(env.store, &reads);
  const auto scan = [&]() -> int64_t {
    ScanRequest request;
    request.schema = table.schema();
    request.field_ids = {1, 2};
    request.predicate = {{{1, Op::kGe, {int64_t{10}}}}};
    auto plan = PlanFiles(env, table.metadata(), iceberg::CurrentSnapshot(table.metadata()),
                          request.predicate);
    auto scanner =
        Scanner::Make(env, table.metadata(), *std::move(plan), std::move(request)).ValueOrDie();
    std::atomic<int64_t> rows{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        while (auto reader = scanner->Next().ValueOrDie()) {
          while (auto batch = reader->Next().ValueOrDie()) rows += batch->num_rows();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return rows;
  };
  EXPECT_GE(scan(), int64_t{kFiles} * kRows - 100);
  EXPECT_GT(reads.most, 4) << "files are opened at the same time";
  std::map<std::string, Places> places;
  for (const auto& file : files) {
    const std::string key = "t/data/" + TestTable::NameOf(file);
    places[key] = PlacesOf(table.env().store->Get(key).ValueOrDie().bytes);
    EXPECT_EQ(reads.Count(key, places[key].tail), 1) << key;
    // The indexes, and the end of the file with the footer may hold some of them.
    EXPECT_LE(reads.Count(key, places[key].index), 2) << key;
  }
  {
    std::lock_guard lock(reads.mutex);
    reads.ranges.clear();
  }
  EXPECT_GE(scan(), int64_t{kFiles} * kRows - 100);
  for (const auto& [key, place] : places) {
    EXPECT_EQ(reads.Count(key, place.tail), 0) << key;
    EXPECT_EQ(reads.Count(key, place.index), 0) << key;
  }
}

}  // namespace
}  // namespace timelake::scan
