#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace timelake::store {

// The index of a warehouse for servers that list nothing: the object `timelake-index.json` at its
// root,
//
//   {"format-version": 1,
//    "tables": [{"name": "plant.cpu", "folder": "plant/cpu", "version": 42,
//                "metadata": "plant/cpu/metadata/v42.metadata.json", "table-uuid": "..."}]}
//
// with places relative to the root. Versions that are newer than the index are found by probing, so
// that it need be written anew only when tables come and go; but the version that it names must
// still be there, or the table's version hint.
struct WebIndex {
  struct Table {
    std::string name;  // "namespace.table"
    int64_t version = 0;
    std::string table_uuid;

    std::string folder() const;  // "namespace/table"
  };
  std::vector<Table> tables;
};

inline constexpr const char* kWebIndexName = "timelake-index.json";
// Of the Rust implementation, without versions: ["plant.cpu"].
inline constexpr const char* kNamesIndexName = "timelake-tables.json";

std::string WriteWebIndex(const WebIndex& index);
std::string WriteNamesIndex(const WebIndex& index);

// Either form; names that are none of tables are an error, unknown fields are not.
Result<WebIndex> ParseWebIndex(std::string_view json);

}  // namespace timelake::store
