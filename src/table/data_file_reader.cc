#include "table/data_file_reader.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <arrow/io/memory.h>
#include <arrow/memory_pool.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "base/text.h"
#include "store/read_plan.h"
#include "table/data_file_bloom.h"
#include "table/data_file_columns.h"
#include "table/data_file_convert.h"
#include "table/data_file_pages.h"
#include "table/data_file_rows.h"
#include "table/data_file_source.h"
#include "table/data_file_stats.h"
#include "table/meta_cache.h"

namespace timelake::table {
namespace {

using Footer = std::shared_ptr<parquet::FileMetaData>;
using SourceFile = std::shared_ptr<arrow::io::RandomAccessFile>;

// Rows decoded at a time; what is handed out are slices of that. Each step of Arrow's reader copies
// the dictionaries, so steps must not be small.
constexpr int64_t kDecodeRows = 65536;

// Names the other kinds that the specification knows.
Status NotParquet(const std::string& uri, const SourceFile& source, const Status& why) {
  auto head = source->ReadAt(0, 4);
  if (head.ok()) {
    const std::string magic = (*head)->ToString();
    if (magic.starts_with("ORC")) return Unsupported("{}: ORC data files are not read", uri);
    if (magic == "Obj\x01") return Unsupported("{}: Avro data files are not read", uri);
    if (magic == "PARE") return Unsupported("{}: encrypted Parquet is not read", uri);
  }
  return ParquetError(uri, "footer", why);
}

Status CheckFooter(const std::string& uri, const parquet::FileMetaData& footer) {
  if (footer.is_encryption_algorithm_set()) {
    return Unsupported("{}: encrypted Parquet is not read", uri);
  }
  int64_t rows = 0;
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    const auto row_group = footer.RowGroup(i);
    const int64_t own = row_group->num_rows();
    if (own < 0) return Corrupt("{}: row group {} has {} rows", uri, i, own);
    rows += own;
    // Throws where it does not add up. Seen here once, it needs no look-out later.
    for (int column = 0; column < footer.num_columns(); ++column) row_group->ColumnChunk(column);
  }
  if (rows != footer.num_rows()) {
    return Corrupt("{}: the footer counts {} rows, its row groups {}", uri, footer.num_rows(),
                   rows);
  }
  return Status::OK();
}

Result<std::string> FooterKey(const Env& env, const std::string& uri) {
  TL_ASSIGN_OR_RAISE(const std::string key, store::KeyOf(*env.store, uri));
  return "footer:" + key;
}

// Cached footers are shared by readers on other threads and never change.
Result<Footer> ReadFooter(const Env& env, const std::string& uri, const SourceFile& source) {
  TL_ASSIGN_OR_RAISE(const std::string key, FooterKey(env, uri));
  if (env.cache) {
    if (auto found = env.cache->Get<parquet::FileMetaData>(key)) {
      return std::const_pointer_cast<parquet::FileMetaData>(found);
    }
  }
  if (store::IsRemote(*env.store)) {
    TL_ASSIGN_OR_RAISE(const int64_t size, source->GetSize());
    const int64_t tail = store::TailOf(size);
    (void)source->WillNeed({{size - tail, tail}});  // page index and footer with one request
  }
  auto footer = CatchParquet(
      [&] { return parquet::ParquetFileReader::Open(source, FileProperties())->metadata(); });
  if (!footer.ok()) {
    const bool from_store = footer.status().detail() != nullptr;
    return from_store ? ParquetError(uri, "footer", footer.status())
                      : NotParquet(uri, source, footer.status());
  }
  auto checked = CatchParquet([&] { return CheckFooter(uri, **footer); });
  if (!checked.ok()) return ParquetError(uri, "footer", checked);
  // The Arrow schema that a writer may have stored would change the types that Arrow's reader
  // produces; ours follow from the table's schema. Nobody else sees this footer yet.
  if (const auto& extra = (*footer)->key_value_metadata(); extra) {
    auto* own = const_cast<arrow::KeyValueMetadata*>(extra.get());
    while (own->Contains("ARROW:schema")) TL_RETURN_NOT_OK(own->Delete("ARROW:schema"));
  }
  // Decoded, the footer takes about this many times its bytes.
  if (env.cache) env.cache->Put<parquet::FileMetaData>(key, *footer, (*footer)->size() * 5);
  return *footer;
}

// Page indexes of a file, from the cache or read.
Result<std::shared_ptr<PageIndexes>> ReadIndexes(const Env& env, const std::string& uri,
                                                 const SourceFile& source, const Footer& footer) {
  TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, uri));
  key = "pages:" + key;
  if (env.cache) {
    if (auto found = env.cache->Get<PageIndexes>(key)) {
      return std::const_pointer_cast<PageIndexes>(found);
    }
  }
  auto indexes = CatchParquet([&] { return PageIndexes::Read(source, *footer); });
  if (!indexes.ok()) return ParquetError(uri, "page index", indexes.status());
  if (env.cache) env.cache->Put<PageIndexes>(key, *indexes, (*indexes)->bytes());
  return indexes;
}

struct Opened {
  std::string uri;
  SourceFile source;
  Footer footer;
  parquet::arrow::SchemaManifest manifest;
  ColumnSources columns;  // points into the manifest
  bool remote = false;
};

class BatchStream : public arrow::RecordBatchReader {
 public:
  BatchStream(std::shared_ptr<const Opened> file, std::shared_ptr<arrow::Schema> schema,
              std::unique_ptr<parquet::arrow::FileReader> reader, std::vector<int> row_groups,
              int64_t batch_rows)
      : file_(std::move(file)),
        schema_(std::move(schema)),
        reader_(std::move(reader)),
        row_groups_(std::move(row_groups)),
        batch_rows_(batch_rows) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    while (!decoded_ || next_ >= decoded_->num_rows()) {
      decoded_.reset();
      next_ = 0;
      if (rows_left_ == 0) {
        if (index_ == row_groups_.size()) return Status::OK();
        TL_RETURN_NOT_OK(OpenRowGroup(row_groups_[index_++]));
        continue;
      }
      TL_RETURN_NOT_OK(Decode());
    }
    *out = decoded_->Slice(next_, batch_rows_);
    next_ += (*out)->num_rows();
    return Status::OK();
  }

 private:
  Status OpenRowGroup(int row_group) {
    row_group_ = row_group;
    rows_left_ = file_->footer->RowGroup(row_group)->num_rows();
    if (!reader_ || rows_left_ == 0) return Status::OK();
    auto stream = CatchParquet([&]() -> Result<std::unique_ptr<arrow::RecordBatchReader>> {
      for (int leaf : file_->columns.leaves) {
        if (file_->footer->schema()->Column(leaf)->physical_type() == parquet::Type::INT96) {
          TL_RETURN_NOT_OK(
              CheckInt96(reader_->parquet_reader()->RowGroup(row_group)->Column(leaf).get()));
        }
      }
      return reader_->GetRecordBatchReader({row_group}, file_->columns.leaves);
    });
    if (!stream.ok()) return Failed(stream.status());
    stream_ = *std::move(stream);
    return Status::OK();
  }

  Status Decode() {
    std::shared_ptr<arrow::RecordBatch> raw;
    int64_t rows = std::min(rows_left_, std::max(batch_rows_, kDecodeRows));
    if (reader_) {
      Status read = CatchParquet([&] { return stream_->ReadNext(&raw); });
      if (!read.ok()) return Failed(read);
      if (!raw || raw->num_rows() > rows_left_) {
        return Corrupt("{}: row group {}: its columns end {} rows {} the footer says", file_->uri,
                       row_group_, raw ? raw->num_rows() - rows_left_ : rows_left_,
                       raw ? "after" : "before");
      }
      rows = raw->num_rows();
    }
    rows_left_ -= rows;
    arrow::ArrayVector arrays;
    for (const ColumnSource& column : file_->columns.columns) {
      auto array = column.missing ? MissingColumn(column, rows)
                                  : ConvertColumn(column, raw->column(column.position));
      if (!array.ok()) return ParquetError(file_->uri, Place(), array.status());
      if (column.field.required && (*array)->null_count() > 0) {
        return Corrupt("{}: {}: required column '{}' holds nulls", file_->uri, Place(),
                       column.path);
      }
      arrays.push_back(*std::move(array));
    }
    decoded_ = arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
    return Status::OK();
  }

  std::string Place() const { return "row group " + std::to_string(row_group_); }

  // Parquet's messages do not name the column: read each alone and see.
  Status Failed(const Status& status) {
    if (status.detail() != nullptr) return ParquetError(file_->uri, Place(), status);
    for (int leaf : file_->columns.leaves) {
      std::shared_ptr<arrow::ChunkedArray> ignored;
      Status read =
          CatchParquet([&] { return reader_->RowGroup(row_group_)->Column(leaf)->Read(&ignored); });
      if (read.ok()) continue;
      const std::string name = file_->footer->schema()->Column(leaf)->path()->ToDotString();
      return ParquetError(file_->uri, Place() + ": column '" + name + "'", read);
    }
    return ParquetError(file_->uri, Place(), status);
  }

  const std::shared_ptr<const Opened> file_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::unique_ptr<parquet::arrow::FileReader> reader_;  // null: no column is in the file
  const std::vector<int> row_groups_;
  const int64_t batch_rows_;

  size_t index_ = 0;  // of the next row group
  int row_group_ = 0;
  std::unique_ptr<arrow::RecordBatchReader> stream_;
  int64_t rows_left_ = 0;  // of the row group, not decoded yet
  std::shared_ptr<arrow::RecordBatch> decoded_;
  int64_t next_ = 0;  // row of decoded_
};

class ParquetReader : public DataFileReader {
 public:
  ParquetReader(const Env& env, std::shared_ptr<const Opened> file, bool keep_dictionaries)
      : env_(env), file_(std::move(file)), keep_dictionaries_(keep_dictionaries) {
    for (int i = 0; i < num_row_groups(); ++i) {
      offsets_.push_back(i == 0 ? 0 : offsets_[i - 1] + row_group_rows(i - 1));
    }
  }

  int num_row_groups() const override { return file_->footer->num_row_groups(); }
  int64_t row_group_rows(int row_group) const override {
    return file_->footer->RowGroup(row_group)->num_rows();
  }
  int64_t row_group_offset(int row_group) const override { return offsets_.at(row_group); }
  const parquet::FileMetaData& metadata() const override { return *file_->footer; }

  Stats row_group_stats(int row_group, int field_id) const override {
    for (const ColumnSource& column : file_->columns.columns) {
      if (column.field.id == field_id) {
        return ColumnStats(*file_->footer->RowGroup(row_group), column);
      }
    }
    return {};
  }

  bool is_missing(size_t column) const override {
    return file_->columns.columns.at(column).missing;
  }

  Result<std::shared_ptr<const PageIndex>> Pages(int row_group, size_t column) override {
    TL_ASSIGN_OR_RAISE(RowDecoder* const decoder, Decoder());
    return decoder->Pages(row_group, file_->columns.columns.at(column));
  }

  Stats page_stats(size_t column, const PageIndex& pages, size_t page) const override {
    if (page >= pages.bounds.size()) return {};
    const RowRange rows = pages.rows_of(page);
    return PageStats(*file_->footer, file_->columns.columns.at(column), pages.bounds[page],
                     rows.end - rows.begin);
  }

  Result<bool> MayHold(int row_group, size_t column,
                       const std::vector<iceberg::Value>& values) override {
    return table::MayHold(env_, file_->uri, file_->source, file_->footer, row_group,
                          file_->columns.columns.at(column), values);
  }

  Result<std::shared_ptr<arrow::Array>> ReadRows(int row_group, size_t column,
                                                 const RowRanges& rows, ReadCost* cost) override {
    TL_ASSIGN_OR_RAISE(RowDecoder* const decoder, Decoder());
    return decoder->Read(row_group, file_->columns.columns.at(column), rows, keep_dictionaries_,
                         cost);
  }

  Result<std::vector<arrow::io::ReadRange>> Ranges(int row_group, size_t column,
                                                   const RowRanges& rows) override {
    TL_ASSIGN_OR_RAISE(RowDecoder* const decoder, Decoder());
    return decoder->Ranges(row_group, file_->columns.columns.at(column), rows);
  }
  void WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override {
    if (file_->remote) (void)file_->source->WillNeed(ranges);  // who reads is told what fails
  }
  bool is_remote() const override { return file_->remote; }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Read(const std::vector<int>& row_groups,
                                                         int64_t batch_rows) override {
    if (batch_rows <= 0) return InvalidArgument("batches of {} rows", batch_rows);
    for (int i : row_groups) {
      if (i < 0 || i >= num_row_groups()) {
        return InvalidArgument("{}: there is no row group {}", file_->uri, i);
      }
    }
    std::unique_ptr<parquet::arrow::FileReader> reader;
    arrow::FieldVector fields;
    for (const ColumnSource& column : file_->columns.columns) fields.push_back(column.out);
    if (!file_->columns.leaves.empty()) {
      auto properties = Properties(row_groups, batch_rows, &fields);
      auto made = CatchParquet([&] {
        return parquet::arrow::FileReader::Make(
            arrow::default_memory_pool(),
            parquet::ParquetFileReader::Open(file_->source, FileProperties(), file_->footer),
            properties);
      });
      if (!made.ok()) return ParquetError(file_->uri, "", made.status());
      reader = *std::move(made);
    }
    return std::make_shared<BatchStream>(file_, arrow::schema(std::move(fields)), std::move(reader),
                                         row_groups, batch_rows);
  }

 private:
  parquet::ArrowReaderProperties Properties(const std::vector<int>& row_groups, int64_t batch_rows,
                                            arrow::FieldVector* fields) const {
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_batch_size(std::max(batch_rows, kDecodeRows));
    properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
    // Reading ahead on other threads pays where a request takes long.
    properties.set_pre_buffer(file_->remote);
    if (!keep_dictionaries_) return properties;
    for (size_t i = 0; i < fields->size(); ++i) {
      const ColumnSource& column = file_->columns.columns[i];
      if (column.missing || column.field.type.id != iceberg::TypeId::kString) continue;
      if (column.origin->field->type()->id() != arrow::Type::STRING) continue;
      const int leaf = column.origin->column_index;
      if (!std::all_of(row_groups.begin(), row_groups.end(), [&](int row_group) {
            return IsDictionary(*file_->footer->RowGroup(row_group)->ColumnChunk(leaf));
          })) {
        continue;
      }
      properties.set_read_dictionary(leaf, true);
      (*fields)[i] = (*fields)[i]->WithType(arrow::dictionary(arrow::int32(), arrow::utf8()));
    }
    return properties;
  }

  // Made when first asked for: who reads whole row groups needs no page index.
  Result<RowDecoder*> Decoder() {
    std::lock_guard lock(mutex_);
    if (!decoder_) {
      TL_ASSIGN_OR_RAISE(auto indexes, ReadIndexes(env_, file_->uri, file_->source, file_->footer));
      decoder_ = std::make_unique<RowDecoder>(file_->uri, file_->source, file_->footer,
                                              std::move(indexes));
    }
    return decoder_.get();
  }

  const Env env_;
  const std::shared_ptr<const Opened> file_;
  const bool keep_dictionaries_;
  std::vector<int64_t> offsets_;
  std::mutex mutex_;
  std::unique_ptr<RowDecoder> decoder_;
};

}  // namespace

bool MustFetchTail(const Env& env, const std::string& uri) {
  if (!store::IsRemote(*env.store)) return false;
  const auto key = FooterKey(env, uri);
  return key.ok() && !(env.cache && env.cache->Get<parquet::FileMetaData>(*key));
}

void FetchTail(const Env& env, const std::string& uri, int64_t size) {
  if (size <= 0 || !MustFetchTail(env, uri)) return;
  const auto source = OpenSource(env, uri, size);
  const int64_t tail = store::TailOf(size);
  if (source.ok()) (void)(*source)->WillNeed({{size - tail, tail}});
}

Result<std::unique_ptr<DataFileReader>> OpenDataFile(const Env& env,
                                                     const DataFileRequest& request) {
  auto file = std::make_shared<Opened>();
  file->uri = request.uri;
  file->remote = store::IsRemote(*env.store) && !request.bytes;
  if (request.bytes) {
    file->source = std::make_shared<arrow::io::BufferReader>(request.bytes);
  } else {
    TL_ASSIGN_OR_RAISE(file->source, OpenSource(env, request.uri, request.size));
  }
  TL_ASSIGN_OR_RAISE(file->footer, ReadFooter(env, request.uri, file->source));
  parquet::ArrowReaderProperties properties;
  properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  Status made = CatchParquet([&] {
    return parquet::arrow::SchemaManifest::Make(file->footer->schema(), nullptr, properties,
                                                &file->manifest);
  });
  if (!made.ok()) return ParquetError(request.uri, "schema", made);
  auto columns = FindColumns(file->manifest, request.fields, request.constants);
  if (!columns.ok()) return WithContext(columns.status(), request.uri);
  file->columns = *std::move(columns);
  return std::make_unique<ParquetReader>(env, std::move(file), request.keep_dictionaries);
}

}  // namespace timelake::table
