#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/schema.h"

namespace timelake::table {

// Settings that name columns, against the table's schema: the columns of `bloom-columns` exist, at
// the top, and are of a type that can have a Bloom filter (not boolean, not nested). A text that
// does not parse is passed over, as CheckTogether does. kInvalidArgument names setting, column and
// what is accepted.
Status CheckColumnSettings(const iceberg::Schema& schema,
                           const std::map<std::string, std::string>& properties);

// The same for one list of names.
Status CheckBloomColumns(const iceberg::Schema& schema, const std::vector<std::string>& names);

}  // namespace timelake::table
