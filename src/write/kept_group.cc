#include "write/kept_group.h"

#include <algorithm>
#include <utility>

#include <parquet/exception.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "base/memory.h"
#include "iceberg/value.h"
#include "write/parquet_properties.h"

namespace timelake::write {
namespace {

constexpr char kWriter[] = "timelake ";

// Parquet's plain bytes of a value are those of Iceberg, but for decimals.
bool HasPlainBounds(const iceberg::Type& type) { return type.id != iceberg::TypeId::kDecimal; }

bool SameSorting(const std::vector<parquet::SortingColumn>& a,
                 const std::vector<parquet::SortingColumn>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.column_idx == y.column_idx && x.descending == y.descending &&
           x.nulls_first == y.nulls_first;
  });
}

// What the manifest says is wanted here, too: a footer does not count NaN.
bool HasNoNan(const iceberg::Schema& schema, const iceberg::DataFile& data) {
  return std::all_of(schema.fields.begin(), schema.fields.end(), [&](const auto& field) {
    const bool is_float =
        field.type.id == iceberg::TypeId::kFloat || field.type.id == iceberg::TypeId::kDouble;
    if (!is_float) return true;
    const auto count = data.nan_value_counts.find(field.id);
    return count != data.nan_value_counts.end() && count->second == 0;
  });
}

// nullopt: its encodings are none that we choose.
std::optional<ColumnEncoding> EncodingOf(const parquet::ColumnChunkMetaData& chunk) {
  if (chunk.has_dictionary_page()) return ColumnEncoding::kDictionary;
  std::optional<ColumnEncoding> encoding;
  for (const parquet::PageEncodingStats& stats : chunk.encoding_stats()) {
    switch (stats.encoding) {
      case parquet::Encoding::PLAIN: encoding = ColumnEncoding::kPlain; break;
      case parquet::Encoding::DELTA_BINARY_PACKED: encoding = ColumnEncoding::kDelta; break;
      case parquet::Encoding::BYTE_STREAM_SPLIT: encoding = ColumnEncoding::kByteStreamSplit; break;
      case parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY:
        encoding = ColumnEncoding::kDeltaLengths;
        break;
      case parquet::Encoding::DELTA_BYTE_ARRAY: encoding = ColumnEncoding::kDeltaStrings; break;
      default: return std::nullopt;
    }
  }
  return encoding;
}

// nullopt: the footer does not say all of it.
Result<std::optional<LeafFacts>> FactsOf(const parquet::ColumnChunkMetaData& chunk,
                                         const iceberg::Type& type) {
  const auto statistics = chunk.encoded_statistics();
  if (statistics == nullptr || !statistics->has_null_count) return std::nullopt;
  LeafFacts facts;
  facts.values = chunk.num_values();
  facts.nulls = statistics->null_count;
  if (facts.nulls == facts.values) return facts;
  if (!statistics->has_min || !statistics->has_max || !HasPlainBounds(type)) return std::nullopt;
  TL_ASSIGN_OR_RAISE(facts.min, iceberg::FromBytes(type, statistics->min()));
  TL_ASSIGN_OR_RAISE(facts.max, iceberg::FromBytes(type, statistics->max()));
  return facts;
}

}  // namespace

Result<std::optional<KeptFile>> KeptFile::Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                               const iceberg::DataFile& data, FileFormat format) {
  if (!IsFlat(*format.schema) || !HasNoNan(*format.schema, data)) return std::nullopt;
  if (!format.settings.bloom_columns.empty()) return std::nullopt;
  KeptFile kept;
  kept.schema_ = format.schema;
  kept.file_ = std::move(file);
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  kept.reader_ =
      parquet::ParquetFileReader::Open(kept.file_, parquet::ReaderProperties(CurrentPool()));
  kept.footer_ = kept.reader_->metadata();
  if (!kept.footer_->created_by().starts_with(kWriter)) return std::nullopt;
  format.columns.assign(format.schema->fields.size(), ColumnPlan());
  TL_ASSIGN_OR_RAISE(const ParquetPlan plan, PlanParquet(format, *SchemaOf(format)));
  if (!plan.schema->Equals(*kept.footer_->schema())) return std::nullopt;
  for (int i = 0; i < kept.row_groups(); ++i) {
    const auto group = kept.footer_->RowGroup(i);
    if (!SameSorting(group->sorting_columns(), plan.properties->sorting_columns())) {
      return std::nullopt;
    }
    for (int c = 0; c < group->num_columns(); ++c) {
      const auto path = plan.schema->Column(c)->path();
      if (group->ColumnChunk(c)->compression() != plan.properties->compression(path)) {
        return std::nullopt;
      }
    }
  }
  END_PARQUET_CATCH_EXCEPTIONS
  return kept;
}

Result<std::optional<KeptGroup>> KeptFile::Group(int row_group) const {
  KeptGroup group;
  group.file = file_;
  group.footer = footer_;
  group.row_group = row_group;
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  const auto metadata = footer_->RowGroup(row_group);
  group.rows = metadata->num_rows();
  const auto indexes = reader_->GetPageIndexReader();
  const auto pages = indexes == nullptr ? nullptr : indexes->RowGroup(row_group);
  if (pages == nullptr) return std::nullopt;
  for (int i = 0; i < metadata->num_columns(); ++i) {
    const auto chunk = metadata->ColumnChunk(i);
    const iceberg::Type& type = schema_->fields[static_cast<size_t>(i)].type;
    KeptGroup::Column column;
    column.column_index = pages->GetColumnIndex(i);
    column.offset_index = pages->GetOffsetIndex(i);
    const auto encoding = EncodingOf(*chunk);
    TL_ASSIGN_OR_RAISE(const auto facts, FactsOf(*chunk, type));
    if (!column.column_index || !column.offset_index || !encoding || !facts) return std::nullopt;
    if (!column.column_index->has_null_counts() || chunk->bloom_filter_offset()) {
      return std::nullopt;
    }
    column.plan.encoding = *encoding;
    column.plan.arrow_dictionary =
        type.id == iceberg::TypeId::kString && *encoding == ColumnEncoding::kDictionary;
    column.facts = *facts;
    group.bytes += chunk->total_compressed_size();
    group.columns.push_back(std::move(column));
  }
  END_PARQUET_CATCH_EXCEPTIONS
  return group;
}

}  // namespace timelake::write
