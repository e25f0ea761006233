#include "write/flat_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <parquet/bloom_filter.h>
#include <parquet/exception.h>
#include <parquet/file_writer.h>
#include <parquet/index_location.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "write/kept_chunk.h"

namespace timelake::write {
namespace {

constexpr char kMagic[] = {'P', 'A', 'R', '1'};

}  // namespace

Result<std::unique_ptr<FlatFile>> FlatFile::Open(std::shared_ptr<arrow::io::OutputStream> sink,
                                                 ParquetPlan plan,
                                                 std::shared_ptr<arrow::Schema> schema,
                                                 std::vector<ColumnPlan> plans) {
  std::unique_ptr<FlatFile> file(new FlatFile());
  file->sink_ = std::move(sink);
  file->plan_ = std::move(plan);
  file->schema_ = std::move(schema);
  file->plans_ = std::move(plans);
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  const parquet::SchemaDescriptor* columns = file->plan_.schema.get();
  const auto* properties = file->plan_.properties.get();
  file->metadata_ = parquet::FileMetaDataBuilder::Make(columns, file->plan_.properties);
  file->page_index_ = parquet::PageIndexBuilder::Make(columns);
  if (properties->bloom_filter_enabled()) {
    file->bloom_filters_ = parquet::BloomFilterBuilder::Make(columns, properties);
  }
  END_PARQUET_CATCH_EXCEPTIONS
  TL_RETURN_NOT_OK(file->sink_->Write(kMagic, sizeof(kMagic)));
  return file;
}

Status FlatFile::BeginRowGroup() {
  return BeginRowGroup([this](const ChunkPlace& place) {
    return MakeColumnChunk(place, schema_->field(place.column)->type(), sink_);
  });
}

Status FlatFile::BeginRowGroup(const KeptGroup& group) {
  return BeginRowGroup([&](const ChunkPlace& place) -> Result<std::unique_ptr<ColumnChunk>> {
    return MakeKeptChunk(place, group);
  });
}

Status FlatFile::BeginRowGroup(const MakeChunk& make) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  row_group_ = metadata_->AppendRowGroup();
  page_index_->AppendRowGroup();
  if (bloom_filters_) bloom_filters_->AppendRowGroup();
  for (int i = 0; i < plan_.schema->num_columns(); ++i) {
    ChunkPlace place;
    place.descriptor = plan_.schema->Column(i);
    place.properties = plan_.properties.get();
    place.own = &plan_.properties->column_properties(place.descriptor->path());
    place.plan = plans_[static_cast<size_t>(i)];
    place.row_group = row_groups_;
    place.column = i;
    const auto& sorting = plan_.properties->sorting_columns();
    place.ordered_by = std::any_of(sorting.begin(), sorting.end(),
                                   [&](const auto& by) { return by.column_idx == i; });
    place.metadata = row_group_->NextColumnChunk();
    if (place.own->statistics_enabled()) {
      place.column_index = page_index_->GetColumnIndexBuilder(i);
    }
    place.offset_index = page_index_->GetOffsetIndexBuilder(i);
    if (bloom_filters_) place.bloom_filter = bloom_filters_->CreateBloomFilter(i);
    TL_ASSIGN_OR_RAISE(auto chunk, make(place));
    chunks_.push_back(std::move(chunk));
  }
  END_PARQUET_CATCH_EXCEPTIONS
  return Status::OK();
}

Status FlatFile::EndRowGroup(int64_t rows) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  int64_t bytes = 0;
  for (auto& chunk : chunks_) {
    TL_ASSIGN_OR_RAISE(const int64_t written, chunk->WriteTo(sink_));
    bytes += written;
    chunk.reset();
  }
  chunks_.clear();
  row_group_->set_num_rows(rows);
  // Readers that know no such ordinal do without: it only has 16 bits.
  const bool has_ordinal = row_groups_ <= std::numeric_limits<int16_t>::max();
  row_group_->Finish(bytes, has_ordinal ? static_cast<int16_t>(row_groups_) : int16_t{-1});
  ++row_groups_;
  END_PARQUET_CATCH_EXCEPTIONS
  return Status::OK();
}

Result<std::unique_ptr<parquet::FileMetaData>> FlatFile::Close() {
  std::unique_ptr<parquet::FileMetaData> footer;
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  if (bloom_filters_) {
    metadata_->SetIndexLocations(parquet::IndexKind::kBloomFilter,
                                 bloom_filters_->WriteTo(sink_.get()));
  }
  page_index_->Finish();
  const auto locations = page_index_->WriteTo(sink_.get());
  metadata_->SetIndexLocations(parquet::IndexKind::kColumnIndex, locations.column_index_locations);
  metadata_->SetIndexLocations(parquet::IndexKind::kOffsetIndex, locations.offset_index_locations);
  footer = metadata_->Finish(nullptr);
  parquet::WriteFileMetaData(*footer, sink_.get());
  END_PARQUET_CATCH_EXCEPTIONS
  return footer;
}

}  // namespace timelake::write
