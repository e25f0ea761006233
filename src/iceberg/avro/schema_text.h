#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

// Builds the JSON text of Avro schemas in the form in which Iceberg writes them (Iceberg
// specification, Appendix A, "Avro"). Names and types are inserted as they are.

namespace timelake::iceberg::avro {

// `type` is JSON: "\"int\"" or an object.
std::string RequiredField(int id, std::string_view name, std::string_view type);
// A union with null that is null by default.
std::string OptionalField(int id, std::string_view name, std::string_view type);
std::string RecordType(std::string_view name, std::initializer_list<std::string> fields);
std::string ListType(int element_id, std::string_view element);
// A map with int keys: an array of records k<key id>_v<value id>.
std::string PairsType(int key_id, int value_id, std::string_view value);

}  // namespace timelake::iceberg::avro
