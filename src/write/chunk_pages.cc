#include "write/chunk_pages.h"

#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "base/memory.h"
#include "base/zstd.h"
#include "write/page_header.h"

namespace timelake::write {

using arrow::Compression;

ChunkPages::ChunkPages(const ChunkPlace& place)
    : place_(place), unencoded_(parquet::SizeStatistics::Make(place.descriptor)) {
  statistics_ = place.own->statistics_enabled();
  most_statistics_ = place.own->max_statistics_size();
  compression_ = place.own->compression();
  level_ = place.own->compression_level();
}

bool ChunkPages::entropy_coded() const {
  switch (compression_) {
    case Compression::ZSTD:
    case Compression::GZIP:
    case Compression::BROTLI: return true;
    default: return false;
  }
}

Result<const PageBytes*> ChunkPages::Compress(const PageBytes& page) {
  const auto size = static_cast<int64_t>(page.size());
  if (size > std::numeric_limits<int32_t>::max()) return TooLarge();
  if (compression_ == Compression::UNCOMPRESSED) return &page;
  const bool zstd = compression_ == Compression::ZSTD;
  if (!zstd && !codec_) {
    const auto options = place_.own->codec_options();
    TL_ASSIGN_OR_RAISE(codec_, options != nullptr
                                   ? arrow::util::Codec::Create(compression_, *options)
                                   : arrow::util::Codec::Create(compression_));
  }
  scratch_.Clear();
  const int64_t most = zstd ? ZstdMostBytes(size) : codec_->MaxCompressedLen(size, page.data());
  uint8_t* out = scratch_.Reserve(static_cast<size_t>(most));
  TL_ASSIGN_OR_RAISE(const int64_t used, zstd ? ZstdCompress(page.data(), size, level_, out, most)
                                              : codec_->Compress(size, page.data(), most, out));
  scratch_.Advance(static_cast<size_t>(used));
  if (used > std::numeric_limits<int32_t>::max()) return TooLarge();
  return &scratch_;
}

Status ChunkPages::TooLarge() const {
  return InvalidArgument(
      "a page of column {} is more than 2 GiB; accepted: fewer rows a page "
      "(data-page-rows) or shorter values",
      place_.descriptor->path()->ToDotString());
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
  bounds.ApplyStatSizeLimits(most_statistics_);
  return bounds;
}

parquet::SizeStatistics ChunkPages::SizesOf(const PageFacts& facts) const {
  parquet::SizeStatistics sizes = *unencoded_;
  if (!sizes.definition_level_histogram.empty()) {
    sizes.definition_level_histogram = {facts.nulls, facts.rows - facts.nulls};
  }
  if (sizes.unencoded_byte_array_data_bytes) {
    sizes.unencoded_byte_array_data_bytes = facts.string_bytes;
  }
  return sizes;
}

Status ChunkPages::Add(const PageBytes& page, PageFacts facts) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  TL_ASSIGN_OR_RAISE(const PageBytes* compressed, Compress(page));
  header_.Clear();
  AppendDataHeader(static_cast<int32_t>(page.size()), static_cast<int32_t>(compressed->size()),
                   static_cast<int32_t>(facts.rows), facts.encoding, &header_);
  TL_RETURN_NOT_OK(Keep(*compressed));
  const int64_t size = pages_.back()->size();
  const auto sizes = SizesOf(facts);
  if (place_.column_index != nullptr) {
    place_.column_index->AddPage(Complete(std::move(facts.bounds), facts.nulls, facts.rows), sizes);
  }
  if (place_.offset_index != nullptr) {
    place_.offset_index->AddPage(compressed_bytes_, static_cast<int32_t>(size), rows_,
                                 sizes.unencoded_byte_array_data_bytes);
  }
  ++encodings_[facts.encoding];
  compressed_bytes_ += size;
  bytes_ += static_cast<int64_t>(header_.size() + page.size());
  rows_ += facts.rows;
  nulls_ += facts.nulls;
  string_bytes_ += facts.string_bytes;
  END_PARQUET_CATCH_EXCEPTIONS
  return Status::OK();
}

// `header_` and what it is of.
Status ChunkPages::Keep(const PageBytes& compressed) {
  const auto size = static_cast<int64_t>(header_.size() + compressed.size());
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                     arrow::AllocateBuffer(size, CurrentPool()));
  std::memcpy(bytes->mutable_data(), header_.data(), header_.size());
  if (compressed.size() > 0) {
    std::memcpy(bytes->mutable_data() + header_.size(), compressed.data(), compressed.size());
  }
  pages_.push_back(std::move(bytes));
  return Status::OK();
}

Result<int64_t> ChunkPages::WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink,
                                    const PageBytes* dictionary, size_t dictionary_count,
                                    parquet::EncodedStatistics bounds) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  TL_ASSIGN_OR_RAISE(const int64_t start, sink->Tell());
  int64_t data_start = start;
  if (dictionary != nullptr) {
    TL_ASSIGN_OR_RAISE(const PageBytes* compressed, Compress(*dictionary));
    header_.Clear();
    AppendDictionaryHeader(static_cast<int32_t>(dictionary->size()),
                           static_cast<int32_t>(compressed->size()),
                           static_cast<int32_t>(dictionary_count), &header_);
    TL_RETURN_NOT_OK(sink->Write(header_.data(), static_cast<int64_t>(header_.size())));
    TL_RETURN_NOT_OK(sink->Write(compressed->data(), static_cast<int64_t>(compressed->size())));
    bytes_ += static_cast<int64_t>(header_.size() + dictionary->size());
    data_start += static_cast<int64_t>(header_.size() + compressed->size());
  }
  for (auto& page : pages_) {
    TL_RETURN_NOT_OK(sink->Write(page));
    page.reset();
  }
  pages_.clear();
  if (place_.column_index != nullptr) place_.column_index->Finish();
  if (place_.offset_index != nullptr) place_.offset_index->Finish(data_start);
  const auto statistics = Complete(std::move(bounds), nulls_, rows_);
  if (rows_ > 0) {
    if (statistics.is_set()) place_.metadata->SetStatistics(statistics);
    const auto sizes = SizesOf({.rows = rows_, .nulls = nulls_, .string_bytes = string_bytes_});
    if (sizes.is_set()) place_.metadata->SetSizeStatistics(sizes);
  }
  std::map<parquet::Encoding::type, int32_t> dictionary_encodings;
  if (dictionary != nullptr) dictionary_encodings[parquet::Encoding::PLAIN] = 1;
  const bool fallback =
      dictionary != nullptr &&
      (encodings_.size() > 1 || !encodings_.contains(parquet::Encoding::RLE_DICTIONARY));
  place_.metadata->Finish(rows_, dictionary != nullptr ? start : 0, -1, data_start,
                          compressed_bytes_ + data_start - start, bytes_, dictionary != nullptr,
                          fallback, dictionary_encodings, encodings_);
  END_PARQUET_CATCH_EXCEPTIONS
  return bytes_;
}

}  // namespace timelake::write
