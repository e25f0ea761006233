#pragma once

namespace timelake::sql {

// The catalog as which a session attaches its lake: `lake.<namespace>.<table>`.
inline constexpr char kLakeCatalog[] = "lake";

}  // namespace timelake::sql
