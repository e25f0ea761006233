#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/avro/binary.h"
#include "iceberg/avro/schema.h"
#include "iceberg/manifest.h"

// The partition struct (field 102) of manifests: the one part whose Avro schema depends on the
// table.

namespace timelake::iceberg {

// Types of the partition values of `header.spec`: the transforms' results. Where the source column
// is gone or the transform unknown, the type of the values themselves (string if all are UTF-8,
// else binary; int when all are null).
std::vector<Type> PartitionTypes(const ManifestHeader& header,
                                 const std::vector<ManifestEntry>& entries);

// A name as Avro allows it: other characters become _x<hex>, a leading digit gets an underscore.
// Must not change: readers that go by name look for the result.
std::string AvroName(std::string_view name);

// Avro schema (JSON) of the record r102.
Result<std::string> PartitionSchemaJson(const PartitionSpec& spec, const std::vector<Type>& types);

// Encodes one partition tuple. InvalidArgument naming the field when a value is not of its type.
Status EncodePartition(const PartitionSpec& spec, const std::vector<Type>& types,
                       const std::vector<Value>& partition, avro::Encoder* out);

// Reads partition tuples by the writer's schema.
class PartitionReader {
 public:
  // `record` (null: no partition struct in the file) and `header` must outlive the reader. Fields
  // are matched by id, those without ids by name; fields of the spec that are absent read as null.
  static PartitionReader Make(const avro::Node* record, const ManifestHeader& header);

  void Read(avro::Decoder& in, const avro::Node& node, std::vector<Value>* partition) const;

 private:
  struct Step {
    const avro::RecordField* field = nullptr;
    int index = -1;  // in the spec; -1: skipped
    bool typed = false;
    Type type;
  };

  const avro::Node* record_ = nullptr;
  size_t size_ = 0;
  std::vector<Step> steps_;
};

}  // namespace timelake::iceberg
