#include "write/chunk_pages.h"

#include <cstring>
#include <limits>
#include <utility>

#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

namespace timelake::write {

using arrow::Compression;

ChunkPages::ChunkPages(const ChunkPlace& place)
    : place_(place), statistics_(place.properties->statistics_enabled(place.descriptor->path())) {}

bool ChunkPages::entropy_coded() const {
  switch (place_.properties->compression(place_.descriptor->path())) {
    case Compression::ZSTD:
    case Compression::GZIP:
    case Compression::BROTLI: return true;
    default: return false;
  }
}

Result<const PageBytes*> ChunkPages::Compress(const PageBytes& page) {
  const auto size = static_cast<int64_t>(page.size());
  if (size > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument(
        "a page of column {} is more than 2 GiB; accepted: fewer rows a page "
        "(data-page-rows) or shorter values",
        place_.descriptor->path()->ToDotString());
  }
  const auto kind = place_.properties->compression(place_.descriptor->path());
  if (kind == Compression::UNCOMPRESSED) return &page;
  if (!codec_) {
    const auto options = place_.properties->codec_options(place_.descriptor->path());
    TL_ASSIGN_OR_RAISE(codec_, options != nullptr ? arrow::util::Codec::Create(kind, *options)
                                                  : arrow::util::Codec::Create(kind));
  }
  scratch_.Clear();
  const int64_t most = codec_->MaxCompressedLen(size, page.data());
  uint8_t* out = scratch_.Reserve(static_cast<size_t>(most));
  TL_ASSIGN_OR_RAISE(const int64_t used, codec_->Compress(size, page.data(), most, out));
  scratch_.Advance(static_cast<size_t>(used));
  return &scratch_;
}

Result<int64_t> ChunkPages::CompressedSize(const PageBytes& page) {
  TL_ASSIGN_OR_RAISE(const PageBytes* compressed, Compress(page));
  return static_cast<int64_t>(compressed->size());
}

parquet::EncodedStatistics ChunkPages::Complete(parquet::EncodedStatistics bounds, int64_t nulls,
                                                int64_t rows) const {
  if (!statistics_) return {};
  bounds.set_null_count(nulls);
  bounds.all_null_value = nulls == rows;
  bounds.set_is_signed(place_.descriptor->sort_order() == parquet::SortOrder::SIGNED);
  if (bounds.has_min) bounds.is_min_value_exact = bounds.is_max_value_exact = true;
  // A value that is cut short would be taken for one that is there.
  bounds.ApplyStatSizeLimits(place_.properties->max_statistics_size(place_.descriptor->path()));
  return bounds;
}

parquet::SizeStatistics ChunkPages::SizesOf(const PageFacts& facts) const {
  auto sizes = parquet::SizeStatistics::Make(place_.descriptor);
  if (!sizes->definition_level_histogram.empty()) {
    sizes->definition_level_histogram = {facts.nulls, facts.rows - facts.nulls};
  }
  if (sizes->unencoded_byte_array_data_bytes) {
    sizes->unencoded_byte_array_data_bytes = facts.string_bytes;
  }
  return *sizes;
}

Status ChunkPages::Add(const PageBytes& page, PageFacts facts) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  TL_ASSIGN_OR_RAISE(const PageBytes* compressed, Compress(page));
  const auto size = static_cast<int64_t>(compressed->size());
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(size));
  if (size > 0) std::memcpy(bytes->mutable_data(), compressed->data(), compressed->size());
  auto statistics = Complete(std::move(facts.bounds), facts.nulls, facts.rows);
  pages_.push_back(std::make_unique<parquet::DataPageV1>(
      bytes, static_cast<int32_t>(facts.rows), facts.encoding, parquet::Encoding::RLE,
      parquet::Encoding::RLE, static_cast<int64_t>(page.size()), std::move(statistics), rows_,
      SizesOf(facts)));
  rows_ += facts.rows;
  nulls_ += facts.nulls;
  string_bytes_ += facts.string_bytes;
  END_PARQUET_CATCH_EXCEPTIONS
  return Status::OK();
}

Result<int64_t> ChunkPages::WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink,
                                    const PageBytes* dictionary, size_t dictionary_count,
                                    parquet::EncodedStatistics bounds) {
  int64_t bytes = 0;
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  const auto path = place_.descriptor->path();
  const auto options = place_.properties->codec_options(path);
  const auto writer = parquet::PageWriter::Open(
      sink, place_.properties->compression(path), place_.metadata,
      static_cast<int16_t>(place_.row_group), static_cast<int16_t>(place_.column),
      arrow::default_memory_pool(), /*buffered_row_group=*/false, nullptr, nullptr,
      place_.properties->page_checksum_enabled(), place_.column_index, place_.offset_index,
      options != nullptr ? *options : arrow::util::CodecOptions{});
  if (dictionary != nullptr) {
    const auto buffer = std::make_shared<arrow::Buffer>(dictionary->data(),
                                                        static_cast<int64_t>(dictionary->size()));
    const parquet::DictionaryPage page(buffer, static_cast<int32_t>(dictionary_count),
                                       place_.properties->dictionary_page_encoding());
    bytes += writer->WriteDictionaryPage(page);
  }
  bool fallback = false;
  for (auto& page : pages_) {
    fallback = fallback ||
               (dictionary != nullptr && page->encoding() != parquet::Encoding::RLE_DICTIONARY);
    bytes += writer->WriteDataPage(*page);
    page.reset();
  }
  pages_.clear();
  const auto statistics = Complete(std::move(bounds), nulls_, rows_);
  if (rows_ > 0) {
    if (statistics.is_set()) place_.metadata->SetStatistics(statistics);
    const auto sizes = SizesOf({.rows = rows_, .nulls = nulls_, .string_bytes = string_bytes_});
    if (sizes.is_set()) place_.metadata->SetSizeStatistics(sizes);
  }
  writer->Close(dictionary != nullptr, fallback);
  END_PARQUET_CATCH_EXCEPTIONS
  return bytes;
}

}  // namespace timelake::write
