#include "table/chunk_tiers.h"

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "table/contract.h"
#include "table/partition_options.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

using iceberg::PartitionField;
using iceberg::PartitionSpec;
using iceberg::TableMetadata;
using iceberg::TransformKind;

constexpr std::string_view kAccepted =
    "spans that grow, each but the last with the age up to which it holds rows, as in \"hour:2d, "
    "day:90d, month\"";

Result<ChunkTier> ParseTier(std::string_view text) {
  const size_t colon = text.find(':');
  ChunkTier tier;
  TL_ASSIGN_OR_RAISE(tier.chunk, ParseChunk(Trim(text.substr(0, colon))));
  if (colon == std::string_view::npos) return tier;
  TL_ASSIGN_OR_RAISE(tier.until_us, ParseDuration(Trim(text.substr(colon + 1))));
  return tier;
}

std::string TimeFieldName(const std::string& time, Chunk chunk) {
  return fmt::format("{}_{}", time, ChunkName(chunk));
}

// A field as an earlier spec has it, so that it keeps its id, or a new one.
Result<PartitionField> FieldFor(const iceberg::Field& time, Chunk chunk, TableMetadata* metadata) {
  PartitionField field;
  field.transform = iceberg::ParseTransform(ChunkName(chunk));
  field.name = TimeFieldName(time.name, chunk);
  for (const PartitionSpec& spec : metadata->partition_specs) {
    for (const PartitionField& known : spec.fields) {
      if (known.source_id == time.id && known.transform == field.transform) return known;
      if (known.name == field.name) {
        return InvalidArgument("setting chunk-tiers: partition spec {} has another field {}",
                               spec.spec_id, Quote(field.name));
      }
    }
  }
  TL_RETURN_NOT_OK(CheckPartitionName(*iceberg::CurrentSchema(*metadata), time.name, field.name));
  field.source_id = time.id;
  field.field_id = std::max(metadata->last_partition_id + 1, iceberg::kFirstPartitionFieldId);
  metadata->last_partition_id = field.field_id;
  return field;
}

bool SameSpecFields(const PartitionSpec& a, const PartitionSpec& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    [](const PartitionField& x, const PartitionField& y) {
                      return x.field_id == y.field_id && x.transform == y.transform;
                    });
}

int AddSpec(PartitionSpec spec, TableMetadata* metadata) {
  int highest = 0;
  for (const PartitionSpec& known : metadata->partition_specs) {
    if (SameSpecFields(known, spec)) return known.spec_id;
    highest = std::max(highest, known.spec_id);
  }
  spec.spec_id = highest + 1;
  spec.unknown = {};
  metadata->partition_specs.push_back(std::move(spec));
  return highest + 1;
}

}  // namespace

std::string ChunkTiersForm() { return std::string(kAccepted); }

Result<std::vector<ChunkTier>> ParseChunkTiers(std::string_view text) {
  std::vector<ChunkTier> tiers;
  const auto refused = [&](std::string_view part, std::string_view why) {
    return InvalidArgument("{} in {}: {}", Quote(part), Quote(text), why);
  };
  std::string_view last_part;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = Trim(text.substr(begin, comma - begin));
    begin = comma + 1;
    const auto tier = ParseTier(part);
    if (!tier.ok()) return refused(part, MessageOf(tier.status()));
    if (!tiers.empty()) {
      if (!tiers.back().until_us) return refused(last_part, "only the last may lack an age");
      if (tier->chunk <= tiers.back().chunk) return refused(part, "its span is not longer");
      if (tier->until_us && *tier->until_us <= *tiers.back().until_us) {
        return refused(part, "its age is not higher");
      }
    }
    if (tier->until_us && *tier->until_us == 0) return refused(part, "its age is zero");
    tiers.push_back(*tier);
    last_part = part;
  }
  if (tiers.back().until_us)
    return refused(last_part, "the last takes all older rows, without an age");
  return tiers;
}

std::string ChunkTiersText(const std::vector<ChunkTier>& tiers) {
  std::string text;
  for (const ChunkTier& tier : tiers) {
    if (!text.empty()) text += ", ";
    text += ChunkName(tier.chunk);
    if (tier.until_us) text += ":" + FormatDuration(*tier.until_us);
  }
  return text;
}

std::optional<Chunk> ChunkOf(const PartitionField& field) {
  switch (field.transform.kind) {
    case TransformKind::kHour: return Chunk::kHour;
    case TransformKind::kDay: return Chunk::kDay;
    case TransformKind::kMonth: return Chunk::kMonth;
    case TransformKind::kYear: return Chunk::kYear;
    default: return std::nullopt;
  }
}

const PartitionField* TimeField(const PartitionSpec& spec, int time_id) {
  for (const PartitionField& field : spec.fields) {
    if (field.source_id == time_id && ChunkOf(field)) return &field;
  }
  return nullptr;
}

const PartitionSpec* SpecOfChunk(const TableMetadata& metadata, int time_id, Chunk chunk) {
  const PartitionSpec* base = iceberg::DefaultSpec(metadata);
  const PartitionField* time = base == nullptr ? nullptr : TimeField(*base, time_id);
  if (time == nullptr) return nullptr;
  if (ChunkOf(*time) == chunk) return base;
  const ptrdiff_t place = time - base->fields.data();
  for (const PartitionSpec& spec : metadata.partition_specs) {
    if (spec.fields.size() != base->fields.size()) continue;
    const PartitionField& there = spec.fields[place];
    if (there.source_id != time_id || ChunkOf(there) != chunk) continue;
    PartitionSpec as_base = spec;
    as_base.fields[place] = *time;
    if (SameSpecFields(as_base, *base)) return &spec;
  }
  return nullptr;
}

Status AddTierSpecs(const std::vector<ChunkTier>& tiers, TableMetadata* metadata) {
  TL_ASSIGN_OR_RAISE(const Contract contract, ReadContract(*metadata));
  if (!contract.time_id) {
    return InvalidArgument("setting chunk-tiers requires a time column, and the table has none");
  }
  const PartitionSpec base = *iceberg::DefaultSpec(*metadata);
  const PartitionField* time_field = TimeField(base, *contract.time_id);
  if (time_field == nullptr) {
    return InvalidArgument(
        "setting chunk-tiers: the table is not partitioned by its time column {} (partition spec "
        "{})",
        Quote(contract.time_name), base.spec_id);
  }
  const ptrdiff_t place = time_field - base.fields.data();
  const iceberg::Field* time =
      iceberg::FindFieldById(*iceberg::CurrentSchema(*metadata), *contract.time_id);
  std::vector<PartitionSpec> coarse;
  for (size_t i = 0; i < tiers.size(); ++i) {
    PartitionSpec spec = base;
    TL_ASSIGN_OR_RAISE(spec.fields[place], FieldFor(*time, tiers[i].chunk, metadata));
    coarse.push_back(WithoutBuckets(spec));
    const int id = AddSpec(std::move(spec), metadata);
    if (i == 0) metadata->default_spec_id = id;
  }
  for (PartitionSpec& spec : coarse) {
    if (spec.fields.size() < base.fields.size()) AddSpec(std::move(spec), metadata);
  }
  metadata->properties[kChunkInterval] = ChunkName(tiers.front().chunk);
  return Status::OK();
}

}  // namespace timelake::table
