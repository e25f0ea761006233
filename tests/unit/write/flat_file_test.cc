#include <cstring>
#include <functional>
#include <limits>

#include <arrow/io/memory.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/size_statistics.h>
#include <parquet/statistics.h>

#include "unit/write/write_testing.h"
#include "write/combine.h"
#include "write/parquet_properties.h"
#include "write/parquet_writer.h"

// Files of ours beside those that Arrow's file writer makes of the same rows: values, statistics
// and indexes have to be the same.

namespace timelake::write {
namespace {

using Buffer = std::shared_ptr<arrow::Buffer>;

struct FileCase {
  iceberg::Schema schema;
  FileFormat format;
  arrow::ArrayVector columns;  // as the table's types

  explicit FileCase(const std::string& text) : schema(Unwrapped(iceberg::ParseSchemaText(text))) {
    format.schema = &schema;
    format.settings = Unwrapped(table::ResolveSettings({}));
    format.settings.data_page_rows = 1000;
    format.columns.resize(schema.fields.size());
  }
  FileCase(const FileCase&) = delete;

  int64_t rows() const { return columns.at(0)->length(); }
};

Buffer WriteOurs(const FileCase& one, std::vector<int64_t> group_rows,
                 iceberg::DataFile* manifest = nullptr) {
  auto sink = Unwrapped(arrow::io::BufferOutputStream::Create());
  auto writer = Unwrapped(DataFileWriter::Open(sink, one.format));
  int64_t first = 0;
  for (const int64_t rows : group_rows) {
    const Status status = writer->WriteRowGroup(
        rows, [&](int i, int64_t begin, int64_t end) -> Result<std::shared_ptr<arrow::Array>> {
          return one.columns[i]->Slice(first + begin, end - begin);
        });
    EXPECT_TRUE(status.ok()) << status.ToString();
    first += rows;
  }
  const auto file = Unwrapped(writer->Close());
  if (manifest != nullptr) *manifest = file;
  return Unwrapped(sink->Finish());
}

Buffer WriteArrows(const FileCase& one, std::vector<int64_t> group_rows) {
  const auto schema = SchemaOf(one.format);
  const auto plan = Unwrapped(PlanParquet(one.format, *schema));
  auto sink = Unwrapped(arrow::io::BufferOutputStream::Create());
  auto writer = Unwrapped(parquet::arrow::FileWriter::Open(
      *schema, arrow::default_memory_pool(), sink, plan.properties, plan.arrow_properties));
  const auto batch = arrow::RecordBatch::Make(schema, one.rows(), one.columns);
  int64_t first = 0;
  for (const int64_t rows : group_rows) {
    EXPECT_TRUE(writer->NewBufferedRowGroup().ok());
    EXPECT_TRUE(writer->WriteRecordBatch(*batch->Slice(first, rows)).ok());
    first += rows;
  }
  EXPECT_TRUE(writer->Close().ok());
  return Unwrapped(sink->Finish());
}

std::unique_ptr<parquet::ParquetFileReader> Open(const Buffer& file) {
  return parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(file));
}

std::shared_ptr<arrow::Table> Read(const Buffer& file) {
  auto reader = Unwrapped(parquet::arrow::OpenFile(std::make_shared<arrow::io::BufferReader>(file),
                                                   arrow::default_memory_pool()));
  return Unwrapped(Unwrapped(reader->ReadTable())->CombineChunks());
}

// Bits of floats: NaN equals itself, -0.0 is not 0.0.
void ExpectSameBits(const arrow::Table& table, const FileCase& one) {
  ASSERT_EQ(table.num_rows(), one.rows());
  for (int i = 0; i < table.num_columns(); ++i) {
    SCOPED_TRACE(table.field(i)->name());
    if (one.rows() == 0) continue;
    auto read = table.column(i)->chunk(0);
    auto wanted = one.columns[i];
    if (wanted->type_id() == arrow::Type::DICTIONARY) {
      wanted = Unwrapped(WithoutDictionary(wanted));
    }
    if (wanted->type_id() == arrow::Type::EXTENSION) {
      wanted = static_cast<const arrow::ExtensionArray&>(*wanted).storage();
    }
    if (read->type_id() == arrow::Type::EXTENSION) {
      read = static_cast<const arrow::ExtensionArray&>(*read).storage();
    }
    const auto as_bits = [](const std::shared_ptr<arrow::Array>& array) {
      const auto id = array->type_id();
      if (id == arrow::Type::DOUBLE) return Unwrapped(array->View(arrow::int64()));
      if (id == arrow::Type::FLOAT) return Unwrapped(array->View(arrow::int32()));
      return array;
    };
    EXPECT_TRUE(as_bits(read)->Equals(as_bits(wanted)));
  }
}

void ExpectSameStatistics(const parquet::ColumnChunkMetaData& ours,
                          const parquet::ColumnChunkMetaData& arrows) {
  ASSERT_EQ(ours.is_stats_set(), arrows.is_stats_set());
  EXPECT_EQ(ours.num_values(), arrows.num_values());
  EXPECT_EQ(ours.compression(), arrows.compression());
  EXPECT_EQ(ours.has_dictionary_page(), arrows.has_dictionary_page());
  if (ours.is_stats_set()) {
    const auto a = ours.encoded_statistics(), b = arrows.encoded_statistics();
    EXPECT_EQ(a->has_min, b->has_min);
    EXPECT_EQ(a->min(), b->min());
    EXPECT_EQ(a->max(), b->max());
    EXPECT_EQ(a->is_min_value_exact, b->is_min_value_exact);
    EXPECT_EQ(a->is_max_value_exact, b->is_max_value_exact);
    EXPECT_EQ(a->has_null_count, b->has_null_count);
    EXPECT_EQ(a->null_count, b->null_count);
    EXPECT_EQ(a->has_distinct_count, b->has_distinct_count);
  }
  const auto a = ours.size_statistics(), b = arrows.size_statistics();
  ASSERT_EQ(a != nullptr, b != nullptr);
  if (a != nullptr) {
    EXPECT_EQ(a->definition_level_histogram, b->definition_level_histogram);
    EXPECT_EQ(a->unencoded_byte_array_data_bytes, b->unencoded_byte_array_data_bytes);
  }
}

void ExpectSameIndexes(parquet::RowGroupPageIndexReader* ours,
                       parquet::RowGroupPageIndexReader* arrows, int column) {
  const auto a = ours->GetColumnIndex(column), b = arrows->GetColumnIndex(column);
  ASSERT_EQ(a != nullptr, b != nullptr);
  if (a != nullptr) {
    EXPECT_EQ(a->null_pages(), b->null_pages());
    EXPECT_EQ(a->encoded_min_values(), b->encoded_min_values());
    EXPECT_EQ(a->encoded_max_values(), b->encoded_max_values());
    EXPECT_EQ(a->boundary_order(), b->boundary_order());
    EXPECT_EQ(a->has_null_counts(), b->has_null_counts());
    EXPECT_EQ(a->null_counts(), b->null_counts());
    EXPECT_EQ(a->definition_level_histograms(), b->definition_level_histograms());
  }
  const auto c = ours->GetOffsetIndex(column), d = arrows->GetOffsetIndex(column);
  ASSERT_EQ(c->page_locations().size(), d->page_locations().size());
  for (size_t i = 0; i < c->page_locations().size(); ++i) {
    EXPECT_EQ(c->page_locations()[i].first_row_index, d->page_locations()[i].first_row_index);
  }
  EXPECT_EQ(c->unencoded_byte_array_data_bytes(), d->unencoded_byte_array_data_bytes());
}

void ExpectAsArrow(const FileCase& one, const std::vector<int64_t>& group_rows) {
  const Buffer ours = WriteOurs(one, group_rows), arrows = WriteArrows(one, group_rows);
  ExpectSameBits(*Read(ours), one);
  const auto a = Open(ours), b = Open(arrows);
  EXPECT_TRUE(a->metadata()->schema()->Equals(*b->metadata()->schema()));
  EXPECT_EQ(a->metadata()->created_by(), b->metadata()->created_by());
  EXPECT_EQ(a->metadata()->version(), b->metadata()->version());
  ASSERT_EQ(a->metadata()->num_row_groups(), b->metadata()->num_row_groups());
  for (int group = 0; group < a->metadata()->num_row_groups(); ++group) {
    const auto x = a->metadata()->RowGroup(group), y = b->metadata()->RowGroup(group);
    EXPECT_EQ(x->num_rows(), y->num_rows());
    EXPECT_EQ(x->sorting_columns(), y->sorting_columns());
    const auto i = a->GetPageIndexReader()->RowGroup(group);
    const auto j = b->GetPageIndexReader()->RowGroup(group);
    for (int column = 0; column < x->num_columns(); ++column) {
      SCOPED_TRACE(fmt::format("row group {} column {}", group, column));
      ExpectSameStatistics(*x->ColumnChunk(column), *y->ColumnChunk(column));
      ExpectSameIndexes(i.get(), j.get(), column);
    }
  }
}

// `value(i)` is JSON; every `nulls`-th is null (0: none), and so are rows of [blank, blank + 2500).
std::shared_ptr<arrow::Array> Make(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
                                   int64_t nulls, int64_t blank,
                                   const std::function<std::string(int64_t)>& value) {
  std::string json = "[";
  for (int64_t i = 0; i < rows; ++i) {
    const bool null =
        (nulls > 0 && i % nulls == nulls - 1) || (blank >= 0 && i >= blank && i < blank + 2500);
    json += (i == 0 ? "" : ",") + (null ? "null" : value(i));
  }
  return FromJson(type, json + "]");
}

const char* const kAllFlat =
    "t:timestamptz!, i:int, l:long, d:date, k:time, f:float, g:double, s:string, b:boolean, "
    "x:binary, u:uuid, m:decimal(12,3), o:long!";

void FillAllFlat(FileCase* one, int64_t rows, int64_t blank) {
  const auto schema = iceberg::ToArrow(one->schema);
  const auto number = [](int64_t i) { return std::to_string((i * 7919) % 1001 - 500); };
  const auto text = [](int64_t i) { return fmt::format("\"v{:03}\"", (i / 20 * 37) % 333); };
  const auto real = [&](int64_t i) { return i % 97 == 0 ? "-0.0" : number(i) + ".25"; };
  auto& columns = one->columns;
  columns.push_back(Make(schema->field(0)->type(), rows, 0, -1, [](int64_t i) {
    return std::to_string(1'767'225'600'000'000 + i * 10'000'000);
  }));
  columns.push_back(Make(arrow::int32(), rows, 7, blank, number));
  columns.push_back(Make(arrow::int64(), rows, 11, blank, number));
  columns.push_back(Make(arrow::date32(), rows, 13, blank, number));
  columns.push_back(Make(schema->field(4)->type(), rows, 0, -1,
                         [](int64_t i) { return std::to_string(i % 5000 * 1'000'000); }));
  columns.push_back(Make(arrow::float32(), rows, 5, blank, real));
  columns.push_back(Make(arrow::float64(), rows, 0, blank, real));
  columns.push_back(Make(one->format.columns[7].arrow_dictionary
                             ? arrow::dictionary(arrow::int32(), arrow::utf8())
                             : arrow::utf8(),
                         rows, 17, blank, text));
  columns.push_back(
      Make(arrow::boolean(), rows, 3, blank, [](int64_t i) { return i % 2 ? "true" : "false"; }));
  columns.push_back(Make(arrow::binary(), rows, 19, blank, text));
  columns.push_back(Make(arrow::fixed_size_binary(16), rows, 23, blank,
                         [](int64_t i) { return fmt::format("\"{:016}\"", i % 77); }));
  if (schema->field(10)->type()->id() == arrow::Type::EXTENSION) {
    columns.back() = arrow::ExtensionType::WrapArray(schema->field(10)->type(), columns.back());
  }
  columns.push_back(Make(schema->field(11)->type(), rows, 29, blank,
                         [&](int64_t i) { return "\"" + number(i) + ".125\""; }));
  columns.push_back(
      Make(arrow::int64(), rows, 0, -1, [](int64_t i) { return std::to_string(i * i); }));
}

TEST(FlatFile, SameStatisticsAndIndexesAsArrowsWriter) {
  for (const auto encoding : {ColumnEncoding::kDictionary, ColumnEncoding::kPlain}) {
    for (const int64_t blank : {-1, 2300}) {
      for (const bool dictionary : {true, false}) {
        FileCase one(kAllFlat);
        for (auto& plan : one.format.columns) plan.encoding = encoding;
        one.format.columns[7] = {.arrow_dictionary = dictionary};
        one.format.columns[8].encoding = ColumnEncoding::kPlain;
        one.format.sorting = {{7, false, true}, {0, false, true}};
        FillAllFlat(&one, 7350, blank);
        ExpectAsArrow(one, {7350});
        ExpectAsArrow(one, {3000, 1, 4349});
      }
    }
  }
}

TEST(FlatFile, SameOfDeltasAndSplitFloats) {
  FileCase one(kAllFlat);
  for (size_t i = 0; i < one.format.columns.size(); ++i) {
    const bool real = i == 5 || i == 6;
    if (i > 6 && i != 12) continue;
    one.format.columns[i].encoding =
        real ? ColumnEncoding::kByteStreamSplit : ColumnEncoding::kDelta;
  }
  one.format.columns[7].arrow_dictionary = true;
  FillAllFlat(&one, 5000, 1900);
  ExpectAsArrow(one, {5000});
  const auto reader = Open(WriteOurs(one, {5000}));
  const auto has = [&](int column, parquet::Encoding::type encoding) {
    const auto chunk = reader->metadata()->RowGroup(0)->ColumnChunk(column);
    const auto& all = chunk->encodings();
    return std::find(all.begin(), all.end(), encoding) != all.end();
  };
  EXPECT_TRUE(has(1, parquet::Encoding::DELTA_BINARY_PACKED));
  EXPECT_TRUE(has(6, parquet::Encoding::BYTE_STREAM_SPLIT));
  EXPECT_TRUE(has(7, parquet::Encoding::RLE_DICTIONARY));
}

TEST(FlatFile, ColumnsOfNullsAloneAndFilesOfNoRows) {
  FileCase one("a:int, b:double, s:string, n:long");
  one.format.settings.data_page_rows = 3000;
  one.format.columns[2].arrow_dictionary = true;
  one.format.columns[3].encoding = ColumnEncoding::kDelta;
  const auto schema = SchemaOf(one.format);
  for (const auto& field : schema->fields()) {
    one.columns.push_back(Unwrapped(arrow::MakeArrayOfNull(field->type(), 2500)));
  }
  ExpectAsArrow(one, {2500});
  iceberg::DataFile manifest;
  const auto reader = Open(WriteOurs(one, {}, &manifest));
  EXPECT_EQ(reader->metadata()->num_row_groups(), 0);
  EXPECT_EQ(manifest.record_count, 0);
}

TEST(FlatFile, ADictionaryThatOutgrowsItsLimitEnds) {
  FileCase one("a:long, b:double, f:float, s:string");
  one.format.settings.dictionary_page_bytes = 16'384;
  one.format.columns[3].arrow_dictionary = true;
  const auto step = [](int64_t i) { return std::to_string(i < 1500 ? i % 100 : i); };
  const auto text = [&](int64_t i) { return "\"text " + step(i) + "\""; };
  one.columns = {Make(arrow::int64(), 9000, 0, -1, step),
                 Make(arrow::float64(), 9000, 50, -1, step),
                 Make(arrow::float32(), 9000, 50, -1, step),
                 Make(arrow::dictionary(arrow::int32(), arrow::utf8()), 9000, 50, -1, text)};
  const Buffer file = WriteOurs(one, {9000});
  ExpectSameBits(*Read(file), one);
  const auto reader = Open(file);
  const std::vector<parquet::Encoding::type> after = {
      parquet::Encoding::DELTA_BINARY_PACKED, parquet::Encoding::BYTE_STREAM_SPLIT,
      parquet::Encoding::BYTE_STREAM_SPLIT, parquet::Encoding::PLAIN};
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const auto chunk = reader->metadata()->RowGroup(0)->ColumnChunk(i);
    EXPECT_TRUE(chunk->has_dictionary_page());
    bool dictionary = false, other = false;
    for (const auto& page : chunk->encoding_stats()) {
      if (page.page_type != parquet::PageType::DATA_PAGE) continue;
      dictionary = dictionary || page.encoding == parquet::Encoding::RLE_DICTIONARY;
      other = other || page.encoding == after[static_cast<size_t>(i)];
    }
    EXPECT_TRUE(dictionary);
    EXPECT_TRUE(other);
    const auto& all = chunk->encodings();
    EXPECT_NE(std::find(all.begin(), all.end(), after[static_cast<size_t>(i)]), all.end());
  }
}

TEST(FlatFile, AFirstPageBeyondTheLimitLeavesNoDictionary) {
  FileCase one("b:double, s:string");
  one.format.settings.dictionary_page_bytes = 64;
  one.format.columns[1].arrow_dictionary = true;
  one.columns = {Make(arrow::float64(), 3000, 0, -1, [](int64_t i) { return std::to_string(i); }),
                 Make(arrow::dictionary(arrow::int32(), arrow::utf8()), 3000, 9, -1,
                      [](int64_t i) { return fmt::format("\"{}\"", i); })};
  const Buffer file = WriteOurs(one, {3000});
  ExpectSameBits(*Read(file), one);
  const auto reader = Open(file);
  EXPECT_FALSE(reader->metadata()->RowGroup(0)->ColumnChunk(0)->has_dictionary_page());
  EXPECT_FALSE(reader->metadata()->RowGroup(0)->ColumnChunk(1)->has_dictionary_page());
}

TEST(FlatFile, LongStringsOneByOneMakeShorterPages) {
  FileCase one("s:string");
  one.format.settings.dictionary_page_bytes = 100;
  one.format.columns[0].arrow_dictionary = true;
  const std::string tail(9000, 'x');
  one.columns = {Make(arrow::dictionary(arrow::int32(), arrow::utf8()), 700, 6, -1,
                      [&](int64_t i) { return fmt::format("\"{}{}\"", i, tail); })};
  const Buffer file = WriteOurs(one, {700});
  ExpectSameBits(*Read(file), one);
  const auto reader = Open(file);
  const auto index = reader->GetPageIndexReader()->RowGroup(0)->GetOffsetIndex(0);
  EXPECT_GE(index->page_locations().size(), 6u);
}

TEST(FlatFile, NanHasNoStatisticsAndKeepsItsBits) {
  FileCase one("a:double, b:float");
  one.format.columns = {{.statistics = false}, {.statistics = false}};
  std::vector<double> doubles;
  std::vector<float> floats;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t kinds[] = {0x7FF8DEADBEEF0001, 0xFFF8000000000000, 0x8000000000000000, 0,
                              0x7FF0000000000000, 0x3FF0000000000000};
    double value;
    std::memcpy(&value, &kinds[i % 6], sizeof(value));
    doubles.push_back(value);
    const uint32_t small[] = {0x7FC0BEEF, 0xFFC00000, 0x80000000, 0, 0x7F800000, 0x3F800000};
    float other;
    std::memcpy(&other, &small[i % 6], sizeof(other));
    floats.push_back(other);
  }
  arrow::DoubleBuilder a;
  arrow::FloatBuilder b;
  ASSERT_TRUE(a.AppendValues(doubles).ok());
  ASSERT_TRUE(b.AppendValues(floats).ok());
  one.columns = {Unwrapped(a.Finish()), Unwrapped(b.Finish())};
  const Buffer file = WriteOurs(one, {3000});
  ExpectSameBits(*Read(file), one);
  const auto reader = Open(file);
  EXPECT_FALSE(reader->metadata()->RowGroup(0)->ColumnChunk(0)->is_stats_set());
  EXPECT_EQ(reader->GetPageIndexReader()->RowGroup(0)->GetColumnIndex(1), nullptr);
}

TEST(FlatFile, BloomFiltersKnowEveryValue) {
  FileCase one("a:long, b:double, f:float, i:int, s:string, x:binary");
  for (auto& plan : one.format.columns) plan.bloom_filter = true;
  one.format.columns[1].encoding = ColumnEncoding::kByteStreamSplit;
  one.format.columns[4].arrow_dictionary = true;
  const auto number = [](int64_t i) { return std::to_string(i % 1234); };
  const auto text = [&](int64_t i) { return "\"" + number(i) + "\""; };
  one.columns = {Make(arrow::int64(), 5000, 9, -1, number),
                 Make(arrow::float64(), 5000, 9, -1, number),
                 Make(arrow::float32(), 5000, 9, -1, number),
                 Make(arrow::int32(), 5000, 9, -1, number),
                 Make(arrow::dictionary(arrow::int32(), arrow::utf8()), 5000, 9, -1, text),
                 Make(arrow::binary(), 5000, 9, -1, text)};
  ExpectAsArrow(one, {3000, 2000});
  const auto ours = Open(WriteOurs(one, {3000, 2000}));
  const auto arrows = Open(WriteArrows(one, {3000, 2000}));
  for (int group = 0; group < 2; ++group) {
    for (int i = 0; i < 6; ++i) {
      SCOPED_TRACE(i);
      const auto a = ours->GetBloomFilterReader().RowGroup(group)->GetColumnBloomFilter(i);
      const auto b = arrows->GetBloomFilterReader().RowGroup(group)->GetColumnBloomFilter(i);
      ASSERT_NE(a, nullptr);
      EXPECT_EQ(a->GetBitsetSize(), b->GetBitsetSize());
      for (int value = 0; value < 3000; ++value) {
        const std::string digits = std::to_string(value);
        const parquet::ByteArray bytes(digits);
        const uint64_t hashes[] = {a->Hash(int64_t{value}), a->Hash(double(value)),
                                   a->Hash(float(value)),   a->Hash(int32_t{value}),
                                   a->Hash(&bytes),         a->Hash(&bytes)};
        ASSERT_EQ(a->FindHash(hashes[i]), b->FindHash(hashes[i])) << value;
      }
    }
  }
}

TEST(FlatFile, PagesOfColumnsThatSeldomChangeAreLonger) {
  FileCase one("key:string, tag:string, state:int, v:double, n:long");
  one.format.columns[0].arrow_dictionary = one.format.columns[1].arrow_dictionary = true;
  one.format.sorting = {{0, false, true}};
  const auto text = [](int64_t i) { return fmt::format("\"d{}\"", i / 3000); };
  const auto state = [](int64_t i) { return std::to_string(i / 500 % 7); };
  const auto number = [](int64_t i) { return std::to_string(i % 97); };
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  one.columns = {Make(type, 9500, 0, -1, text), Make(type, 9500, 0, 4000, text),
                 Make(arrow::int32(), 9500, 0, -1, state),
                 Make(arrow::float64(), 9500, 0, 1200, state),
                 Make(arrow::int64(), 9500, 0, -1, number)};
  const Buffer file = WriteOurs(one, {9500});
  ExpectSameBits(*Read(file), one);
  const auto reader = Open(file);
  const auto indexes = reader->GetPageIndexReader()->RowGroup(0);
  for (int i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    const int64_t rows = i == 0 || i == 4 ? 1000 : 4000;
    const auto pages = indexes->GetOffsetIndex(i)->page_locations();
    ASSERT_EQ(static_cast<int64_t>(pages.size()), (9500 + rows - 1) / rows);
    for (size_t page = 0; page < pages.size(); ++page) {
      EXPECT_EQ(pages[page].first_row_index, static_cast<int64_t>(page) * rows);
    }
  }
}

TEST(FlatFile, IndicesTakeWholeBytesWhereThatIsSmaller) {
  // 100 values, four of them in most rows, in no order.
  FileCase one("v:double");
  const auto value = [](int64_t i) {
    const auto mixed = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u >> 40;
    return std::to_string(mixed % 10 < 8 ? mixed / 16 % 4 : mixed / 16 % 100);
  };
  one.columns = {Make(arrow::float64(), 9000, 50, -1, value)};
  one.format.settings.data_page_rows = 3000;  // pages of a few rows are not tried
  const auto bytes_of = [&](bool compressed) {
    const Buffer file = WriteOurs(one, {9000});
    ExpectSameBits(*Read(file), one);
    const auto chunk = Open(file)->metadata()->RowGroup(0)->ColumnChunk(0);
    return compressed ? chunk->total_compressed_size() : chunk->total_uncompressed_size();
  };
  const int64_t zstd = bytes_of(true), bytes = bytes_of(false);
  one.format.settings.codec = "snappy";
  one.format.settings.codec_level.reset();
  const int64_t bits = bytes_of(false);
  EXPECT_GE(bytes - bits, 1000);  // eight bits instead of seven
  EXPECT_LT(zstd, bits * 3 / 4);
}

TEST(FlatFile, EveryCodec) {
  for (const char* codec : {"zstd", "gzip", "brotli", "snappy", "lz4", "uncompressed"}) {
    SCOPED_TRACE(codec);
    FileCase one(kAllFlat);
    one.format.settings.codec = codec;
    one.format.settings.codec_level.reset();
    one.format.columns[7].arrow_dictionary = true;
    FillAllFlat(&one, 2500, 500);
    ExpectAsArrow(one, {2500});
  }
}

TEST(FlatFile, ThreadsMakeTheSameFile) {
  FileCase one(kAllFlat);
  one.format.columns[7].arrow_dictionary = true;
  FillAllFlat(&one, 7000, 3000);
  const Buffer alone = WriteOurs(one, {7000});
  one.format.threads = 4;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(WriteOurs(one, {7000})->Equals(*alone));
}

TEST(FlatFile, NullsInARequiredColumnAreRefused) {
  FileCase one("a:long!, s:string!, b:boolean!");
  for (int i = 0; i < 3; ++i) {
    auto sink = Unwrapped(arrow::io::BufferOutputStream::Create());
    auto writer = Unwrapped(DataFileWriter::Open(sink, one.format));
    const auto schema = SchemaOf(one.format);
    const Status status = writer->WriteRowGroup(
        3, [&](int column, int64_t, int64_t) -> Result<std::shared_ptr<arrow::Array>> {
          const auto& field = schema->field(column);
          if (column == i) return arrow::MakeArrayOfNull(field->type(), 3);
          return FromJson(field->type(), column == 0   ? "[1, 2, 3]"
                                         : column == 1 ? R"(["a", "b", "c"])"
                                                       : "[true, false, true]");
        });
    EXPECT_EQ(MessageOf(status),
              fmt::format("column {} holds nulls, but is required", schema->field(i)->name()));
  }
}

}  // namespace
}  // namespace timelake::write
