#include "write/arrow_chunk.h"

#include <utility>
#include <vector>

#include <arrow/extension_type.h>
#include <arrow/util/compression.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "base/memory.h"

namespace timelake::write {
namespace {

class ArrowChunk : public ColumnChunk {
 public:
  ArrowChunk(const ChunkPlace& place, const std::shared_ptr<arrow::io::OutputStream>& sink)
      : place_(place),
        arrow_properties_(parquet::default_arrow_writer_properties()),
        context_(CurrentPool(), arrow_properties_.get()) {
    const auto& options = place.own->codec_options();
    // Into memory: chunks are filled at once, but lie one behind the other in the file.
    auto pages = parquet::PageWriter::Open(
        sink, place.own->compression(), place.metadata, static_cast<int16_t>(place.row_group),
        static_cast<int16_t>(place.column), CurrentPool(),
        /*buffered_row_group=*/true, nullptr, nullptr, place.properties->page_checksum_enabled(),
        place.column_index, place.offset_index,
        options != nullptr ? *options : arrow::util::CodecOptions{});
    writer_ = parquet::ColumnWriter::Make(place.metadata, std::move(pages), place.properties,
                                          place.bloom_filter);
  }

  Status Append(const arrow::Array& rows) override {
    if (rows.type_id() == arrow::Type::EXTENSION) {
      return Append(*static_cast<const arrow::ExtensionArray&>(rows).storage());
    }
    const bool nullable = place_.descriptor->max_definition_level() > 0;
    if (!nullable && rows.null_count() > 0) {
      return InvalidArgument("column {} holds nulls, but is required",
                             place_.descriptor->path()->ToDotString());
    }
    if (nullable) {
      levels_.assign(static_cast<size_t>(rows.length()), 1);
      for (int64_t i = 0; rows.null_count() > 0 && i < rows.length(); ++i) {
        levels_[static_cast<size_t>(i)] = rows.IsValid(i);
      }
    }
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    TL_RETURN_NOT_OK(writer_->WriteArrow(nullable ? levels_.data() : nullptr, nullptr,
                                         rows.length(), rows, &context_, nullable));
    END_PARQUET_CATCH_EXCEPTIONS
    return Status::OK();
  }

  Status Finish() override { return Status::OK(); }

  Result<int64_t> WriteTo(const std::shared_ptr<arrow::io::OutputStream>&) override {
    int64_t bytes = 0;
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    bytes = writer_->Close();
    END_PARQUET_CATCH_EXCEPTIONS
    return bytes;
  }

 private:
  ChunkPlace place_;
  std::shared_ptr<parquet::ArrowWriterProperties> arrow_properties_;
  parquet::ArrowWriteContext context_;
  std::shared_ptr<parquet::ColumnWriter> writer_;
  std::vector<int16_t> levels_;
};

}  // namespace

Result<std::unique_ptr<ColumnChunk>> MakeArrowChunk(
    const ChunkPlace& place, const std::shared_ptr<arrow::io::OutputStream>& sink) {
  std::unique_ptr<ColumnChunk> chunk;
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  chunk = std::make_unique<ArrowChunk>(place, sink);
  END_PARQUET_CATCH_EXCEPTIONS
  return chunk;
}

}  // namespace timelake::write
