#include "table/page_index.h"

#include <algorithm>
#include <limits>

#include <arrow/buffer.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "table/data_file_source.h"

namespace timelake::table {
namespace {

using SourceFile = std::shared_ptr<arrow::io::RandomAccessFile>;

// What may lie between indexes that are read together.
constexpr int64_t kSlack = 1 << 20;

bool Contains(int64_t file_size, int64_t offset, int64_t length) {
  return offset >= 0 && length > 0 && offset <= file_size && length <= file_size - offset;
}

// Whether pages and footer agree; a reader that trusted them would return wrong rows otherwise.
bool IsSound(const PageIndex& index, int64_t chunk_begin, int64_t chunk_end) {
  if (index.pages.empty() || index.pages.front().first_row != 0) return false;
  int64_t offset = chunk_begin, row = -1;
  for (const PageIndex::Page& page : index.pages) {
    if (page.first_row <= row || page.first_row >= index.rows) return false;
    if (page.offset < offset || page.size <= 0 || page.size > chunk_end - page.offset) return false;
    row = page.first_row;
    offset = page.offset + page.size;
  }
  return true;
}

std::vector<PageIndex::Bounds> BoundsOf(const parquet::ColumnIndex& index, size_t pages) {
  std::vector<PageIndex::Bounds> bounds(pages);
  const bool counts = index.has_null_counts() && index.null_counts().size() == pages;
  if (index.null_pages().size() != pages || index.encoded_min_values().size() != pages ||
      index.encoded_max_values().size() != pages) {
    return {};
  }
  for (size_t i = 0; i < pages; ++i) {
    bounds[i].all_null = index.null_pages()[i];
    bounds[i].min = index.encoded_min_values()[i];
    bounds[i].max = index.encoded_max_values()[i];
    if (counts && index.null_counts()[i] >= 0) bounds[i].null_count = index.null_counts()[i];
  }
  return bounds;
}

}  // namespace

size_t PageIndex::page_of(int64_t row) const {
  const auto after =
      std::upper_bound(pages.begin(), pages.end(), row,
                       [](int64_t wanted, const Page& page) { return wanted < page.first_row; });
  return static_cast<size_t>(std::max<int64_t>(0, after - pages.begin() - 1));
}

Result<std::shared_ptr<PageIndexes>> PageIndexes::Read(const SourceFile& source,
                                                       const parquet::FileMetaData& footer) {
  auto indexes = std::make_shared<PageIndexes>();
  TL_ASSIGN_OR_RAISE(indexes->file_size_, source->GetSize());
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0, total = 0;
  const auto add = [&](const std::optional<parquet::IndexLocation>& location) {
    if (!location || !Contains(indexes->file_size_, location->offset, location->length)) return;
    begin = std::min(begin, location->offset);
    end = std::max(end, location->offset + location->length);
    total += location->length;
  };
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    const auto row_group = footer.RowGroup(i);
    for (int leaf = 0; leaf < footer.num_columns(); ++leaf) {
      const auto chunk = row_group->ColumnChunk(leaf);
      add(chunk->GetColumnIndexLocation());
      add(chunk->GetOffsetIndexLocation());
    }
  }
  indexes->bytes_ = 1024 + total * 4;
  if (total == 0 || end - begin > total + kSlack) return indexes;
  TL_ASSIGN_OR_RAISE(indexes->region_, source->ReadAt(begin, end - begin));
  if (indexes->region_->size() != end - begin) return Corrupt("the page index is cut off");
  indexes->region_offset_ = begin;
  return indexes;
}

Result<std::shared_ptr<arrow::Buffer>> PageIndexes::Bytes(const SourceFile& source, int64_t offset,
                                                          int64_t length) const {
  if (region_ && offset >= region_offset_ && offset + length <= region_offset_ + region_->size()) {
    return arrow::SliceBuffer(region_, offset - region_offset_, length);
  }
  TL_ASSIGN_OR_RAISE(auto bytes, source->ReadAt(offset, length));
  if (bytes->size() != length) return Corrupt("the page index is cut off");
  return bytes;
}

Result<std::shared_ptr<const PageIndex>> PageIndexes::Of(const SourceFile& source,
                                                         const parquet::FileMetaData& footer,
                                                         int row_group, int leaf) {
  {
    std::lock_guard lock(mutex_);
    const auto found = parsed_.find({row_group, leaf});
    if (found != parsed_.end()) return found->second;
  }
  auto parse = [&]() -> Result<std::shared_ptr<const PageIndex>> {
    const auto metadata = footer.RowGroup(row_group);
    const auto chunk = metadata->ColumnChunk(leaf);
    const auto offsets = chunk->GetOffsetIndexLocation();
    if (!offsets || !Contains(file_size_, offsets->offset, offsets->length)) return nullptr;
    TL_ASSIGN_OR_RAISE(auto bytes, Bytes(source, offsets->offset, offsets->length));
    const auto properties = parquet::default_reader_properties();
    const auto offset_index =
        parquet::OffsetIndex::Make(bytes->data(), static_cast<uint32_t>(bytes->size()), properties);
    auto index = std::make_shared<PageIndex>();
    index->rows = metadata->num_rows();
    for (const parquet::PageLocation& page : offset_index->page_locations()) {
      index->pages.push_back({page.first_row_index, page.offset, page.compressed_page_size});
    }
    const int64_t begin = chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0
                              ? std::min(chunk->dictionary_page_offset(), chunk->data_page_offset())
                              : chunk->data_page_offset();
    if (!IsSound(*index, begin, begin + chunk->total_compressed_size())) return nullptr;
    const auto bounds = chunk->GetColumnIndexLocation();
    if (bounds && Contains(file_size_, bounds->offset, bounds->length)) {
      TL_ASSIGN_OR_RAISE(bytes, Bytes(source, bounds->offset, bounds->length));
      const auto column_index = parquet::ColumnIndex::Make(
          *footer.schema()->Column(leaf), bytes->data(), bytes->size(), properties);
      index->bounds = BoundsOf(*column_index, index->pages.size());
    }
    return std::shared_ptr<const PageIndex>(std::move(index));
  };
  TL_ASSIGN_OR_RAISE(auto index, CatchParquet(parse));
  std::lock_guard lock(mutex_);
  return parsed_.emplace(std::pair(row_group, leaf), std::move(index)).first->second;
}

}  // namespace timelake::table
