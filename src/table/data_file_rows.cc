#include "table/data_file_rows.h"

#include <algorithm>
#include <vector>

#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <arrow/util/bit_util.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/level_conversion.h>

#include "base/memory.h"
#include "table/data_file_convert.h"
#include "table/data_file_pages.h"
#include "table/data_file_source.h"

namespace timelake::table {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using arrow::Type;

// Types whose values Parquet stores as Arrow holds them.
bool IsPlain(const arrow::DataType& type, parquet::Type::type physical) {
  switch (type.id()) {
    case Type::BOOL: return physical == parquet::Type::BOOLEAN;
    case Type::INT32:
    case Type::UINT32:
    case Type::DATE32:
    case Type::TIME32: return physical == parquet::Type::INT32;
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return physical == parquet::Type::INT64;
    case Type::FLOAT: return physical == parquet::Type::FLOAT;
    case Type::DOUBLE: return physical == parquet::Type::DOUBLE;
    case Type::STRING:
    case Type::BINARY: return physical == parquet::Type::BYTE_ARRAY;
    default: return false;
  }
}

[[noreturn]] void ThrowShort() { throw parquet::ParquetException("the pages end too early"); }

// Calls `skip` and `read` in turn so that of the rows `present` those `wanted` are read.
template <typename Skip, typename Read>
void Walk(const RowRanges& present, const RowRanges& wanted, Skip&& skip, Read&& read) {
  int64_t skipped = 0;
  size_t next = 0;
  for (const RowRange& run : present) {
    int64_t row = run.begin;
    while (next < wanted.size() && wanted[next].begin < run.end) {
      skipped += wanted[next].begin - row;
      if (skipped > 0) skip(skipped);
      skipped = 0;
      read(wanted[next].end - wanted[next].begin);
      row = wanted[next].end;
      ++next;
    }
    skipped += run.end - row;
  }
  if (next < wanted.size()) ThrowShort();
}

// One byte a value -> one bit a value.
Result<std::shared_ptr<arrow::Buffer>> Bits(const uint8_t* bytes, int64_t count) {
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bits,
                     arrow::AllocateEmptyBitmap(count, CurrentPool()));
  for (int64_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) arrow::bit_util::SetBit(bits->mutable_data(), i);
  }
  return bits;
}

// Numbers, times and bytes of one chunk, by Parquet's own reader of records.
Result<ArrayPtr> ReadRecords(const parquet::ColumnDescriptor& descriptor, SelectedPages pages,
                             const RowRanges& wanted,
                             const std::shared_ptr<arrow::DataType>& type) {
  const int64_t count = CountRows(wanted);
  auto reader = parquet::internal::RecordReader::Make(
      &descriptor, parquet::internal::LevelInfo::ComputeLevelInfo(&descriptor), CurrentPool(),
      false, false, type);
  reader->SetPageReader(std::move(pages.reader));
  reader->Reserve(count);
  Walk(
      pages.rows, wanted,
      [&](int64_t rows) {
        if (reader->SkipRecords(rows) != rows) ThrowShort();
      },
      [&](int64_t rows) {
        if (reader->ReadRecords(rows) != rows) ThrowShort();
      });
  if (arrow::is_base_binary_like(type->id())) {
    auto chunks = dynamic_cast<parquet::internal::BinaryRecordReader&>(*reader).GetBuilderChunks();
    if (chunks.size() == 1) return chunks[0];
    return arrow::Concatenate(chunks, CurrentPool());
  }
  if (reader->values_written() != count) ThrowShort();
  const int64_t nulls = reader->nullable_values() ? reader->null_count() : 0;
  std::shared_ptr<arrow::Buffer> validity;
  if (nulls > 0) validity = reader->ReleaseIsValid();
  std::shared_ptr<arrow::Buffer> values;
  if (type->id() == Type::BOOL) {
    TL_ASSIGN_OR_RAISE(values, Bits(reader->values(), count));
  } else {
    values = reader->ReleaseValues();
  }
  return arrow::MakeArray(
      arrow::ArrayData::Make(type, count, {std::move(validity), std::move(values)}, nulls));
}

// Indices as they lie in the pages, without room for nulls -> spread out.
void Spread(const std::vector<int16_t>& levels, int64_t begin, int64_t rows, int64_t values,
            int32_t* indices, uint8_t* validity) {
  for (int64_t i = rows - 1; i >= 0; --i) {
    if (levels[static_cast<size_t>(i)] == 0) {
      indices[i] = 0;
    } else {
      indices[i] = indices[--values];
      arrow::bit_util::SetBit(validity, begin + i);
    }
  }
}

struct Codes {
  std::shared_ptr<arrow::Buffer> indices, validity;
  int64_t nulls = 0;
  const parquet::ByteArray* dictionary = nullptr;  // the reader's
  int32_t dictionary_size = 0;
};

Result<Codes> ReadCodes(parquet::ByteArrayReader& reader, const RowRanges& present,
                        const RowRanges& wanted) {
  const int64_t count = CountRows(wanted);
  const bool nullable = reader.descr()->max_definition_level() > 0;
  Codes codes;
  TL_ASSIGN_OR_RAISE(codes.indices, arrow::AllocateBuffer(count * 4, CurrentPool()));
  TL_ASSIGN_OR_RAISE(codes.validity, arrow::AllocateEmptyBitmap(count, CurrentPool()));
  auto* indices = reinterpret_cast<int32_t*>(codes.indices->mutable_data());
  std::vector<int16_t> levels;
  int64_t done = 0;
  Walk(
      present, wanted,
      [&](int64_t rows) {
        if (reader.Skip(rows) != rows) ThrowShort();
      },
      [&](int64_t rows) {
        if (nullable) levels.resize(static_cast<size_t>(rows));
        // A call reads from one page at most.
        for (int64_t left = rows; left > 0;) {
          const parquet::ByteArray* dictionary = nullptr;
          int32_t size = 0;
          int64_t values = 0;
          const int64_t got =
              reader.ReadBatchWithDictionary(left, nullable ? levels.data() : nullptr, nullptr,
                                             indices + done, &values, &dictionary, &size);
          if (got <= 0 || !dictionary) ThrowShort();
          codes.dictionary = dictionary;
          codes.dictionary_size = size;
          for (int64_t i = 0; i < values; ++i) {
            if (indices[done + i] < 0 || indices[done + i] >= size) {
              throw parquet::ParquetException("an index lies outside of the dictionary");
            }
          }
          if (values < got) {
            codes.nulls += got - values;
            Spread(levels, done, got, values, indices + done, codes.validity->mutable_data());
          } else {
            arrow::bit_util::SetBitsTo(codes.validity->mutable_data(), done, got, true);
          }
          done += got;
          left -= got;
        }
      });
  if (codes.nulls == 0) codes.validity = nullptr;
  return codes;
}

Result<ArrayPtr> MakeDictionary(const Codes& codes) {
  arrow::StringBuilder builder;
  TL_RETURN_NOT_OK(builder.Reserve(codes.dictionary_size));
  for (int32_t i = 0; i < codes.dictionary_size; ++i) {
    TL_RETURN_NOT_OK(builder.Append(std::string_view(codes.dictionary[i])));
  }
  return builder.Finish();
}

// Of the rows `present` in the array those `wanted`.
Result<ArrayPtr> Pick(const ArrayPtr& array, const RowRanges& present, const RowRanges& wanted) {
  if (array->length() != CountRows(present)) ThrowShort();
  if (present == wanted) return array;
  arrow::ArrayVector parts;
  int64_t position = 0;
  Walk(
      present, wanted, [&](int64_t rows) { position += rows; },
      [&](int64_t rows) {
        parts.push_back(array->Slice(position, rows));
        position += rows;
      });
  if (parts.size() == 1) return parts[0];
  return arrow::Concatenate(parts, CurrentPool());
}

parquet::ArrowReaderProperties ArrowProperties() {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  properties.set_pre_buffer(false);  // it takes every file for one of its own kind
  return properties;
}

}  // namespace

bool IsDictionary(const parquet::ColumnChunkMetaData& chunk) {
  if (!chunk.has_dictionary_page()) return false;
  if (chunk.encoding_stats().empty()) {
    // Version 1 pages list PLAIN for the dictionary page itself: nothing tells them from a
    // fallback, which would be re-encoded row by row.
    return std::find(chunk.encodings().begin(), chunk.encodings().end(),
                     parquet::Encoding::PLAIN) == chunk.encodings().end();
  }
  for (const parquet::PageEncodingStats& page : chunk.encoding_stats()) {
    if (page.page_type != parquet::PageType::DICTIONARY_PAGE &&
        page.encoding != parquet::Encoding::RLE_DICTIONARY &&
        page.encoding != parquet::Encoding::PLAIN_DICTIONARY) {
      return false;
    }
  }
  return true;
}

Status CheckInt96(parquet::ColumnReader* column) {
  auto* reader = static_cast<parquet::Int96Reader*>(column);
  std::vector<parquet::Int96> values(4096);
  std::vector<int16_t> definitions(values.size()), repetitions(values.size());
  while (reader->HasNext()) {
    int64_t got = 0;
    reader->ReadBatch(static_cast<int64_t>(values.size()), definitions.data(), repetitions.data(),
                      values.data(), &got);
    for (int64_t i = 0; i < got; ++i) {
      const uint64_t nanos = values[i].value[0] | (uint64_t{values[i].value[1]} << 32);
      if (nanos % 1000 != 0) {
        return Unsupported(
            "column '{}': an INT96 timestamp has nanoseconds, the table's type has "
            "microseconds",
            column->descr()->path()->ToDotString());
      }
    }
  }
  return Status::OK();
}

Result<std::shared_ptr<const PageIndex>> RowDecoder::Pages(int row_group,
                                                           const ColumnSource& column) {
  if (column.leaves.size() != 1 || !indexes_) return nullptr;
  auto index = indexes_->Of(source_, *footer_, row_group, column.leaves[0]);
  if (index.ok()) return index;
  return ParquetError(
      uri_,
      "row group " + std::to_string(row_group) + ": page index of column '" + column.path + "'",
      index.status());
}

Result<std::vector<arrow::io::ReadRange>> RowDecoder::Ranges(int row_group,
                                                             const ColumnSource& column,
                                                             const RowRanges& rows) {
  if (column.missing) return std::vector<arrow::io::ReadRange>();
  TL_ASSIGN_OR_RAISE(const auto index, Pages(row_group, column));
  if (!index) return std::vector<arrow::io::ReadRange>();
  return CatchParquet(
      [&] { return PagesOf(*footer_, row_group, column.leaves[0], index.get(), rows); });
}

Result<ArrayPtr> RowDecoder::Read(int row_group, const ColumnSource& column, const RowRanges& rows,
                                  bool keep_dictionary, ReadCost* cost) {
  const int64_t count = CountRows(rows);
  if (column.missing) return MissingColumn(column, count);
  auto read = CatchParquet([&]() -> Result<ArrayPtr> {
    const bool flat =
        column.origin->is_leaf() &&
        footer_->schema()->Column(column.origin->column_index)->max_repetition_level() == 0 &&
        footer_->schema()->Column(column.origin->column_index)->max_definition_level() <= 1 &&
        IsPlain(*column.origin->field->type(),
                footer_->schema()->Column(column.origin->column_index)->physical_type());
    TL_ASSIGN_OR_RAISE(auto array, flat ? ReadFlat(row_group, column, rows, keep_dictionary, cost)
                                        : ReadAny(row_group, column, rows, cost));
    if (array->length() != count) ThrowShort();
    cost->values += count;
    return ConvertColumn(column, array);
  });
  const std::string place =
      "row group " + std::to_string(row_group) + ": column '" + column.path + "'";
  if (!read.ok()) return ParquetError(uri_, place, read.status());
  if (column.field.required && (*read)->null_count() > 0) {
    return Corrupt("{}: {}: the required column holds nulls", uri_, place);
  }
  return read;
}

Result<ArrayPtr> RowDecoder::ReadFlat(int row_group, const ColumnSource& column,
                                      const RowRanges& rows, bool keep_dictionary, ReadCost* cost) {
  const int leaf = column.origin->column_index;
  TL_ASSIGN_OR_RAISE(const auto index, Pages(row_group, column));
  TL_ASSIGN_OR_RAISE(SelectedPages pages,
                     SelectPages(source_, *footer_, row_group, leaf, index.get(), rows));
  cost->bytes += pages.bytes;
  cost->pages += pages.pages;
  const auto& type = column.origin->field->type();
  const bool text = type->id() == Type::STRING && keep_dictionary;
  if (!text || !IsDictionary(*footer_->RowGroup(row_group)->ColumnChunk(leaf))) {
    return ReadRecords(*footer_->schema()->Column(leaf), std::move(pages), rows, type);
  }
  auto row_group_reader = OneColumn(footer_, row_group, std::move(pages.reader));
  auto reader =
      row_group_reader->ColumnWithExposeEncoding(leaf, parquet::ExposedEncoding::DICTIONARY);
  if (reader->GetExposedEncoding() != parquet::ExposedEncoding::DICTIONARY) {
    TL_ASSIGN_OR_RAISE(pages, SelectPages(source_, *footer_, row_group, leaf, index.get(), rows));
    return ReadRecords(*footer_->schema()->Column(leaf), std::move(pages), rows, type);
  }
  TL_ASSIGN_OR_RAISE(Codes codes,
                     ReadCodes(static_cast<parquet::ByteArrayReader&>(*reader), pages.rows, rows));
  ArrayPtr dictionary = KnownDictionary(row_group, leaf);
  if (!dictionary) {
    TL_ASSIGN_OR_RAISE(dictionary, MakeDictionary(codes));
    dictionary = Remember(row_group, leaf, std::move(dictionary));
  }
  auto data = arrow::ArrayData::Make(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                     CountRows(rows), {codes.validity, codes.indices}, codes.nulls);
  data->dictionary = dictionary->data();
  return arrow::MakeArray(std::move(data));
}

// Nested columns, and flat ones whose physical form differs from Arrow's, by Arrow's reader.
Result<ArrayPtr> RowDecoder::ReadAny(int row_group, const ColumnSource& column,
                                     const RowRanges& rows, ReadCost* cost) {
  const std::vector<int>& leaves = column.leaves;
  TL_ASSIGN_OR_RAISE(const auto index, Pages(row_group, column));
  for (int leaf : leaves) {
    const parquet::ColumnDescriptor& descriptor = *footer_->schema()->Column(leaf);
    if (descriptor.physical_type() != parquet::Type::INT96) continue;
    TL_ASSIGN_OR_RAISE(SelectedPages pages,
                       SelectPages(source_, *footer_, row_group, leaf, index.get(), rows));
    TL_RETURN_NOT_OK(
        CheckInt96(parquet::ColumnReader::Make(&descriptor, std::move(pages.reader)).get()));
  }
  RowRanges present;
  std::unique_ptr<parquet::ParquetFileReader> file;
  if (index) {
    TL_ASSIGN_OR_RAISE(SelectedPages pages,
                       SelectPages(source_, *footer_, row_group, leaves[0], index.get(), rows));
    cost->bytes += pages.bytes;
    cost->pages += pages.pages;
    present = std::move(pages.rows);
    file = OneColumnFile(footer_, row_group, std::move(pages.reader));
  } else {
    Append({0, footer_->RowGroup(row_group)->num_rows()}, &present);
    for (int leaf : leaves) {
      cost->bytes += footer_->RowGroup(row_group)->ColumnChunk(leaf)->total_compressed_size();
    }
    file = parquet::ParquetFileReader::Open(source_, FileProperties(), footer_);
  }
  auto properties = ArrowProperties();
  properties.set_batch_size(std::max<int64_t>(1, CountRows(present)));
  TL_ASSIGN_OR_RAISE(auto reader, parquet::arrow::FileReader::Make(arrow::default_memory_pool(),
                                                                   std::move(file), properties));
  TL_ASSIGN_OR_RAISE(auto stream, reader->GetRecordBatchReader({row_group}, leaves));
  TL_ASSIGN_OR_RAISE(auto table, stream->ToTable());
  if (table->num_columns() != 1)
    return Corrupt("{} columns where one is read", table->num_columns());
  if (table->num_rows() != CountRows(present)) ThrowShort();
  TL_ASSIGN_OR_RAISE(auto array, arrow::Concatenate(table->column(0)->chunks()));
  return Pick(array, present, rows);
}

ArrayPtr RowDecoder::KnownDictionary(int row_group, int leaf) {
  std::lock_guard lock(mutex_);
  const auto found = dictionaries_.find({row_group, leaf});
  return found == dictionaries_.end() ? nullptr : found->second;
}

ArrayPtr RowDecoder::Remember(int row_group, int leaf, ArrayPtr dictionary) {
  std::lock_guard lock(mutex_);
  return dictionaries_.emplace(std::pair(row_group, leaf), std::move(dictionary)).first->second;
}

}  // namespace timelake::table
