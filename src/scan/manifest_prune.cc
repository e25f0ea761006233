#include "scan/prune.h"

namespace timelake::scan {
namespace {

// What a manifest list says of one partition field (specification, "Manifest Lists", 507-511).
ColumnFacts FactsOf(const iceberg::FieldSummary& summary, const iceberg::Type& type) {
  ColumnFacts facts;
  facts.SetBounds(type, summary.lower_bound ? &*summary.lower_bound : nullptr,
                  summary.upper_bound ? &*summary.upper_bound : nullptr);
  facts.may_be_null = summary.contains_null;
  if (summary.contains_nan) facts.may_be_nan = *summary.contains_nan;
  // Without bounds there may be no value, or a writer that gives no bounds.
  return facts;
}

}  // namespace

bool CanSkipManifest(const iceberg::ManifestFile& manifest, const iceberg::PartitionSpec& spec,
                     const iceberg::Schema& schema, const Predicate& predicate) {
  if (manifest.partitions.size() != spec.fields.size()) return false;
  for (const ColumnTest& test : predicate.all_of) {
    const iceberg::Field* field = iceberg::FindFieldById(schema, test.field_id);
    if (!field || !field->type.is_primitive()) continue;
    for (size_t i = 0; i < spec.fields.size(); ++i) {
      const iceberg::PartitionField& part = spec.fields[i];
      if (part.source_id != field->id) continue;
      const iceberg::Type type = iceberg::ResultType(part.transform, field->type);
      if (PartitionExcludes(test, field->type, part.transform,
                            FactsOf(manifest.partitions[i], type))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace timelake::scan
