#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/avro/binary.h"
#include "iceberg/avro/schema.h"

// Reads records by the schema of their writer into a struct: which field goes where is decided once
// per file, fields that nothing is bound to are skipped.

namespace timelake::iceberg::avro {

// A field that a reader knows. Matched by field id; by name where the file's field has no id.
template <typename Target>
struct Binding {
  int id;
  std::string_view name;
  std::string_view other_name;  // of other writers; may be empty
  bool required;
  void (*read)(Decoder& in, const Node& node, Target& target);
};

// The record of a field's type: itself, or the only record of a union with null; else null.
inline const Node* RecordOf(const Node& node) {
  if (node.kind == Kind::kRecord) return &node;
  if (node.kind != Kind::kUnion) return nullptr;
  for (const NodePtr& branch : node.children) {
    if (branch->kind == Kind::kRecord) return branch.get();
  }
  return nullptr;
}

inline const RecordField* FindRecordField(const Node& record, int id, std::string_view name) {
  for (const RecordField& field : record.fields) {
    if (field.id == kNoId ? field.name == name : field.id == id) return &field;
  }
  return nullptr;
}

template <typename Target>
class RecordReader {
 public:
  // kCorrupt naming a required field that the record lacks. `record` must outlive the reader.
  static Result<RecordReader> Make(const Node& record, std::span<const Binding<Target>> bindings) {
    RecordReader reader;
    std::vector<bool> found(bindings.size());
    for (const RecordField& field : record.fields) {
      Step step{.node = field.type.get(), .name = field.name, .read = nullptr};
      for (size_t i = 0; i < bindings.size(); ++i) {
        if (found[i] || !Matches(field, bindings[i])) continue;
        found[i] = true;
        step.read = bindings[i].read;
        break;
      }
      // Skipping nothing takes time but no bytes.
      if (step.read != nullptr || field.type->fixed_size != 0) reader.steps_.push_back(step);
    }
    for (size_t i = 0; i < bindings.size(); ++i) {
      if (bindings[i].required && !found[i]) {
        return Corrupt("Avro schema of record {} has no field {} (id {})", record.name,
                       bindings[i].name, bindings[i].id);
      }
    }
    return reader;
  }

  // Failures are left in `in`.
  void Read(Decoder& in, Target& target) const {
    for (const Step& step : steps_) {
      if (step.read != nullptr) {
        step.read(in, *step.node, target);
      } else {
        in.Skip(*step.node);
      }
      if (!in.ok()) return in.InField(step.name);
    }
  }

 private:
  struct Step {
    const Node* node;
    std::string_view name;
    void (*read)(Decoder&, const Node&, Target&);
  };

  static bool Matches(const RecordField& field, const Binding<Target>& binding) {
    if (field.id != kNoId) return field.id == binding.id;
    return field.name == binding.name ||
           (!binding.other_name.empty() && field.name == binding.other_name);
  }

  std::vector<Step> steps_;
};

}  // namespace timelake::iceberg::avro
