#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "status.h"

namespace timelake::cli {

// Members keep their order. Snapshot ids are strings: they need all 64 bits, which many JSON
// readers do not keep.
using Json = nlohmann::ordered_json;

Status PrintJson(const Json& json);

// One report, for programs or for people.
Status PrintReport(bool as_json, const Json& json, std::string_view text);

}  // namespace timelake::cli
