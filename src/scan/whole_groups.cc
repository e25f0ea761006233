#include "scan/whole_groups.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "scan/prune.h"

namespace timelake::scan {
namespace {

// Whether an order puts rows of one series together, and those by time.
bool IsBySeriesAndTime(const iceberg::SortOrder& order, const table::Contract& contract) {
  const size_t keys = contract.key_ids.size();
  if (order.fields.size() <= keys || order.fields[keys].source_id != *contract.time_id) {
    return false;
  }
  std::set<int> sorted;
  for (size_t i = 0; i <= keys; ++i) {
    if (order.fields[i].transform.kind != iceberg::TransformKind::kIdentity) return false;
    if (i < keys) sorted.insert(order.fields[i].source_id);
  }
  return sorted == std::set<int>(contract.key_ids.begin(), contract.key_ids.end());
}

// Sums of what is below 2^32 in so many rows are below 2^62.
constexpr int64_t kMostRows = int64_t{1} << 30;

struct Span {
  int64_t first = 0, last = 0;  // buckets
  size_t file = 0;
};

// The buckets that a file may have rows of; nullopt if that is not known.
std::optional<Span> SpanOf(const FileList& files, size_t file, const iceberg::Field& time,
                           const BucketStart& bucket) {
  const ColumnFacts facts = FactsOf(*files[file], time);
  if (facts.may_be_null || !facts.lower || !facts.upper) return std::nullopt;
  const int64_t* first = std::get_if<int64_t>(&*facts.lower);
  const int64_t* last = std::get_if<int64_t>(&*facts.upper);
  if (!first || !last) return std::nullopt;
  const auto first_bucket = bucket(*first), last_bucket = bucket(*last);
  if (!first_bucket || !last_bucket) return std::nullopt;
  return Span{*first_bucket, *last_bucket, file};
}

}  // namespace

std::vector<bool> HaveWholeGroups(const iceberg::TableMetadata& metadata,
                                  const table::Contract& contract, const FileList& files,
                                  const BucketStart& bucket) {
  std::vector<bool> whole(files.size(), false);
  const iceberg::Field* time =
      iceberg::FindFieldById(*iceberg::CurrentSchema(metadata), *contract.time_id);
  if (!time) return whole;
  std::set<int> orders;
  for (const iceberg::SortOrder& order : metadata.sort_orders) {
    if (IsBySeriesAndTime(order, contract)) orders.insert(order.order_id);
  }
  std::vector<Span> spans;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto span = SpanOf(files, i, *time, bucket);
    if (!span) return whole;  // it may have rows of any group
    spans.push_back(*span);
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.first < b.first; });
  int64_t reached = 0;  // by those that begin before
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const bool apart = i == 0 || span.first > reached;
    reached = i == 0 ? span.last : std::max(reached, span.last);
    if (!apart || (i + 1 < spans.size() && spans[i + 1].first <= span.last)) continue;
    const iceberg::DataFile& file = *files[span.file];
    whole[span.file] = orders.contains(file.sort_order_id.value_or(0)) &&
                       file.record_count < kMostRows && ToLowerAscii(file.file_format) == "parquet";
  }
  return whole;
}

}  // namespace timelake::scan
