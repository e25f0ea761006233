#include "table/partition_options.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "table/contract.h"

namespace timelake::table {
namespace {

using iceberg::Field;
using iceberg::PartitionField;
using iceberg::TransformKind;
using iceberg::TypeId;

constexpr int kMostBuckets = 10'000;
constexpr size_t kMaxFolderName = 255;  // bytes, of every file system that we know
constexpr size_t kMaxLabel = 20;        // "=-290308-12-31-23" and some room

struct Parsed {
  iceberg::Transform transform;
  std::string column;
};

Status Malformed(const std::string& text) {
  return InvalidArgument(
      "partition_by {}: bucket(N, column), bucket(N) or identity(column) is expected, with N of 1 "
      ".. {}",
      Quote(text), kMostBuckets);
}

Result<Parsed> Parse(const std::string& text, const TableOptions& options) {
  const std::string_view whole = Trim(text);
  const size_t open = whole.find('(');
  if (open == std::string_view::npos || whole.back() != ')') return Malformed(text);
  const std::string name = ToLowerAscii(Trim(whole.substr(0, open)));
  std::string_view inside = whole.substr(open + 1, whole.size() - open - 2);
  Parsed parsed;
  if (name == "identity") {
    parsed.column = Trim(inside);
  } else if (name == "bucket") {
    const size_t comma = inside.find(',');
    const Result<int64_t> count = ParseInt64(Trim(inside.substr(0, comma)));
    if (!count.ok() || *count < 1 || *count > kMostBuckets) return Malformed(text);
    parsed.transform.kind = TransformKind::kBucket;
    parsed.transform.width = static_cast<int>(*count);
    if (comma != std::string_view::npos) {
      parsed.column = Trim(inside.substr(comma + 1));
    } else if (options.series_key.size() == 1) {
      parsed.column = options.series_key[0];
    } else {
      return InvalidArgument(
          "partition_by {}: without a column it is of the series key's only one, and that has {}",
          Quote(text), options.series_key.size());
    }
  } else {
    return Malformed(text);
  }
  if (parsed.column.empty()) return Malformed(text);
  parsed.transform.text = iceberg::TransformName(parsed.transform);
  return parsed;
}

Status CheckColumn(const std::string& text, const Parsed& parsed, const iceberg::Schema& schema,
                   const TableOptions& options) {
  const Field* field = iceberg::FindField(schema, parsed.column);
  if (field == nullptr) {
    return InvalidArgument("partition_by {}: there is no column {} ({})", Quote(text),
                           Quote(parsed.column), Join(iceberg::FieldNames(schema), ", "));
  }
  if (parsed.column == options.time_column) {
    return InvalidArgument("partition_by {}: the time column is partitioned by the chunk interval",
                           Quote(text));
  }
  if (field->type.id == TypeId::kFloat || field->type.id == TypeId::kDouble) {
    return InvalidArgument(
        "partition_by {}: column {} is of type {}, of which equal values may have "
        "different bytes",
        Quote(text), Quote(parsed.column), iceberg::TypeName(field->type));
  }
  if (Status takes = iceberg::CheckTransform(parsed.transform, field->type); !takes.ok()) {
    return InvalidArgument("partition_by {}: {}", Quote(text), MessageOf(takes));
  }
  const auto& key = options.series_key;
  const bool dedup = options.dedup.value_or(!key.empty());
  if (dedup && std::find(key.begin(), key.end(), parsed.column) == key.end()) {
    return InvalidArgument(
        "partition_by {}: with dedup the column must be one of the series key ({}), so that rows "
        "that replace each other lie in one partition",
        Quote(text), key.empty() ? "there is none" : Join(key, ", "));
  }
  return Status::OK();
}

}  // namespace

Status CheckPartitionName(const iceberg::Schema& schema, const std::string& time,
                          const std::string& partition) {
  // Iceberg lets only identity partitions share a name with a column.
  if (iceberg::FindField(schema, partition) != nullptr) {
    return InvalidArgument(
        "column {} has the name of the partition field of time column {}; rename the column or "
        "choose another chunk interval",
        Quote(partition), Quote(time));
  }
  if (PercentEncodeForm(partition).size() + kMaxLabel > kMaxFolderName) {
    return InvalidArgument(
        "time column {} is too long: it names the partition folders, and with {} bytes at most {} "
        "can stand there (URL-encoded)",
        Quote(time), PercentEncodeForm(time).size(), kMaxFolderName - kMaxLabel - 6);
  }
  return Status::OK();
}

Result<std::vector<PartitionField>> ReadPartitionBy(const iceberg::Schema& schema,
                                                    const TableOptions& options) {
  std::vector<PartitionField> fields;
  std::set<std::string> names;
  if (!options.time_column.empty()) {
    names.insert(fmt::format("{}_{}", options.time_column, ChunkName(options.chunk)));
  }
  for (const std::string& text : options.partition_by) {
    TL_ASSIGN_OR_RAISE(Parsed parsed, Parse(text, options));
    TL_RETURN_NOT_OK(CheckColumn(text, parsed, schema, options));
    PartitionField field;
    field.source_id = iceberg::FindField(schema, parsed.column)->id;
    field.name = parsed.column;
    if (parsed.transform.kind != TransformKind::kIdentity) {
      // Iceberg lets only identity partitions share a name with a column.
      field.name += "_bucket";
      if (iceberg::FindField(schema, field.name) != nullptr) {
        return InvalidArgument(
            "partition_by {}: the partition field would be called {}, as a column "
            "is; rename the column",
            Quote(text), Quote(field.name));
      }
    }
    if (!names.insert(field.name).second) {
      return InvalidArgument("partition_by {}: there is a partition field {} already", Quote(text),
                             Quote(field.name));
    }
    field.transform = std::move(parsed.transform);
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<std::string> PartitionByTexts(const iceberg::PartitionSpec& spec,
                                          const iceberg::Schema& schema,
                                          std::optional<int> time_id) {
  std::vector<std::string> texts;
  for (const PartitionField& field : spec.fields) {
    const Field* source = iceberg::FindFieldById(schema, field.source_id);
    if (source == nullptr || (time_id && source->id == *time_id)) continue;
    if (field.transform.kind == TransformKind::kVoid) continue;
    if (field.transform.kind == TransformKind::kBucket) {
      texts.push_back(fmt::format("bucket({}, {})", field.transform.width, source->name));
    } else {
      texts.push_back(fmt::format("{}({})", iceberg::TransformName(field.transform), source->name));
    }
  }
  return texts;
}

bool HashesPaths(const iceberg::TableMetadata& metadata) {
  const auto found = metadata.properties.find("write.object-storage.enabled");
  return found != metadata.properties.end() && ToLowerAscii(found->second) == "true";
}

iceberg::PartitionSpec WithoutBuckets(const iceberg::PartitionSpec& spec) {
  iceberg::PartitionSpec coarse;
  for (const PartitionField& field : spec.fields) {
    if (field.transform.kind != TransformKind::kBucket) coarse.fields.push_back(field);
  }
  return coarse;
}

std::optional<iceberg::PartitionSpec> CoarseSpec(const iceberg::TableMetadata& metadata,
                                                 const iceberg::PartitionSpec& fine) {
  const iceberg::PartitionSpec coarse = WithoutBuckets(fine);
  if (coarse.fields.size() == fine.fields.size()) return std::nullopt;
  const auto same = [](const PartitionField& a, const PartitionField& b) {
    return a.source_id == b.source_id && a.field_id == b.field_id && a.transform == b.transform;
  };
  for (const iceberg::PartitionSpec& spec : metadata.partition_specs) {
    if (std::equal(spec.fields.begin(), spec.fields.end(), coarse.fields.begin(),
                   coarse.fields.end(), same)) {
      return spec;
    }
  }
  return std::nullopt;
}

std::optional<iceberg::PartitionSpec> CoarseSpec(const iceberg::TableMetadata& metadata) {
  return CoarseSpec(metadata, *iceberg::DefaultSpec(metadata));
}

}  // namespace timelake::table

namespace timelake {

TableOptions WithExpectedRows(TableOptions options, int64_t rows_per_day) {
  constexpr int64_t kLeast = 1'000'000;   // of a partition
  constexpr int64_t kMost = 100'000'000;  // of an hour, without buckets
  constexpr int64_t kBucket = 50'000'000;
  const int64_t an_hour = rows_per_day / 24;
  if (an_hour >= 20 * kLeast) {
    options.chunk = Chunk::kHour;
  } else if (rows_per_day >= kLeast) {
    options.chunk = Chunk::kDay;
  } else {
    options.chunk = rows_per_day >= kLeast / 30 ? Chunk::kMonth : Chunk::kYear;
  }
  if (an_hour <= kMost || options.series_key.empty() || !options.partition_by.empty()) {
    return options;
  }
  int64_t buckets = 2;
  while (buckets < 256 && an_hour / buckets > kBucket) buckets *= 2;
  options.partition_by = {fmt::format("bucket({}, {})", buckets, options.series_key[0])};
  return options;
}

}  // namespace timelake
