#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "table/handle.h"

namespace timelake::table {

// version-hint.text holds "N": where plain engines start looking. Never the truth.
struct Hint {
  bool present = false;
  std::optional<int64_t> version;  // nullopt: absent or garbage
  std::optional<std::string> identity;
};
Result<Hint> ReadHint(const Handle& handle);

// Moves the hint up to `number` by compare-and-swap (five tries); never back, except from a version
// that does not exist. Failing is no error: the next commit repairs it; the reason is logged.
void MoveHint(Handle& handle, int64_t number);

// Reads the hint first: for loads and maintenance, which do not know who wrote it last.
void RepairHint(Handle& handle, int64_t newest);

}  // namespace timelake::table
