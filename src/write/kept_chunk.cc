#include "write/kept_chunk.h"

#include <algorithm>
#include <map>
#include <utility>

#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/schema.h>
#include <parquet/size_statistics.h>
#include <parquet/statistics.h>

namespace timelake::write {
namespace {

using EncodingCounts = std::map<parquet::Encoding::type, int32_t>;

class KeptChunk : public ColumnChunk {
 public:
  KeptChunk(const ChunkPlace& place, const KeptGroup& group)
      : place_(place),
        group_(group),
        column_(group.columns[static_cast<size_t>(place.column)]),
        from_(group.footer->RowGroup(group.row_group)->ColumnChunk(place.column)) {}

  Status Append(const arrow::Array&) override {
    return InternalError("rows for a column chunk that is kept as it is");
  }

  Status Finish() override {
    start_ =
        from_->has_dictionary_page() ? from_->dictionary_page_offset() : from_->data_page_offset();
    const int64_t size = from_->total_compressed_size();
    TL_ASSIGN_OR_RAISE(bytes_, group_.file->ReadAt(start_, size));
    if (bytes_->size() == size) return Status::OK();
    return Corrupt("a data file ends at byte {} of a column chunk of {}", bytes_->size(), size);
  }

  bool knows_facts() const override { return true; }
  LeafFacts Facts() const override { return column_.facts; }

  Result<int64_t> WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink) override {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    TL_ASSIGN_OR_RAISE(const int64_t start, sink->Tell());
    TL_RETURN_NOT_OK(sink->Write(bytes_));
    bytes_.reset();
    AddPages(start - start_);
    if (place_.column_index != nullptr) place_.column_index->Finish();
    if (place_.offset_index != nullptr) place_.offset_index->Finish(0);
    parquet::EncodedStatistics statistics = *from_->encoded_statistics();
    statistics.all_null_value = column_.facts.nulls == column_.facts.values;
    statistics.set_is_signed(place_.descriptor->sort_order() == parquet::SortOrder::SIGNED);
    place_.metadata->SetStatistics(statistics);
    const auto sizes = from_->size_statistics();
    if (sizes != nullptr && sizes->is_set()) place_.metadata->SetSizeStatistics(*sizes);
    EncodingCounts dictionaries, data;
    for (const parquet::PageEncodingStats& stats : from_->encoding_stats()) {
      const bool is_dictionary = stats.page_type == parquet::PageType::DICTIONARY_PAGE;
      (is_dictionary ? dictionaries : data)[stats.encoding] += stats.count;
    }
    const bool has_dictionary = from_->has_dictionary_page();
    const bool fallback =
        has_dictionary && (data.size() > 1 || !data.contains(parquet::Encoding::RLE_DICTIONARY));
    place_.metadata->Finish(from_->num_values(), has_dictionary ? start : 0, -1,
                            from_->data_page_offset() - start_ + start,
                            from_->total_compressed_size(), from_->total_uncompressed_size(),
                            has_dictionary, fallback, dictionaries, data);
    END_PARQUET_CATCH_EXCEPTIONS
    return from_->total_uncompressed_size();
  }

 private:
  parquet::EncodedStatistics BoundsOf(size_t page, int64_t rows) const {
    const parquet::ColumnIndex& index = *column_.column_index;
    parquet::EncodedStatistics bounds;
    bounds.set_null_count(index.null_counts()[page]);
    bounds.all_null_value = index.null_pages()[page];
    if (!bounds.all_null_value && bounds.null_count < rows) {
      bounds.set_min(index.encoded_min_values()[page]);
      bounds.set_max(index.encoded_max_values()[page]);
    }
    return bounds;
  }

  parquet::SizeStatistics SizesOf(size_t page) const {
    parquet::SizeStatistics sizes;
    const auto& histograms = column_.column_index->definition_level_histograms();
    const size_t pages = column_.column_index->null_pages().size();
    if (column_.column_index->has_definition_level_histograms() && !histograms.empty()) {
      const size_t levels = histograms.size() / pages;
      const auto begin = histograms.begin() + static_cast<int64_t>(page * levels);
      sizes.definition_level_histogram.assign(begin, begin + static_cast<int64_t>(levels));
    }
    const auto& bytes = column_.offset_index->unencoded_byte_array_data_bytes();
    if (!bytes.empty()) sizes.unencoded_byte_array_data_bytes = bytes[page];
    return sizes;
  }

  // They lie `moved` bytes further on.
  void AddPages(int64_t moved) const {
    const auto& pages = column_.offset_index->page_locations();
    for (size_t i = 0; i < pages.size(); ++i) {
      const int64_t end = i + 1 < pages.size() ? pages[i + 1].first_row_index : from_->num_values();
      const auto sizes = SizesOf(i);
      if (place_.column_index != nullptr) {
        place_.column_index->AddPage(BoundsOf(i, end - pages[i].first_row_index), sizes);
      }
      parquet::PageLocation place = pages[i];
      place.offset += moved;
      if (place_.offset_index != nullptr) place_.offset_index->AddPage(place, sizes);
    }
  }

  const ChunkPlace place_;
  const KeptGroup& group_;
  const KeptGroup::Column& column_;
  const std::unique_ptr<parquet::ColumnChunkMetaData> from_;
  int64_t start_ = 0;  // in the file that it comes from
  std::shared_ptr<arrow::Buffer> bytes_;
};

}  // namespace

std::unique_ptr<ColumnChunk> MakeKeptChunk(const ChunkPlace& place, const KeptGroup& group) {
  return std::make_unique<KeptChunk>(place, group);
}

}  // namespace timelake::write
