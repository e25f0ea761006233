#include "sql/bucket_bound.h"

#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>

namespace timelake::sql {

namespace {

// Rows that are looked at: a small part of a query that is worth it.
constexpr int64_t kMostRows = 1 << 17;

}  // namespace

Result<std::optional<int64_t>> FindBucketBound(
    scan::Scanner& scanner, scan::RowFilter* filter,
    const std::function<scan::TimeBucket(int64_t)>& bucket, const BucketLimit& limit) {
  // The last times of the buckets found by their starts; not more of them than are wanted.
  std::map<int64_t, int64_t> found;
  int64_t rows = 0;
  while (rows < kMostRows && found.size() < limit.count) {
    TL_ASSIGN_OR_RAISE(const auto reader, scanner.Next(filter));
    if (!reader) break;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      TL_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (!batch) break;
      rows += batch->num_rows();
      const auto& times = *batch->column(0);
      const auto* values = times.data()->GetValues<int64_t>(1);
      scan::TimeBucket current{0, 1, 0};
      for (int64_t i = 0; i < times.length(); ++i) {
        if (times.IsNull(i)) return std::optional<int64_t>();
        if (values[i] >= current.first && values[i] <= current.last) continue;
        current = bucket(values[i]);
        found[current.start] = current.last;
        if (found.size() > limit.count) {
          found.erase(limit.last ? found.begin() : std::prev(found.end()));
        }
      }
    }
  }
  if (found.size() < limit.count) return std::optional<int64_t>();
  return std::optional<int64_t>(limit.last ? found.begin()->first : std::prev(found.end())->second);
}

}  // namespace timelake::sql
