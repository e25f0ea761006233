#include "table/data_file_pages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/exception.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>

#include "base/memory.h"
#include "table/zstd_pages.h"

namespace timelake::table {
namespace {

using SourceFile = std::shared_ptr<arrow::io::RandomAccessFile>;

using Piece = arrow::io::ReadRange;

void AddPiece(Piece piece, std::vector<Piece>* pieces) {
  if (piece.length == 0) return;
  if (!pieces->empty() && pieces->back().offset + pieces->back().length == piece.offset) {
    pieces->back().length += piece.length;
  } else {
    pieces->push_back(piece);
  }
}

int64_t BeginOf(const parquet::ColumnChunkMetaData& chunk) {
  if (!chunk.has_dictionary_page() || chunk.dictionary_page_offset() <= 0) {
    return chunk.data_page_offset();
  }
  return std::min(chunk.data_page_offset(), chunk.dictionary_page_offset());
}

Result<std::shared_ptr<arrow::Buffer>> ReadPieces(const SourceFile& source,
                                                  const std::vector<Piece>& pieces) {
  TL_ASSIGN_OR_RAISE(const int64_t size, source->GetSize());
  for (const Piece& piece : pieces) {
    // A footer may say anything.
    if (piece.offset < 0 || piece.length < 0 || piece.offset > size ||
        piece.length > size - piece.offset) {
      return Corrupt("pages are said to lie outside of the file");
    }
  }
  if (pieces.size() == 1) {
    TL_ASSIGN_OR_RAISE(auto bytes, source->ReadAt(pieces[0].offset, pieces[0].length));
    if (bytes->size() == pieces[0].length) return bytes;
    return Corrupt("the file ends inside of a page");
  }
  int64_t total = 0;
  for (const Piece& piece : pieces) total += piece.length;
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                     arrow::AllocateBuffer(total, CurrentPool()));
  int64_t position = 0;
  for (const Piece& piece : pieces) {
    TL_ASSIGN_OR_RAISE(const int64_t got, source->ReadAt(piece.offset, piece.length,
                                                         bytes->mutable_data() + position));
    if (got != piece.length) return Corrupt("the file ends inside of a page");
    position += got;
  }
  return bytes;
}

// Passes pages on; counts their values against the index.
class CountedPages : public parquet::PageReader {
 public:
  CountedPages(std::unique_ptr<parquet::PageReader> pages, std::vector<int64_t> values)
      : pages_(std::move(pages)), values_(std::move(values)) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    auto page = pages_->NextPage();
    if (!page) {
      if (next_ != values_.size()) throw parquet::ParquetException("a page is missing");
      return page;
    }
    if (page->type() != parquet::PageType::DATA_PAGE &&
        page->type() != parquet::PageType::DATA_PAGE_V2) {
      return page;
    }
    const auto& data = static_cast<const parquet::DataPage&>(*page);
    if (next_ == values_.size() || data.num_values() != values_[next_++]) {
      throw parquet::ParquetException("the page index contradicts the pages");
    }
    return page;
  }

  void set_max_page_header_size(uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  const std::unique_ptr<parquet::PageReader> pages_;
  const std::vector<int64_t> values_;
  size_t next_ = 0;
};

class OneColumnContents : public parquet::RowGroupReader::Contents {
 public:
  OneColumnContents(std::shared_ptr<parquet::FileMetaData> footer, int row_group,
                    std::unique_ptr<parquet::PageReader> pages)
      : footer_(std::move(footer)),
        row_group_(footer_->RowGroup(row_group)),
        properties_(FileProperties()),
        pages_(std::move(pages)) {}

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int) override {
    return std::move(pages_);
  }
  const parquet::RowGroupMetaData* metadata() const override { return row_group_.get(); }
  const parquet::ReaderProperties* properties() const override { return &properties_; }

 private:
  const std::shared_ptr<parquet::FileMetaData> footer_;
  const std::unique_ptr<parquet::RowGroupMetaData> row_group_;
  const parquet::ReaderProperties properties_;
  std::unique_ptr<parquet::PageReader> pages_;
};

class OneColumnFileContents : public parquet::ParquetFileReader::Contents {
 public:
  OneColumnFileContents(std::shared_ptr<parquet::FileMetaData> footer, int row_group,
                        std::unique_ptr<parquet::PageReader> pages)
      : footer_(footer), row_group_(OneColumn(footer, row_group, std::move(pages))) {}

  void Close() override {}
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int) override { return row_group_; }
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return footer_; }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return nullptr; }
  parquet::BloomFilterReader& GetBloomFilterReader() override {
    throw parquet::ParquetException("no bloom filters here");
  }

 private:
  const std::shared_ptr<parquet::FileMetaData> footer_;
  const std::shared_ptr<parquet::RowGroupReader> row_group_;
};

std::unique_ptr<parquet::PageReader> OpenPages(std::shared_ptr<arrow::io::InputStream> stream,
                                               const parquet::ColumnChunkMetaData& chunk,
                                               const parquet::ColumnDescriptor& column) {
  const bool zstd = chunk.compression() == parquet::Compression::ZSTD;
  auto pages = parquet::PageReader::Open(
      std::move(stream), chunk.num_values(),
      zstd ? parquet::Compression::UNCOMPRESSED : chunk.compression(), FileProperties(), column);
  return zstd ? DecompressZstd(std::move(pages)) : std::move(pages);
}

}  // namespace

parquet::ReaderProperties FileProperties() {
  parquet::ReaderProperties properties(CurrentPool());
  properties.set_page_checksum_verification(true);
  return properties;
}

std::vector<arrow::io::ReadRange> PagesOf(const parquet::FileMetaData& footer, int row_group,
                                          int leaf, const PageIndex* index,
                                          const RowRanges& wanted) {
  const auto chunk = footer.RowGroup(row_group)->ColumnChunk(leaf);
  const int64_t begin = BeginOf(*chunk);
  std::vector<Piece> pieces;
  if (!index) {
    AddPiece({begin, chunk->total_compressed_size()}, &pieces);
    return pieces;
  }
  AddPiece({begin, index->pages.front().offset - begin}, &pieces);
  for (size_t page = 0; page < index->pages.size(); ++page) {
    if (!Overlaps(wanted, index->rows_of(page))) continue;
    AddPiece({index->pages[page].offset, index->pages[page].size}, &pieces);
  }
  return pieces;
}

Result<SelectedPages> SelectPages(const SourceFile& source, const parquet::FileMetaData& footer,
                                  int row_group, int leaf, const PageIndex* index,
                                  const RowRanges& wanted) {
  const auto metadata = footer.RowGroup(row_group);
  const auto chunk = metadata->ColumnChunk(leaf);
  const parquet::ColumnDescriptor& column = *footer.schema()->Column(leaf);
  SelectedPages selected;
  std::vector<int64_t> values;
  if (index) {
    for (size_t page = 0; page < index->pages.size(); ++page) {
      const RowRange rows = index->rows_of(page);
      if (!Overlaps(wanted, rows)) continue;
      Append(rows, &selected.rows);
      values.push_back(rows.end - rows.begin);
    }
  } else {
    Append({0, metadata->num_rows()}, &selected.rows);
  }
  const std::vector<Piece> pieces = PagesOf(footer, row_group, leaf, index, wanted);
  for (const Piece& piece : pieces) selected.bytes += piece.length;
  selected.pages = static_cast<int64_t>(values.size());
  TL_ASSIGN_OR_RAISE(auto bytes, ReadPieces(source, pieces));
  selected.reader = OpenPages(std::make_shared<arrow::io::BufferReader>(bytes), *chunk, column);
  if (index && column.max_repetition_level() == 0) {
    selected.reader = std::make_unique<CountedPages>(std::move(selected.reader), std::move(values));
  }
  return selected;
}

std::shared_ptr<parquet::RowGroupReader> OneColumn(
    const std::shared_ptr<parquet::FileMetaData>& footer, int row_group,
    std::unique_ptr<parquet::PageReader> pages) {
  return std::make_shared<parquet::RowGroupReader>(
      std::make_unique<OneColumnContents>(footer, row_group, std::move(pages)));
}

std::unique_ptr<parquet::ParquetFileReader> OneColumnFile(
    const std::shared_ptr<parquet::FileMetaData>& footer, int row_group,
    std::unique_ptr<parquet::PageReader> pages) {
  auto file = std::make_unique<parquet::ParquetFileReader>();
  file->Open(std::make_unique<OneColumnFileContents>(footer, row_group, std::move(pages)));
  return file;
}

}  // namespace timelake::table
