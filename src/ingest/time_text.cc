#include "ingest/time_text.h"

#include "base/text.h"

namespace timelake::ingest {

bool HasZone(std::string_view text) {
  if (text.empty()) return false;
  if (text.back() == 'Z' || text.back() == 'z') return true;
  const size_t time = text.find_first_of("T t");
  return time != std::string_view::npos && text.find_first_of("+-", time) != std::string_view::npos;
}

Status ZoneTracker::Check(const arrow::StringArray& texts, const write::Place& place) {
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) continue;
    const Kind kind = HasZone(texts.GetView(i)) ? Kind::kZoned : Kind::kNaive;
    if (kind_ == Kind::kNone) kind_ = kind;
    if (kind == kind_) continue;
    return InvalidArgument(
        "{}: {} has {} zone, the times before it have {}; write all of them with a zone",
        place.At(i), Quote(texts.GetView(i)), kind == Kind::kZoned ? "a" : "no",
        kind == Kind::kZoned ? "none" : "one");
  }
  return Status::OK();
}

bool ZoneTracker::FirstNaive() {
  if (kind_ != Kind::kNaive || told_) return false;
  told_ = true;
  return true;
}

}  // namespace timelake::ingest
