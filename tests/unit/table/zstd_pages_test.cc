// Pages of ZSTD chunks that we decompress ourselves, against those of Arrow's own reader.

#include "table/zstd_pages.h"

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/column_page.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include "table/data_file_pages.h"
#include "unit/table/data_file_testing.h"

namespace timelake::table {
namespace {

using arrow::Compression;

// What a reader of values sees of a page.
std::string Describe(const parquet::Page& page) {
  std::string text = std::to_string(static_cast<int>(page.type())) + "|";
  const auto add = [&](int64_t number) { text += std::to_string(number) + "|"; };
  if (page.type() == parquet::PageType::DICTIONARY_PAGE) {
    const auto& dictionary = static_cast<const parquet::DictionaryPage&>(page);
    for (int64_t n : {int64_t{dictionary.num_values()}, int64_t{dictionary.encoding()},
                      int64_t{dictionary.is_sorted()}}) {
      add(n);
    }
  } else {
    const auto& data = static_cast<const parquet::DataPage&>(page);
    for (int64_t n :
         {int64_t{data.num_values()}, int64_t{data.encoding()}, data.uncompressed_size()}) {
      add(n);
    }
    text += data.statistics().min() + "|" + data.statistics().max() + "|";
  }
  if (page.type() == parquet::PageType::DATA_PAGE) {
    const auto& data = static_cast<const parquet::DataPageV1&>(page);
    add(data.definition_level_encoding());
    add(data.repetition_level_encoding());
  }
  if (page.type() == parquet::PageType::DATA_PAGE_V2) {
    const auto& data = static_cast<const parquet::DataPageV2&>(page);
    for (int64_t n : {data.num_nulls(), data.num_rows(), data.definition_levels_byte_length(),
                      data.repetition_levels_byte_length()}) {
      add(n);
    }
  }
  return text +
         std::string(reinterpret_cast<const char*>(page.data()), static_cast<size_t>(page.size()));
}

// The pages of one chunk and how it ended: an empty text, or the error.
struct Pages {
  std::vector<std::string> pages;
  std::string error;

  bool operator==(const Pages& other) const {
    return pages == other.pages && error.empty() == other.error.empty();
  }
};

Pages ReadAll(parquet::PageReader& reader) {
  Pages result;
  try {
    while (const auto page = reader.NextPage()) result.pages.push_back(Describe(*page));
  } catch (const parquet::ParquetException& e) {
    result.error = std::string("error: ") + e.what();
  }
  return result;
}

struct Chunk {
  std::shared_ptr<arrow::Buffer> bytes;
  int64_t values = 0;
  Compression::type codec = Compression::UNCOMPRESSED;
  std::shared_ptr<parquet::FileMetaData> footer;
  int leaf = 0;

  Pages ByArrow(const std::shared_ptr<arrow::Buffer>& data) const {
    return ReadAll(*parquet::PageReader::Open(std::make_shared<arrow::io::BufferReader>(data),
                                              values, codec, FileProperties(),
                                              *footer->schema()->Column(leaf)));
  }

  Pages ByUs(const std::shared_ptr<arrow::Buffer>& data) const {
    return ReadAll(*DecompressZstd(parquet::PageReader::Open(
        std::make_shared<arrow::io::BufferReader>(data), values, Compression::UNCOMPRESSED,
        FileProperties(), *footer->schema()->Column(leaf))));
  }
};

struct Shape {
  Compression::type codec = Compression::ZSTD;
  parquet::ParquetDataPageVersion version = parquet::ParquetDataPageVersion::V1;
  bool checksums = false;
};

constexpr int kAllNull = 4;  // the last of the leaves

// Numbers (one chunk with a dictionary that overflows), text with nulls, lists.
std::shared_ptr<arrow::Buffer> SampleFile(const Shape& shape, int rows = 3000) {
  arrow::Int64Builder a;
  arrow::StringBuilder s;
  arrow::DoubleBuilder d;
  arrow::ListBuilder l(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  arrow::StringBuilder n;
  for (int i = 0; i < rows; ++i) {
    EXPECT_TRUE(a.Append(i * 1000).ok());
    EXPECT_TRUE((i % 7 == 0 ? s.AppendNull() : s.Append("host_" + std::to_string(i % 5))).ok());
    EXPECT_TRUE(d.Append(i * 0.5).ok());
    EXPECT_TRUE(l.Append(i % 3 != 0).ok());
    for (int j = 0; j < i % 4; ++j) {
      EXPECT_TRUE(static_cast<arrow::Int32Builder*>(l.value_builder())->Append(j).ok());
    }
    EXPECT_TRUE(n.AppendNull().ok());
  }
  FileOptions options;
  options.rows_per_group = rows / 2;
  auto builder = parquet::WriterProperties::Builder();
  builder.compression(shape.codec)->data_page_version(shape.version)->data_pagesize(2000);
  builder.dictionary_pagesize_limit(4000)->write_batch_size(100);
  builder.disable_dictionary("a")->encoding("a", parquet::Encoding::DELTA_BINARY_PACKED);
  if (shape.checksums) builder.enable_page_checksum();
  options.parquet = builder.build();
  return ParquetBytes(
      {ArrowColumn("a", arrow::int64(), 1), ArrowColumn("s", arrow::utf8(), 2),
       ArrowColumn("d", arrow::float64(), 3), ArrowColumn("l", arrow::list(arrow::int32()), 4),
       ArrowColumn("n", arrow::utf8(), 5)},
      {a.Finish().ValueOrDie(), s.Finish().ValueOrDie(), d.Finish().ValueOrDie(),
       l.Finish().ValueOrDie(), n.Finish().ValueOrDie()},
      options);
}

std::vector<Chunk> ChunksOf(const std::shared_ptr<arrow::Buffer>& file) {
  const auto footer =
      parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(file))->metadata();
  std::vector<Chunk> chunks;
  for (int group = 0; group < footer->num_row_groups(); ++group) {
    for (int leaf = 0; leaf < footer->num_columns(); ++leaf) {
      const auto metadata = footer->RowGroup(group)->ColumnChunk(leaf);
      const int64_t begin = metadata->has_dictionary_page() ? metadata->dictionary_page_offset()
                                                            : metadata->data_page_offset();
      chunks.push_back({arrow::SliceBuffer(file, begin, metadata->total_compressed_size()),
                        metadata->num_values(), metadata->compression(), footer, leaf});
    }
  }
  return chunks;
}

std::shared_ptr<arrow::Buffer> Copy(const arrow::Buffer& buffer, int64_t size) {
  return arrow::Buffer::FromString(
      std::string(reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(size)));
}

class EachVersion : public ::testing::TestWithParam<parquet::ParquetDataPageVersion> {};
INSTANTIATE_TEST_SUITE_P(ZstdPages, EachVersion,
                         ::testing::Values(parquet::ParquetDataPageVersion::V1,
                                           parquet::ParquetDataPageVersion::V2));

TEST_P(EachVersion, AreThoseOfArrow) {
  for (const bool checksums : {false, true}) {
    for (const Chunk& chunk : ChunksOf(SampleFile({Compression::ZSTD, GetParam(), checksums}))) {
      const Pages pages = chunk.ByUs(chunk.bytes);
      EXPECT_EQ(pages.error, "");
      EXPECT_EQ(pages, chunk.ByArrow(chunk.bytes)) << "column " << chunk.leaf;
      EXPECT_GE(pages.pages.size(), 1u);
    }
  }
}

TEST_P(EachVersion, EveryTruncation) {
  for (const Chunk& chunk : ChunksOf(SampleFile({Compression::ZSTD, GetParam(), false}, 1000))) {
    for (int64_t size = 0; size < chunk.bytes->size(); size += 7) {
      const auto cut = Copy(*chunk.bytes, size);
      EXPECT_EQ(chunk.ByUs(cut), chunk.ByArrow(cut)) << "column " << chunk.leaf << " at " << size;
    }
  }
}

// Where Arrow gives pages, the same; where it sees damage, an error. Of an empty dictionary Arrow
// does not look at the frame and we do; of the size that the header of a dictionary page says it is
// the other way round, and then the pages are the right ones.
void FlipBits(parquet::ParquetDataPageVersion version, bool checksums) {
  for (const Chunk& chunk : ChunksOf(SampleFile({Compression::ZSTD, version, checksums}, 1000))) {
    const Pages good = chunk.ByUs(chunk.bytes);
    for (int64_t at = 0; at < chunk.bytes->size(); at += 3) {
      const auto bytes = Copy(*chunk.bytes, chunk.bytes->size());
      const_cast<uint8_t*>(bytes->data())[at] ^= static_cast<uint8_t>(1 << (at / 3 % 8));
      const Pages ours = chunk.ByUs(bytes), arrows = chunk.ByArrow(bytes);
      if (ours == arrows || (chunk.leaf == kAllNull && !ours.error.empty())) continue;
      EXPECT_EQ(ours, good) << "column " << chunk.leaf << " at " << at << ": " << arrows.error;
      EXPECT_FALSE(arrows.error.empty()) << "column " << chunk.leaf << " at " << at;
    }
  }
}

TEST_P(EachVersion, FlippedBits) { FlipBits(GetParam(), false); }

TEST_P(EachVersion, FlippedBitsWithChecksums) { FlipBits(GetParam(), true); }

// A chunk with one dictionary page whose compressed bytes are `frame`.
Pages OneDictionary(const std::string& frame, int64_t unpacked) {
  const auto varint = [](int64_t value) {  // zigzag
    uint64_t bits = static_cast<uint64_t>(value) << 1;
    std::string text;
    for (; bits >= 0x80; bits >>= 7) text += static_cast<char>((bits & 0x7F) | 0x80);
    return text + static_cast<char>(bits);
  };
  std::string bytes = "\x15" + varint(2) + "\x15" + varint(unpacked) + "\x15" +
                      varint(static_cast<int64_t>(frame.size()));
  bytes += "\x4C\x15" + varint(10) + "\x15" + varint(0);  // values, PLAIN
  bytes += std::string(2, '\0');
  bytes += frame;
  static const std::vector<Chunk> chunks = ChunksOf(SampleFile({}, 10));
  const auto data = arrow::Buffer::FromString(bytes);
  const Pages ours = chunks[0].ByUs(data);
  EXPECT_EQ(ours, chunks[0].ByArrow(data));
  return ours;
}

// Frames as streaming writers make them: without their size, or several for one page.
TEST(ZstdPages, FramesOfStreamingWriters) {
  auto codec = arrow::util::Codec::Create(Compression::ZSTD).ValueOrDie();
  const auto stream = [&](const std::string& text) {
    auto compressor = codec->MakeCompressor().ValueOrDie();
    std::string out(text.size() + 1000, '\0');
    auto* target = reinterpret_cast<uint8_t*>(out.data());
    auto one = compressor
                   ->Compress(static_cast<int64_t>(text.size()),
                              reinterpret_cast<const uint8_t*>(text.data()),
                              static_cast<int64_t>(out.size()), target)
                   .ValueOrDie();
    EXPECT_EQ(one.bytes_read, static_cast<int64_t>(text.size()));
    auto end =
        compressor
            ->End(static_cast<int64_t>(out.size()) - one.bytes_written, target + one.bytes_written)
            .ValueOrDie();
    EXPECT_FALSE(end.should_retry);
    out.resize(static_cast<size_t>(one.bytes_written + end.bytes_written));
    return out;
  };
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919 % 10007);
  const std::string frame = stream(text);
  EXPECT_EQ(frame.substr(0, 4), "\x28\xB5\x2F\xFD");
  EXPECT_EQ(frame[4] & 0xE0, 0);  // no size
  const auto size = static_cast<int64_t>(text.size());
  EXPECT_EQ(OneDictionary(frame, size).error, "");
  EXPECT_EQ(OneDictionary(frame + stream("and more"), size + 8).error, "");
  std::string known(text.size(), '\0');
  known.resize(static_cast<size_t>(
      codec
          ->Compress(size, reinterpret_cast<const uint8_t*>(text.data()),
                     static_cast<int64_t>(known.size()), reinterpret_cast<uint8_t*>(known.data()))
          .ValueOrDie()));
  EXPECT_NE(known[4] & 0xE0, 0);
  EXPECT_EQ(OneDictionary(known, size).error, "");
  EXPECT_EQ(OneDictionary(known + frame, 2 * size).error, "");
  EXPECT_NE(OneDictionary(frame.substr(0, frame.size() - 10), size).error, "");
  EXPECT_NE(OneDictionary("", size).error, "");
  EXPECT_NE(OneDictionary("not a frame", size).error, "");
}

// Every page of one reader, and those of readers that are open at the same time, has its own bytes
// until the next is asked for.
TEST(ZstdPages, ReadersOfOneThreadDoNotShareBuffers) {
  const auto chunks = ChunksOf(SampleFile({}));
  const auto open = [&](const Chunk& chunk) {
    return DecompressZstd(parquet::PageReader::Open(
        std::make_shared<arrow::io::BufferReader>(chunk.bytes), chunk.values,
        Compression::UNCOMPRESSED, FileProperties(), *chunk.footer->schema()->Column(chunk.leaf)));
  };
  auto first = open(chunks[1]), second = open(chunks[2]), third = open(chunks[0]);
  const auto a = first->NextPage(), b = second->NextPage(), c = third->NextPage();
  EXPECT_EQ(Describe(*a), chunks[1].ByArrow(chunks[1].bytes).pages[0]);
  EXPECT_EQ(Describe(*b), chunks[2].ByArrow(chunks[2].bytes).pages[0]);
  EXPECT_EQ(Describe(*c), chunks[0].ByArrow(chunks[0].bytes).pages[0]);
  first.reset();  // while its page is held
  const auto other = open(chunks[4])->NextPage();
  EXPECT_EQ(Describe(*a), chunks[1].ByArrow(chunks[1].bytes).pages[0]);
}

TEST(ZstdPages, ManyThreads) {
  const auto chunks = ChunksOf(SampleFile({}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (const Chunk& chunk : chunks) {
          EXPECT_EQ(chunk.ByUs(chunk.bytes), chunk.ByArrow(chunk.bytes));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace timelake::table
