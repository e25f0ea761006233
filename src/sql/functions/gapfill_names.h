#pragma once

#include <string>

#include "base/error.h"

namespace timelake::sql {

// What users write; the plan never runs these, see gapfill_plan.cc.
inline constexpr char kGapfill[] = "time_bucket_gapfill";
inline constexpr char kLocf[] = "locf";
inline constexpr char kInterpolate[] = "interpolate";

// What the rewritten plan calls. Catalog names, since DuckDB copies plans by name.
inline constexpr char kGapBands[] = "timelake_gap_bands";
inline constexpr char kGapBuckets[] = "timelake_gap_buckets";
inline constexpr char kInterpolateAt[] = "timelake_interpolate_at";

// Where the first three may stand.
Status GapfillPlaceError();
Status FillPlaceError(const std::string& function);

}  // namespace timelake::sql
