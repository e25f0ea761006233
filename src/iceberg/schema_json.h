#pragma once

#include <vector>

#include "base/error.h"
#include "iceberg/json_tree.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"

// JSON of schemas, partition specs and sort orders (specification, Appendix C), for the metadata
// file and the headers of manifests.

namespace timelake::iceberg {

// A missing "schema-id" is 0 (format version 1). Checks ValidateSchema; kUnsupported for types of
// later format versions.
Status ReadSchema(const JsonAt& at, Schema* schema);
void WriteSchema(const Schema& schema, JsonWriter* writer);

// Without ids (format version 1 did not record them) fields are numbered from 1000, if allowed.
Status ReadSpecFields(const JsonAt& at, bool may_lack_ids, std::vector<PartitionField>* fields);
void WriteSpecFields(const PartitionSpec& spec, JsonWriter* writer);

Status ReadSpec(const JsonAt& at, bool may_lack_ids, PartitionSpec* spec);
void WriteSpec(const PartitionSpec& spec, JsonWriter* writer);

Status ReadSortOrder(const JsonAt& at, SortOrder* order);
void WriteSortOrder(const SortOrder& order, JsonWriter* writer);

}  // namespace timelake::iceberg
