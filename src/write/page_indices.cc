#include "write/page_indices.h"

#include <algorithm>
#include <bit>

#include "write/hybrid_runs.h"

namespace timelake::write {
namespace {

constexpr int kPagesBetweenTrials = 16;
constexpr size_t kTrialIndices = 4096;  // of the page
// Of fewer there is little to gain, and three compressions cost more than one.
constexpr size_t kFewIndices = 1024;

// Whether most values are as the one before: runs, whose values take whole bytes anyway.
bool InRuns(const uint32_t* indices, size_t count) {
  size_t changes = 0;
  for (size_t i = 1; i < count; ++i) changes += indices[i] != indices[i - 1];
  return 4 * changes < count;
}

}  // namespace

Status PageIndices::Append(const uint32_t* indices, size_t count, uint32_t most, ChunkPages* pages,
                           PageBytes* page) {
  const int width = std::bit_width(most);
  const bool may_gain = pages->entropy_coded() && width > 4 && width % 8 != 0 &&
                        count >= kFewIndices && !InRuns(indices, count);
  if (!may_gain) {
    AppendIndices(indices, count, most, page);
    return Status::OK();
  }
  if (pages_until_trial_-- == 0) {
    pages_until_trial_ = kPagesBetweenTrials - 1;
    bits_.Clear();
    bytes_.Clear();
    const size_t sample = std::min(count, kTrialIndices);
    AppendIndices(indices, sample, most, &bits_);
    AppendWideIndices(indices, sample, most, &bytes_);
    TL_ASSIGN_OR_RAISE(const int64_t bits, pages->CompressedSize(bits_));
    TL_ASSIGN_OR_RAISE(const int64_t bytes, pages->CompressedSize(bytes_));
    wide_ = bytes < bits - bits / 32;  // bits are read a little faster
  }
  wide_ ? AppendWideIndices(indices, count, most, page) : AppendIndices(indices, count, most, page);
  return Status::OK();
}

}  // namespace timelake::write
