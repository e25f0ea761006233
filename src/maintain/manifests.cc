#include "maintain/manifests.h"

#include <optional>
#include <utility>
#include <vector>

#include "index/carry_over.h"
#include "maintain/manifests_plan.h"
#include "scan/facts.h"
#include "table/contract.h"
#include "table/load.h"
#include "table/settings.h"

namespace timelake::maintain {
namespace {

using iceberg::TransformKind;

// The partition field that divides time.
std::optional<size_t> TimeField(const iceberg::PartitionSpec& spec, int time_id) {
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    switch (spec.fields[i].transform.kind) {
      case TransformKind::kHour:
      case TransformKind::kDay:
      case TransformKind::kMonth:
      case TransformKind::kYear:
        if (spec.fields[i].source_id == time_id) return i;
        break;
      default: break;
    }
  }
  return std::nullopt;
}

// nullopt: the list does not say.
std::optional<ManifestSpan> SpanOf(const iceberg::ManifestFile& row, size_t field,
                                   const iceberg::Type& type) {
  if (field >= row.partitions.size() || row.partitions[field].contains_null) return std::nullopt;
  const iceberg::FieldSummary& summary = row.partitions[field];
  scan::ColumnFacts facts;
  facts.SetBounds(type, summary.lower_bound ? &*summary.lower_bound : nullptr,
                  summary.upper_bound ? &*summary.upper_bound : nullptr);
  if (!facts.lower || !facts.upper) return std::nullopt;
  const auto* first = std::get_if<int32_t>(&*facts.lower);
  const auto* last = std::get_if<int32_t>(&*facts.upper);
  if (first == nullptr || last == nullptr) return std::nullopt;
  return ManifestSpan{*first, *last, row.manifest_length};
}

Result<table::ManifestRewrite> PlanOf(const table::Handle& handle, const table::Version& base,
                                      const table::ManifestRows& rows) {
  const iceberg::TableMetadata& metadata = *base.metadata;
  table::ManifestRewrite rewrite;
  TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(metadata));
  if (!contract.is_time_series()) return rewrite;
  TL_ASSIGN_OR_RAISE(const auto settings, table::ResolveSettings(metadata.properties));
  const iceberg::Field* time =
      iceberg::FindFieldById(*iceberg::CurrentSchema(metadata), *contract.time_id);
  if (time == nullptr) return rewrite;
  for (const iceberg::PartitionSpec& spec : metadata.partition_specs) {
    const auto field = TimeField(spec, *contract.time_id);
    if (!field) continue;
    const iceberg::Type type = iceberg::ResultType(spec.fields[*field].transform, time->type);
    std::vector<ManifestSpan> spans;
    std::vector<size_t> places;
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool data = rows[i].content == iceberg::ManifestContent::kData;
      if (!data || rows[i].partition_spec_id != spec.spec_id) continue;
      const auto span = SpanOf(rows[i], *field, type);
      if (!span) continue;
      spans.push_back(*span);
      places.push_back(i);
    }
    table::ManifestRewrite::Group group;
    group.field = *field;
    for (const size_t i : ManifestsToCluster(spans, settings.manifest_target_bytes)) {
      group.rows.push_back(places[i]);
    }
    if (!group.rows.empty()) rewrite.groups.push_back(std::move(group));
  }
  rewrite.index = [&handle](const table::Version& on, int64_t snapshot_id) {
    return index::CarryOver(handle, on, snapshot_id, {}, /*order_kept=*/true);
  };
  return rewrite;
}

}  // namespace

Status RunManifests(table::Handle& handle, bool dry_run, const table::CommitOptions& options,
                    table::ManifestReport* report) {
  const auto plan = [&](const table::Version& base, const table::ManifestRows& rows) {
    return PlanOf(handle, base, rows);
  };
  if (!dry_run) return table::CommitManifests(handle, plan, options, report).status();
  TL_ASSIGN_OR_RAISE(const table::Version newest, table::LoadNewest(handle));
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*newest.metadata);
  if (head == nullptr) return Status::OK();
  TL_ASSIGN_OR_RAISE(const auto rows, table::ReadRows(handle.env(), *head));
  TL_ASSIGN_OR_RAISE(const auto rewrite, plan(newest, *rows));
  for (const auto& group : rewrite.groups) {
    for (const size_t i : group.rows) {
      ++report->rewritten;
      report->bytes += (*rows)[i].manifest_length;
    }
  }
  return Status::OK();
}

}  // namespace timelake::maintain
