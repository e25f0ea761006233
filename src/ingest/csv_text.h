#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace timelake::ingest {

// Records of a delimited text as RFC 4180 has them: fields in double quotes may hold delimiters,
// line breaks and doubled quotes. DuckDB reads the data; this small scanner reads the header
// and finds the line of a record for error messages.

// Fields of the first record, without a byte order mark. kInvalidArgument names the file: empty, an
// unnamed or repeated column, not UTF-8.
Result<std::vector<std::string>> ReadHeader(const std::string& path, bool gzip, char delimiter);

// Line (from 1) on which data record `record` (from 1, after the header; empty lines are no
// records) begins. 0 when the file cannot be read again or has no such record.
int64_t LineOfRecord(const std::string& path, bool gzip, int64_t record);

}  // namespace timelake::ingest
