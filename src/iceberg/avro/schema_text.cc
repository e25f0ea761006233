#include "iceberg/avro/schema_text.h"

#include <fmt/format.h>

namespace timelake::iceberg::avro {

std::string RequiredField(int id, std::string_view name, std::string_view type) {
  return fmt::format(R"({{"name":"{}","type":{},"field-id":{}}})", name, type, id);
}

std::string OptionalField(int id, std::string_view name, std::string_view type) {
  return fmt::format(R"({{"name":"{}","type":["null",{}],"default":null,"field-id":{}}})", name,
                     type, id);
}

std::string RecordType(std::string_view name, std::initializer_list<std::string> fields) {
  std::string list;
  for (const std::string& field : fields) {
    if (!list.empty()) list += ',';
    list += field;
  }
  return fmt::format(R"({{"type":"record","name":"{}","fields":[{}]}})", name, list);
}

std::string ListType(int element_id, std::string_view element) {
  return fmt::format(R"({{"type":"array","items":{},"element-id":{}}})", element, element_id);
}

std::string PairsType(int key_id, int value_id, std::string_view value) {
  const std::string pair = RecordType(
      fmt::format("k{}_v{}", key_id, value_id),
      {RequiredField(key_id, "key", R"("int")"), RequiredField(value_id, "value", value)});
  return fmt::format(R"({{"type":"array","items":{},"logicalType":"map"}})", pair);
}

}  // namespace timelake::iceberg::avro
