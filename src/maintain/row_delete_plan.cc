#include "maintain/row_delete_plan.h"

#include "maintain/by_time.h"

namespace timelake::maintain {
std::set<size_t> FilesToRewrite(const std::vector<LiveFile>& files, const std::set<size_t>& touched,
                                const ReplacedRows& replaced, const RowDeleteRules& rules,
                                const MeetFn& meet) {
  const auto sequence = [&](size_t i) { return files[i].file->sequence_number; };
  const auto meets = [&](size_t a, size_t b) { return meet(files[a].range, files[b].range); };
  std::set<size_t> chosen = touched;
  const ByTime going(files, {touched.begin(), touched.end()});
  for (const auto& [i, rows] : replaced) {
    if (rows.empty()) continue;
    const bool hides = going.Any(i, [&](size_t one) {
      return (rules.by_ingest || sequence(i) <= sequence(one)) && meets(i, one);
    });
    if (hides) chosen.insert(i);
  }
  // One file brings the next of its write, and so on.
  for (size_t before = 0; before != chosen.size();) {
    before = chosen.size();
    const ByTime now(files, {chosen.begin(), chosen.end()});
    for (const auto& [i, rows] : replaced) {
      if (rows.empty() || chosen.contains(i)) continue;
      const bool beside =
          now.Any(i, [&](size_t one) { return sequence(i) == sequence(one) && meets(i, one); });
      if (beside) chosen.insert(i);
    }
  }
  return chosen;
}

std::vector<size_t> FilesToWatch(const std::vector<LiveFile>& files, const std::set<size_t>& chosen,
                                 const MeetFn& meet) {
  const ByTime going(files, {chosen.begin(), chosen.end()});
  std::vector<size_t> watched;
  for (size_t i = 0; i < files.size(); ++i) {
    if (chosen.contains(i)) continue;
    const bool meets =
        going.Any(i, [&](size_t one) { return meet(files[i].range, files[one].range); });
    if (meets) watched.push_back(i);
  }
  return watched;
}

}  // namespace timelake::maintain
