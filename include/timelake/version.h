#pragma once

namespace timelake {

inline constexpr char kVersion[] = "0.1.0";

// Highest `timelake.format-version` that this library reads and writes.
inline constexpr char kTableFormatVersion[] = "0.3.0";

}  // namespace timelake
