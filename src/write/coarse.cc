#include "write/coarse.h"

#include <utility>

namespace timelake::write {
namespace {

// An append into one chunk of a table with as many buckets as we advise keeps them.
constexpr size_t kFewFiles = 256;
// Smaller files cost readers more in opening than buckets spare them.
constexpr double kTinyBytes = 1 << 20;
// Share of their size in memory that rows take in a file, about.
constexpr double kAssumedRatio = 0.25;

}  // namespace

Result<std::optional<Coarse>> WithoutBuckets(const Target& target, const WriteOptions& options,
                                             const Rows& rows, const Arrangement& fine) {
  const size_t files = fine.partitions.size();
  if (!options.coarse_spec || files <= kFewFiles) return std::nullopt;
  const double bytes = static_cast<double>(rows.count) * rows.row_bytes * kAssumedRatio;
  if (bytes / static_cast<double>(files) >= kTinyBytes) return std::nullopt;
  auto without = std::make_unique<Target>(target);
  without->spec = *options.coarse_spec;
  Coarse coarse;
  TL_ASSIGN_OR_RAISE(coarse.arrangement, ArrangeRows(*without, rows));
  if (2 * coarse.arrangement.partitions.size() > files) return std::nullopt;
  coarse.target = std::move(without);
  return coarse;
}

}  // namespace timelake::write
