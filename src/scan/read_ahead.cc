#include "scan/read_ahead.h"

#include <algorithm>
#include <map>
#include <vector>

namespace timelake::scan {

void ReadAhead::Fill(std::deque<Morsel>* queue) {
  if (ahead_ > window_ / 2) return;  // some more together later
  std::map<const FileWork*, std::vector<arrow::io::ReadRange>> wanted;
  while (fetched_ < queue->size() && ahead_ < window_) {
    Morsel& morsel = (*queue)[fetched_++];
    if (!morsel.file->reader->is_remote()) continue;
    // Who reads the morsel gets the error; nothing is lost by not reading ahead.
    auto ranges = RangesOf(morsel);
    if (!ranges.ok()) continue;
    auto& all = wanted[morsel.file.get()];
    for (const auto& range : *ranges) morsel.bytes_ahead += range.length;
    all.insert(all.end(), ranges->begin(), ranges->end());
    ahead_ += morsel.bytes_ahead;
  }
  for (const auto& [file, ranges] : wanted) file->reader->WillNeed(ranges);
}

void ReadAhead::Took(const Morsel& morsel) {
  if (fetched_ == 0) return;
  --fetched_;
  ahead_ -= morsel.bytes_ahead;
  window_ = std::min(kMost, window_ + morsel.bytes_ahead);
}

}  // namespace timelake::scan
