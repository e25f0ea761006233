// Rows of single columns through the page index, against Arrow's own reading of whole files.

#include <functional>
#include <map>
#include <random>

#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/properties.h>

#include "iceberg/arrow_schema.h"
#include "table/page_index.h"
#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

using Random = std::mt19937_64;
using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr int64_t kRows = 5000;
constexpr int64_t kGroup = 3000;

ArrayPtr Must(const Result<ArrayPtr>& array) {
  EXPECT_TRUE(array.ok()) << array.status().ToString();
  return array.ok() ? *array : nullptr;
}

// Random values of a type, a share of them null.
ArrayPtr Values(Random& random, const iceberg::Type& type, int64_t rows, double nulls,
                int64_t distinct) {
  iceberg::Schema one;
  one.fields.emplace_back().type = type;
  const auto arrow_type = iceberg::ToArrow(one)->field(0)->type();
  auto builder = arrow::MakeBuilder(arrow_type).ValueOrDie();
  const std::function<void(arrow::ArrayBuilder*)> append = [&](arrow::ArrayBuilder* to) {
    const auto number = static_cast<int64_t>(random() % static_cast<uint64_t>(distinct)) - 7;
    Status status;
    switch (to->type()->id()) {
      case arrow::Type::STRING:
        status = static_cast<arrow::StringBuilder*>(to)->Append("value " + std::to_string(number));
        break;
      case arrow::Type::BINARY:
        status = static_cast<arrow::BinaryBuilder*>(to)->Append(std::to_string(number * number));
        break;
      case arrow::Type::DECIMAL128:
        status = static_cast<arrow::Decimal128Builder*>(to)->Append(arrow::Decimal128(number));
        break;
      case arrow::Type::LIST:
        status = static_cast<arrow::ListBuilder*>(to)->Append();
        for (int64_t i = 0; i < number % 4; ++i) {
          append(static_cast<arrow::ListBuilder*>(to)->value_builder());
        }
        break;
      case arrow::Type::STRUCT:
        status = static_cast<arrow::StructBuilder*>(to)->Append();
        for (int i = 0; i < to->num_children(); ++i) append(to->child(i));
        break;
      default: {
        const bool time = to->type()->id() == arrow::Type::TIME64;  // has no negative values
        auto scalar = arrow::MakeScalar(time ? number + 7 : number)->CastTo(to->type());
        status = scalar.ok() ? to->AppendScalar(**scalar) : scalar.status();
      }
    }
    EXPECT_TRUE(status.ok()) << status.ToString();
  };
  for (int64_t i = 0; i < rows; ++i) {
    if (std::uniform_real_distribution<>(0, 1)(random) < nulls) {
      EXPECT_TRUE(builder->AppendNull().ok());
    } else {
      append(builder.get());
    }
  }
  return builder->Finish().ValueOrDie();
}

struct Layout {
  std::string name;
  bool page_index = true;
  bool dictionary = true;
  bool v2_pages = false;
  parquet::Encoding::type encoding = parquet::Encoding::UNKNOWN;
  arrow::Compression::type compression = arrow::Compression::ZSTD;
};

FileOptions OptionsOf(const Layout& layout) {
  parquet::WriterProperties::Builder builder;
  builder.data_pagesize(512)->write_batch_size(64)->compression(layout.compression);
  builder.enable_page_checksum();
  if (layout.page_index) builder.enable_write_page_index();
  if (layout.v2_pages) builder.data_page_version(parquet::ParquetDataPageVersion::V2);
  if (!layout.dictionary) builder.disable_dictionary();
  if (layout.encoding != parquet::Encoding::UNKNOWN) {
    builder.disable_dictionary()->encoding(layout.encoding);
  }
  FileOptions options;
  options.rows_per_group = kGroup;
  options.parquet = builder.build();
  return options;
}

RowRanges RandomRanges(Random& random, int64_t rows) {
  RowRanges ranges;
  int64_t row = static_cast<int64_t>(random() % 50);
  while (row < rows) {
    const int64_t end = std::min<int64_t>(rows, row + 1 + static_cast<int64_t>(random() % 700));
    Append({row, end}, &ranges);
    row = end + static_cast<int64_t>(random() % 900);
  }
  if (ranges.empty()) ranges.push_back({0, rows});
  return ranges;
}

ArrayPtr Plain(const ArrayPtr& array) {
  if (array->type_id() != arrow::Type::DICTIONARY) return array;
  auto builder = arrow::MakeBuilder(arrow::utf8()).ValueOrDie();
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
  for (int64_t i = 0; i < array->length(); ++i) {
    EXPECT_TRUE((dictionary.IsNull(i) ? builder->AppendNull()
                                      : builder->AppendArraySlice(*dictionary.dictionary()->data(),
                                                                  dictionary.GetValueIndex(i), 1))
                    .ok());
  }
  return builder->Finish().ValueOrDie();
}

void ExpectSameRows(DataFileReader& file, const ArrayPtr& written, Random& random) {
  int64_t offset = 0;
  for (int group = 0; group < file.num_row_groups(); ++group) {
    const int64_t rows = file.row_group_rows(group);
    for (int round = 0; round < 4; ++round) {
      const RowRanges ranges = RandomRanges(random, rows);
      arrow::ArrayVector parts;
      for (const RowRange& range : ranges) {
        parts.push_back(written->Slice(offset + range.begin, range.end - range.begin));
      }
      const ArrayPtr expected = arrow::Concatenate(parts).ValueOrDie();
      ReadCost cost;
      const ArrayPtr read = Must(file.ReadRows(group, 0, ranges, &cost));
      ASSERT_TRUE(read);
      ASSERT_TRUE(read->ValidateFull().ok());
      ASSERT_TRUE(Plain(read)->Equals(*expected, arrow::EqualOptions().nans_equal(true)))
          << "row group " << group << "\n"
          << read->ToString();
      EXPECT_EQ(cost.values, CountRows(ranges));
    }
    offset += rows;
  }
}

const std::vector<Layout> kLayouts = {
    {.name = "as written by default"},
    {.name = "no page index", .page_index = false},
    {.name = "plain", .dictionary = false},
    {.name = "second kind of pages", .v2_pages = true},
    {.name = "second kind, plain, lz4",
     .dictionary = false,
     .v2_pages = true,
     .compression = arrow::Compression::LZ4},
    {.name = "uncompressed", .compression = arrow::Compression::UNCOMPRESSED},
};

TEST(DataFileRows, OfEveryTypeAndLayout) {
  const char* types[] = {"boolean",
                         "int",
                         "long",
                         "float",
                         "double",
                         "date",
                         "time",
                         "timestamp",
                         "timestamptz",
                         "string",
                         "binary",
                         "decimal(9,2)",
                         "decimal(30,4)",
                         "list<int>",
                         "struct<a:int, b:string>",
                         "list<struct<a:int, b:long>>"};
  Random random(11);
  for (const char* type : types) {
    for (const Layout& layout : kLayouts) {
      for (const double nulls : {0.0, 0.3, 1.0}) {
        SCOPED_TRACE(std::string(type) + ", " + layout.name + ", " + std::to_string(nulls));
        const iceberg::Field field = TableColumn(1, "x", type);
        // Few distinct values stay in the dictionary, many do not.
        const ArrayPtr values =
            Values(random, field.type, kRows, nulls, random() % 2 == 0 ? 60 : 4000);
        const Env env = MemoryEnv();
        iceberg::Schema schema;
        schema.fields = {field};
        iceberg::Schema with_ids = schema;
        int next = 2;
        const std::function<void(iceberg::Type*)> number = [&](iceberg::Type* nested) {
          for (iceberg::Field& child : nested->fields) {
            child.id = next++;
            number(&child.type);
          }
        };
        number(&with_ids.fields[0].type);
        DataFileRequest request;
        request.uri = PutFile(env, "b/x.parquet", iceberg::ToArrow(with_ids)->fields(), {values},
                              OptionsOf(layout));
        request.fields = with_ids.fields;
        request.keep_dictionaries = random() % 2 == 0;
        auto file = OpenDataFile(env, request);
        ASSERT_TRUE(file.ok()) << file.status().ToString();
        ExpectSameRows(**file, values, random);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(DataFileRows, OfEveryEncoding) {
  const std::map<std::string, std::vector<parquet::Encoding::type>> encodings = {
      {"long", {parquet::Encoding::DELTA_BINARY_PACKED, parquet::Encoding::BYTE_STREAM_SPLIT}},
      {"int", {parquet::Encoding::DELTA_BINARY_PACKED}},
      {"timestamptz", {parquet::Encoding::DELTA_BINARY_PACKED}},
      {"double", {parquet::Encoding::BYTE_STREAM_SPLIT}},
      {"float", {parquet::Encoding::BYTE_STREAM_SPLIT}},
      {"boolean", {parquet::Encoding::RLE}},
      {"string", {parquet::Encoding::DELTA_BYTE_ARRAY, parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY}},
  };
  Random random(12);
  for (const auto& [type, list] : encodings) {
    for (const auto encoding : list) {
      for (const double nulls : {0.0, 0.4}) {
        SCOPED_TRACE(type + " " + parquet::EncodingToString(encoding));
        const iceberg::Field field = TableColumn(1, "x", type);
        const ArrayPtr values = Values(random, field.type, kRows, nulls, 3000);
        const Env env = MemoryEnv();
        iceberg::Schema schema;
        schema.fields = {field};
        DataFileRequest request;
        request.uri = PutFile(env, "b/x.parquet", iceberg::ToArrow(schema)->fields(), {values},
                              OptionsOf({.name = "", .encoding = encoding}));
        request.fields = {field};
        ExpectSameRows(*OpenDataFile(env, request).ValueOrDie(), values, random);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

struct OneFile {
  Env env = MemoryEnv();
  DataFileRequest request;
  ArrayPtr values;
  std::shared_ptr<arrow::Buffer> bytes;

  OneFile(const char* type, uint64_t seed, const Layout& layout = {}) {
    Random random(seed);
    const iceberg::Field field = TableColumn(1, "x", type);
    values = Values(random, field.type, kRows, 0.1, 60);
    iceberg::Schema schema;
    schema.fields = {field};
    bytes = ParquetBytes(iceberg::ToArrow(schema)->fields(), {values}, OptionsOf(layout));
    request.fields = {field};
    request.uri = PutBytes(env, "b/x.parquet", bytes);
  }
};

TEST(DataFileRows, OnlyThePagesInQuestionAreRead) {
  OneFile one("long", 1, {.name = "", .dictionary = false});
  auto file = OpenDataFile(one.env, one.request).ValueOrDie();
  const auto pages = file->Pages(0, 0).ValueOrDie();
  ASSERT_TRUE(pages);
  ASSERT_GT(pages->pages.size(), 20u);
  const RowRange of_page = pages->rows_of(7);
  ReadCost cost;
  Must(file->ReadRows(0, 0, {{of_page.begin, of_page.begin + 1}}, &cost));
  EXPECT_EQ(cost.pages, 1);
  EXPECT_EQ(cost.bytes, pages->pages[7].size);
  const auto stats = file->page_stats(0, *pages, 7);
  EXPECT_TRUE(stats.min && stats.max && stats.null_count);
}

TEST(DataFileRows, TextOfOneRowGroupSharesItsDictionary) {
  OneFile one("string", 2);
  one.request.keep_dictionaries = true;
  auto file = OpenDataFile(one.env, one.request).ValueOrDie();
  ReadCost cost;
  const ArrayPtr a = Must(file->ReadRows(0, 0, {{0, 10}}, &cost));
  const ArrayPtr b = Must(file->ReadRows(0, 0, {{2000, 2100}}, &cost));
  ASSERT_EQ(a->type_id(), arrow::Type::DICTIONARY);
  EXPECT_EQ(a->data()->dictionary, b->data()->dictionary);
}

// Checksums find what was changed inside of pages; the rest must be found by us. Whatever happens,
// it is an error that names the file, or the right rows.
TEST(DataFileRows, DamagedBytesAreFoundOrDoNoHarm) {
  Random random(13);
  for (const char* type : {"long", "string", "list<int>"}) {
    OneFile one(type, 3);
    int failures = 0;
    for (int round = 0; round < 300; ++round) {
      auto damaged = arrow::Buffer::FromString(one.bytes->ToString());
      for (int i = 0; i < 1 + static_cast<int>(random() % 3); ++i) {
        damaged->mutable_data()[random() % static_cast<uint64_t>(damaged->size())] ^=
            static_cast<uint8_t>(1 + random() % 255);
      }
      const Env env = MemoryEnv();
      DataFileRequest request = one.request;
      request.uri = PutBytes(env, "b/x.parquet", damaged);
      const RowRanges rows = RandomRanges(random, kGroup);
      const auto read = [&]() -> Result<ArrayPtr> {
        TL_ASSIGN_OR_RAISE(auto file, OpenDataFile(env, request));
        ReadCost cost;
        if (file->num_row_groups() < 1 || file->row_group_rows(0) < rows.back().end) {
          return Corrupt("{}: fewer rows", request.uri);
        }
        return file->ReadRows(0, 0, rows, &cost);
      }();
      if (!read.ok()) {
        ++failures;
        EXPECT_NE(MessageOf(read.status()).find(request.uri), std::string::npos)
            << MessageOf(read.status());
      } else {
        EXPECT_EQ((*read)->length(), CountRows(rows));
      }
    }
    EXPECT_GT(failures, 100) << type;
  }
}

}  // namespace
}  // namespace timelake::table
