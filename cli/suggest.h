#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace timelake::cli {

// The known word that `word` is most likely a misspelling of; empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace timelake::cli
