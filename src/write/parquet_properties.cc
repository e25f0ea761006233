#include "write/parquet_properties.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <arrow/util/compression.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "base/parallel.h"
#include "base/text.h"
#include "timelake/version.h"

namespace timelake::write {
namespace {

using Builder = parquet::WriterProperties::Builder;

Result<arrow::Compression::type> CodecOf(const std::string& name) {
  // Arrow's "lz4" is the frame format, Parquet's lz4 the raw one.
  auto codec = arrow::util::Codec::GetCompressionType(name == "lz4" ? "lz4_raw" : name);
  if (!codec.ok()) return InvalidArgument("unknown compression codec {}", Quote(name));
  if (!arrow::util::Codec::IsAvailable(*codec)) {
    return Unsupported("this build of Arrow has no compression codec {}", Quote(name));
  }
  return codec;
}

parquet::Encoding::type ParquetEncoding(ColumnEncoding encoding) {
  switch (encoding) {
    case ColumnEncoding::kDelta: return parquet::Encoding::DELTA_BINARY_PACKED;
    case ColumnEncoding::kByteStreamSplit: return parquet::Encoding::BYTE_STREAM_SPLIT;
    case ColumnEncoding::kDeltaLengths: return parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY;
    case ColumnEncoding::kDeltaStrings: return parquet::Encoding::DELTA_BYTE_ARRAY;
    default: return parquet::Encoding::PLAIN;
  }
}

std::shared_ptr<parquet::ArrowWriterProperties> ArrowProperties(const FileFormat& format) {
  // No ARROW:schema: with it Arrow readers would see dictionary types where we wrote dictionaries.
  parquet::ArrowWriterProperties::Builder builder;
  builder.set_use_threads(format.threads > 1);
  if (format.threads > 1) builder.set_executor(SharedPool());
  return builder.build();
}

// Leaf columns of a file: which field of the schema each belongs to, and its path. Arrow keys
// settings by dotted path, so two leaves may share one ("a.b" and b inside a).
struct Leaf {
  size_t field = 0;
  std::string path;
  bool top_level = false;
  bool is_float = false;
};

std::vector<Leaf> LeavesOf(const parquet::SchemaDescriptor& schema) {
  std::vector<Leaf> leaves;
  for (int i = 0; i < schema.num_columns(); ++i) {
    const auto* column = schema.Column(i);
    const auto* root = schema.GetColumnRoot(i);
    const auto type = column->physical_type();
    leaves.push_back({static_cast<size_t>(schema.group_node()->FieldIndex(*root)),
                      root->is_primitive() ? column->name() : column->path()->ToDotString(),
                      root->is_primitive(),
                      type == parquet::Type::FLOAT || type == parquet::Type::DOUBLE});
  }
  return leaves;
}

void ApplyPlans(const FileFormat& format, const std::vector<Leaf>& leaves, Builder* builder) {
  std::map<std::string, int> owners;
  for (const Leaf& leaf : leaves) ++owners[leaf.path];
  for (const Leaf& leaf : leaves) {
    const ColumnPlan& plan = format.columns[leaf.field];
    if (!plan.statistics && leaf.is_float) builder->disable_statistics(leaf.path);
    if (!leaf.top_level || owners[leaf.path] > 1) continue;
    // Without a number of values to expect: it starts large and is folded to what it needs.
    if (plan.bloom_filter) builder->enable_bloom_filter(leaf.path, {});
    if (plan.encoding == ColumnEncoding::kDictionary) continue;
    builder->disable_dictionary(leaf.path);
    builder->encoding(leaf.path, ParquetEncoding(plan.encoding));
  }
}

std::vector<parquet::SortingColumn> SortingColumns(const FileFormat& format,
                                                   const std::vector<Leaf>& leaves) {
  std::vector<parquet::SortingColumn> columns;
  for (const SortedBy& by : format.sorting) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i].field != static_cast<size_t>(by.field)) continue;
      columns.push_back({static_cast<int32_t>(i), by.descending, by.nulls_first});
      break;
    }
  }
  return columns;
}

}  // namespace

Result<ParquetPlan> PlanParquet(const FileFormat& format, const arrow::Schema& schema) {
  const table::Settings& settings = format.settings;
  TL_ASSIGN_OR_RAISE(const auto codec, CodecOf(settings.codec));
  Builder builder;
  builder.created_by(std::string("timelake ") + kVersion)
      ->compression(codec)
      ->max_row_group_length(settings.row_group_rows)
      ->max_rows_per_page(format.page_rows > 0 ? format.page_rows : settings.data_page_rows)
      ->dictionary_pagesize_limit(settings.dictionary_page_bytes)
      ->enable_write_page_index()
      ->enable_store_decimal_as_integer();
  if (settings.codec_level) {
    builder.compression_level(*settings.codec_level);
  } else if (codec == arrow::Compression::ZSTD) {
    builder.compression_level(3);
  }
  ParquetPlan plan;
  plan.arrow_properties = ArrowProperties(format);
  Builder copy = builder;
  TL_RETURN_NOT_OK(parquet::arrow::ToParquetSchema(&schema, *copy.build(), *plan.arrow_properties,
                                                   &plan.schema));
  const std::vector<Leaf> leaves = LeavesOf(*plan.schema);
  ApplyPlans(format, leaves, &builder);
  builder.set_sorting_columns(SortingColumns(format, leaves));
  plan.properties = builder.build();
  return plan;
}

}  // namespace timelake::write
