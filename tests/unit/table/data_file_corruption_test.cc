#include <random>

#include <gtest/gtest.h>
#include <parquet/metadata.h>

#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

// Opened and read whole; the status.
Status TryRead(const Env& env, const std::string& uri) {
  DataFileRequest request;
  request.uri = uri;
  request.fields = {TableColumn(1, "a", "long"), TableColumn(2, "s", "string"),
                    TableColumn(3, "d", "double")};
  request.keep_dictionaries = true;
  auto reader = OpenDataFile(env, request);
  if (!reader.ok()) return reader.status();
  std::vector<int> row_groups;
  for (int i = 0; i < (*reader)->num_row_groups(); ++i) {
    for (int id : {1, 2, 3}) (*reader)->row_group_stats(i, id);
    row_groups.push_back(i);
  }
  auto batches = (*reader)->Read(row_groups);
  if (!batches.ok()) return batches.status();
  auto table = (*batches)->ToTable();
  if (!table.ok()) return table.status();
  return (*table)->ValidateFull();
}

std::string Sample(bool checksums = false) {
  arrow::Int64Builder a;
  arrow::StringBuilder s;
  arrow::DoubleBuilder d;
  for (int i = 0; i < 400; ++i) {
    EXPECT_TRUE(a.Append(i * 1000).ok());
    EXPECT_TRUE((i % 7 == 0 ? s.AppendNull() : s.Append("host_" + std::to_string(i % 5))).ok());
    EXPECT_TRUE(d.Append(i * 0.5).ok());
  }
  FileOptions options;
  options.rows_per_group = 150;
  auto builder = parquet::WriterProperties::Builder();
  builder.compression(parquet::Compression::ZSTD)->disable_dictionary("a");
  builder.encoding("a", parquet::Encoding::DELTA_BINARY_PACKED);
  if (checksums) builder.enable_page_checksum();
  options.parquet = builder.build();
  return ParquetBytes({ArrowColumn("a", arrow::int64(), 1), ArrowColumn("s", arrow::utf8(), 2),
                       ArrowColumn("d", arrow::float64(), 3)},
                      {a.Finish().ValueOrDie(), s.Finish().ValueOrDie(), d.Finish().ValueOrDie()},
                      options)
      ->ToString();
}

TEST(DataFileCorruption, MissingFile) {
  const Env env = MemoryEnv();
  ExpectError(TryRead(env, "memory://b/none.parquet"), ErrorKind::kNotFound,
              {"memory://b/none.parquet"});
}

TEST(DataFileCorruption, OtherFormats) {
  const Env env = MemoryEnv();
  auto status = [&](const std::string& bytes) {
    return TryRead(
        env, PutBytes(env, "b/f" + std::to_string(bytes.size()), arrow::Buffer::FromString(bytes)));
  };
  ExpectError(status("ORC" + std::string(100, 'x')), ErrorKind::kUnsupported, {"b/f103", "ORC"});
  ExpectError(status("Obj\x01" + std::string(101, 'x')), ErrorKind::kUnsupported,
              {"b/f105", "Avro"});
  ExpectError(status(""), ErrorKind::kCorrupt, {"b/f0"});
  ExpectError(status("PAR1"), ErrorKind::kCorrupt, {"b/f4"});
  ExpectError(status(std::string(1000, 'x')), ErrorKind::kCorrupt, {"b/f1000"});
}

TEST(DataFileCorruption, EveryTruncation) {
  const Env env = MemoryEnv();
  const std::string whole = Sample();
  for (size_t size = 0; size < whole.size(); size += 13) {
    const std::string uri = PutBytes(env, "b/" + std::to_string(size),
                                     arrow::Buffer::FromString(whole.substr(0, size)));
    ExpectError(TryRead(env, uri), ErrorKind::kCorrupt, {uri});
  }
}

// Nothing but an error naming the file, or other values where no checksum protects them.
TEST(DataFileCorruption, FlippedBytes) {
  const std::string whole = Sample();
  std::mt19937 g(1);
  for (size_t at = 0; at < whole.size(); ++at) {
    const Env env = MemoryEnv();
    std::string bytes = whole;
    bytes[at] = static_cast<char>(g());
    const std::string uri = PutBytes(env, "b/x", arrow::Buffer::FromString(bytes));
    const Status status = TryRead(env, uri);
    if (status.ok()) continue;
    const ErrorKind kind = KindOf(status);
    EXPECT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kUnsupported)
        << at << ": " << status.ToString();
    EXPECT_NE(MessageOf(status).find(uri), std::string::npos) << status.ToString();
  }
}

TEST(DataFileCorruption, ChecksumsAreVerifiedAndThePlaceIsNamed) {
  const Env env = MemoryEnv();
  std::string bytes = Sample(/*checksums=*/true);
  DataFileRequest request;
  request.uri = PutBytes(env, "b/good", arrow::Buffer::FromString(bytes));
  ASSERT_TRUE(TryRead(env, request.uri).ok());
  auto reader = OpenDataFile(env, request).ValueOrDie();
  const auto chunk = reader->metadata().RowGroup(1)->ColumnChunk(2);
  const int64_t end =
      chunk->data_page_offset() + chunk->total_compressed_size() -
      (chunk->has_dictionary_page() ? chunk->data_page_offset() - chunk->dictionary_page_offset()
                                    : 0);
  bytes[static_cast<size_t>(end - 1)] ^= 1;
  const std::string uri = PutBytes(env, "b/bad", arrow::Buffer::FromString(bytes));
  ExpectError(TryRead(env, uri), ErrorKind::kCorrupt, {uri, "row group 1", "'d'"});
}

}  // namespace
}  // namespace timelake::table
