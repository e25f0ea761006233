#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Numbers as people read them.

namespace timelake::cli {

std::string Count(int64_t number);                           // 1,234,567
std::string Counted(int64_t number, std::string_view noun);  // "1 row", "2,000 rows"
std::string Bytes(int64_t bytes);                            // 512 B, 1.5 MiB
std::string Seconds(double seconds);                         // 12 ms, 3.4 s
std::string Duration(int64_t microseconds);                  // 90d, 1h30m

}  // namespace timelake::cli
