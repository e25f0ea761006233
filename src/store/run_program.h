#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace timelake::store {

// What a program writes to its standard output, at most 1 MiB. It is started without a shell, with
// nothing to read, and with the variables of `more` beside those of this process; its standard
// error goes where ours goes. kIo if it cannot be started, fails, or takes longer than
// `timeout_ms`: then it is killed. Messages name it `what`, and hold nothing that it wrote.
Result<std::string> RunProgram(const std::vector<std::string>& arguments,
                               const std::vector<std::pair<std::string, std::string>>& more,
                               int64_t timeout_ms, std::string_view what);

}  // namespace timelake::store
