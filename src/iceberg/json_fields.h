#pragma once

#include <map>
#include <string>

namespace timelake::iceberg {

// JSON members that this version does not know, by name, each as its exact JSON text. Kept on every
// object of the metadata file and written back, so that a commit of ours never strips another
// engine's additions.
using UnknownFields = std::map<std::string, std::string>;

}  // namespace timelake::iceberg
