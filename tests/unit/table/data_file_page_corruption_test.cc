// Damage to pages, dictionaries, page indexes and footers, met on the way that queries read: by
// ranges of rows. It is an error that names file, row group and column, or changes nothing; a
// checksum of the pages sees to it. What has no checksum (a footer) is at least an error or rows.

#include <random>

#include <gtest/gtest.h>
#include <parquet/metadata.h>

#include "table/page_index.h"
#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

constexpr int kRowGroups = 2;
constexpr int64_t kRows = 300;  // of a row group

std::string Sample() {
  arrow::Int64Builder a;
  arrow::StringBuilder s;
  arrow::DoubleBuilder d;
  for (int i = 0; i < kRowGroups * kRows; ++i) {
    EXPECT_TRUE(a.Append(i * 1000).ok());
    EXPECT_TRUE((i % 7 == 0 ? s.AppendNull() : s.Append("host_" + std::to_string(i % 5))).ok());
    EXPECT_TRUE(d.Append(i * 0.5).ok());
  }
  FileOptions options;
  options.rows_per_group = kRows;
  auto builder = parquet::WriterProperties::Builder();
  builder.compression(parquet::Compression::ZSTD)->enable_page_checksum();
  builder.enable_write_page_index()->write_batch_size(50)->data_pagesize(64);
  builder.disable_dictionary("a")->encoding("a", parquet::Encoding::DELTA_BINARY_PACKED);
  options.parquet = builder.build();
  return ParquetBytes({ArrowColumn("a", arrow::int64(), 1), ArrowColumn("s", arrow::utf8(), 2),
                       ArrowColumn("d", arrow::float64(), 3)},
                      {a.Finish().ValueOrDie(), s.Finish().ValueOrDie(), d.Finish().ValueOrDie()},
                      options)
      ->ToString();
}

DataFileRequest Request(const std::string& uri) {
  DataFileRequest request;
  request.uri = uri;
  request.fields = {TableColumn(1, "a", "long"), TableColumn(2, "s", "string"),
                    TableColumn(3, "d", "double")};
  request.keep_dictionaries = true;
  return request;
}

// Some rows of every column and row group, as text.
Result<std::string> ReadRanges(const Env& env, const std::string& uri) {
  TL_ASSIGN_OR_RAISE(auto reader, OpenDataFile(env, Request(uri)));
  std::string text;
  for (int i = 0; i < reader->num_row_groups(); ++i) {
    for (size_t column = 0; column < 3; ++column) {
      TL_ASSIGN_OR_RAISE(const auto index, reader->Pages(i, column));
      for (size_t page = 0; index && page < index->pages.size(); ++page) {
        reader->page_stats(column, *index, page);
      }
      reader->row_group_stats(i, static_cast<int>(column) + 1);
      const int64_t rows = reader->row_group_rows(i);
      const RowRanges ranges =
          rows > 250 ? RowRanges{{0, 20}, {90, 130}, {200, rows}} : RowRanges{{0, rows}};
      ReadCost cost;
      TL_ASSIGN_OR_RAISE(auto array, reader->ReadRows(i, column, ranges, &cost));
      TL_RETURN_NOT_OK(array->ValidateFull());
      text += array->ToString() + "\n";
    }
  }
  return text;
}

struct Region {
  int64_t begin = 0, end = 0;
  bool Has(size_t at) const {
    return static_cast<int64_t>(at) >= begin && static_cast<int64_t>(at) < end;
  }
};

TEST(DataFilePageCorruption, ChangesNothingOrIsNamed) {
  const std::string whole = Sample();
  const Env clean = MemoryEnv();
  const std::string good_uri = PutBytes(clean, "b/good", arrow::Buffer::FromString(whole));
  const std::string good = ReadRanges(clean, good_uri).ValueOrDie();
  auto reader = OpenDataFile(clean, Request(good_uri)).ValueOrDie();
  // Pages and dictionaries of row group 1's text column, and all page indexes.
  const auto chunk = reader->metadata().RowGroup(1)->ColumnChunk(1);
  ASSERT_TRUE(chunk->has_dictionary_page());
  ASSERT_GT(reader->Pages(1, 1).ValueOrDie()->pages.size(), 3U);
  const Region of_column{chunk->dictionary_page_offset(),
                         chunk->dictionary_page_offset() + chunk->total_compressed_size()};
  const auto last = reader->metadata().RowGroup(kRowGroups - 1)->ColumnChunk(2);
  const auto indexes = reader->metadata().RowGroup(0)->ColumnChunk(0)->GetColumnIndexLocation();
  const auto after = last->GetOffsetIndexLocation();
  ASSERT_TRUE(indexes && after);
  const Region of_indexes{indexes->offset, after->offset + after->length};
  std::mt19937 random(7);
  int errors_in_pages = 0;
  for (size_t at = 4; at < whole.size(); ++at) {
    for (int round = 0; round < (at % 3 == 0 ? 2 : 1); ++round) {
      std::string bytes = whole;
      const auto flip = round == 0 ? 1 << (random() % 8) : static_cast<int>(random() % 255) + 1;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      const Env env = MemoryEnv();
      const std::string uri = PutBytes(env, "b/x", arrow::Buffer::FromString(bytes));
      const auto read = ReadRanges(env, uri);
      if (!read.ok()) {
        const ErrorKind kind = KindOf(read.status());
        EXPECT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kUnsupported)
            << at << ": " << read.status().ToString();
        const std::string message = MessageOf(read.status());
        EXPECT_NE(message.find(uri), std::string::npos) << message;
        if (of_column.Has(at)) {
          ++errors_in_pages;
          EXPECT_NE(message.find("row group 1"), std::string::npos) << at << ": " << message;
          EXPECT_NE(message.find("'s'"), std::string::npos) << at << ": " << message;
        }
      } else if (static_cast<int64_t>(at) < of_indexes.end) {
        EXPECT_EQ(*read, good) << "byte " << at << " of " << whole.size();
      }
    }
  }
  EXPECT_GT(errors_in_pages, 100);
}

TEST(DataFilePageCorruption, TruncationIsNamed) {
  const std::string whole = Sample();
  for (size_t size = 0; size < whole.size(); size += 7) {
    const Env env = MemoryEnv();
    const std::string uri = PutBytes(env, "b/x", arrow::Buffer::FromString(whole.substr(0, size)));
    ExpectError(ReadRanges(env, uri).status(), ErrorKind::kCorrupt, {uri});
  }
}

// The footer is cached, then the file shrinks: what is gone is missed where it is read.
TEST(DataFilePageCorruption, AFileThatShrankIsNamed) {
  const std::string whole = Sample();
  const Env env = MemoryEnv();
  const std::string uri = PutBytes(env, "b/x", arrow::Buffer::FromString(whole));
  ASSERT_TRUE(ReadRanges(env, uri).ok());
  PutBytes(env, "b/x", arrow::Buffer::FromString(whole.substr(0, whole.size() / 3)));
  ExpectError(ReadRanges(env, uri).status(), ErrorKind::kCorrupt, {uri, "row group", "column '"});
}

}  // namespace
}  // namespace timelake::table
