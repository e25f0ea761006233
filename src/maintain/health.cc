#include "maintain/health.h"

#include <numeric>

#include "maintain/by_time.h"

namespace timelake::maintain {

FileHealth HealthOf(const std::vector<LiveFile>& files, const MeetFn& meet) {
  std::vector<size_t> all(files.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const ByTime by_time(files, std::move(all));
  FileHealth health;
  for (size_t i = 0; i < files.size(); ++i) {
    health.small += files[i].small ? 1 : 0;
    health.unsorted += files[i].sorted ? 0 : 1;
    const bool overlaps = by_time.Any(i, [&](size_t other) {
      return files[other].file->sequence_number != files[i].file->sequence_number &&
             meet(files[other].range, files[i].range);
    });
    health.overlapping += overlaps ? 1 : 0;
  }
  return health;
}

}  // namespace timelake::maintain
