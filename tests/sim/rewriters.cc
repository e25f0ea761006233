#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/uuid.h"
#include "maintain/compaction_commit.h"
#include "maintain/compaction_plan.h"
#include "maintain/retention.h"
#include "maintain/row_delete_commit.h"
#include "maintain/row_delete_plan.h"
#include "scan/write_order.h"
#include "sim/data_files.h"
#include "sim/processes.h"
#include "sim/world.h"
#include "table/manifests.h"

namespace timelake::sim {
namespace {

using maintain::LiveFile;
using maintain::LiveFiles;
using maintain::PendingGroup;

// A version as a rewriter sees it.
struct Seen {
  table::Version version;
  write::Target target;
  std::unique_ptr<LiveFiles> live;
};

// A call that slept may find that others have freed what it was about to read.
class Turn {
 public:
  explicit Turn(Process& process) : process_(process), began_(process.scene().scheduler.now_us()) {}

  bool Holds(const char* what, const Status& status) const {
    const bool slept = process_.scene().scheduler.now_us() - began_ >= kAgeUs / 2;
    const bool gone = KindOf(status) == ErrorKind::kNotFound && slept;
    if (!gone) Judge(process_, what, status);
    return status.ok();
  }

  Result<Seen> Look() const {
    Seen seen;
    TL_ASSIGN_OR_RAISE(seen.version, Load(process_));
    TL_ASSIGN_OR_RAISE(seen.target, TargetOf(*seen.version.metadata));
    TL_ASSIGN_OR_RAISE(seen.live,
                       LiveFiles::Read(process_.env(), seen.version.metadata, seen.target));
    return seen;
  }

  std::string KeyOf(const scan::ScanFile& file) const {
    return store::KeyOf(*process_.env().store, file.data->file_path).ValueOrDie();
  }
  const std::vector<Row>& RowsOf(const scan::ScanFile& file) const {
    return process_.world().RowsOf(KeyOf(file));
  }

  // Stores what is left of a group's rows, if there is any, and adds the move to the change.
  Status Store(const std::vector<Row>& rows, const iceberg::Schema& schema, PendingGroup* group,
               Oracle::Change* change) const {
    Oracle::Change::Move move;
    for (const scan::ScanFile& input : group->inputs) move.inputs.push_back(KeyOf(input));
    if (!rows.empty()) {
      const table::Env& env = process_.env();
      const DataFiles& data = FilesOf(rows, schema);
      const DataFiles::File& made = data.files.at(0);
      const std::string name =
          made.file.file_path + FormatUuid(NewUuidV4(*env.random)) + ".parquet";
      move.output = std::string(kFolder) + "/data/" + name;
      write::StoredFile stored;
      stored.key = move.output;
      stored.file = made.file;
      stored.file.file_path = store::UriOf(*env.store, move.output);
      process_.world().AddFile(move.output, made.rows);
      group->merged.files.push_back(std::move(stored));
      group->merged.newest = data.newest;
      TL_RETURN_NOT_OK(
          table::Retried(env, [&] { return env.store->Put(move.output, made.bytes); }).status());
    }
    change->moves.push_back(std::move(move));
    return Status::OK();
  }

  std::string Begin(const char* what) const {
    const std::string call = process_.world().Begin('C', "", process_.handle().table_uuid());
    process_.Note(fmt::format("{} {}", what, call));
    return call;
  }

  // `committed`: whether the change is in the table.
  void End(const char* what, const std::string& call, const Result<bool>& committed) const {
    Outcome outcome = committed.ok() && *committed ? Outcome::kOk : Outcome::kFailed;
    if (KindOf(committed.status()) == ErrorKind::kCommitUnknown) outcome = Outcome::kUnknown;
    process_.Note(fmt::format("{} {} is {}", what, call, OutcomeName(outcome)));
    process_.world().Count(fmt::format("{}: {}", what, OutcomeName(outcome)));
    process_.world().End(call, outcome);
    Holds(what, committed.status());
  }

  Process& process() const { return process_; }

 private:
  Process& process_;
  const int64_t began_;
};

bool HasTwoOfOneKey(const std::vector<Row>& rows) {
  std::set<std::pair<int64_t, int64_t>> keys;
  for (const Row& row : rows) keys.insert({row.series, row.time});
  return keys.size() < rows.size();
}

// The rows of files in the order of writes; with dedup the last of each series and time.
std::vector<Row> Merged(const Turn& turn, const std::vector<scan::ScanFile>& files, bool dedup) {
  std::vector<Row> rows;
  for (const scan::ScanFile& file : files) {
    for (const Row& row : turn.RowsOf(file)) {
      if (dedup) {
        std::erase_if(rows, [&](const Row& known) {
          return known.series == row.series && known.time == row.time;
        });
      }
      rows.push_back(row);
    }
  }
  return rows;
}

void Compact(const Turn& turn, Seen seen) {
  Process& process = turn.process();
  const bool dedup = seen.target.contract.dedup;
  maintain::CompactionRules rules;
  rules.dedup = dedup;
  rules.has_order = true;
  rules.target_bytes = seen.target.settings.target_file_size_bytes;
  rules.full = process.Maybe(0.3);
  const auto plan = PlanCompaction(seen.live->files(), rules, seen.live->meet());
  if (plan.groups.empty()) return;
  const auto& chosen = plan.groups[process.Below(plan.groups.size())];
  PendingGroup group;
  for (const size_t i : chosen.files) group.inputs.push_back(*seen.live->files()[i].file);
  group.home = chosen.home;
  group.max_sequence = chosen.max_sequence;
  group.started_boot_us = process.env().clock->BootMicros();
  const std::vector<Row> rows = Merged(turn, group.inputs, dedup);
  if (HasTwoOfOneKey(rows)) return;  // FilesOf would drop one
  Oracle::Change change;
  const Status stored = turn.Store(rows, seen.target.schema, &group, &change);
  if (!turn.Holds("compact", stored)) return;
  const std::string call = turn.Begin("compact");
  process.world().SetChange(call, change);
  maintain::CompactionCommit commit(process.handle(), seen.target, CommitOptionsOf(process),
                                    std::nullopt);
  commit.set_summary({{kCallKey, call}});
  commit.set_checks(process.scene().config.rewrite_checks);
  commit.Add(std::move(group));
  const auto outcome = commit.Run();
  turn.End("compact", call,
           outcome.ok() ? Result<bool>(outcome->committed) : Result<bool>(outcome.status()));
}

// What a delete takes of each file.
struct Chosen {
  std::set<Row> gone;
  std::set<size_t> touched;
  maintain::ReplacedRows replaced;
};

Chosen Choose(const Turn& turn, const Seen& seen) {
  Process& process = turn.process();
  std::vector<size_t> order(seen.live->files().size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return scan::IsOlder(*seen.live->files()[a].file, *seen.live->files()[b].file);
  });
  struct Place {
    size_t file = 0;
    int64_t position = 0;
    Row row;
  };
  std::vector<Place> places;
  for (const size_t i : order) {
    int64_t position = 0;
    for (const Row& row : turn.RowsOf(*seen.live->files()[i].file)) {
      places.push_back({i, position++, row});
    }
  }
  std::map<std::pair<int64_t, int64_t>, size_t> last;
  for (size_t i = 0; i < places.size(); ++i) {
    last[{places[i].row.series, places[i].row.time}] = i;
  }
  const auto series = static_cast<int64_t>(process.Below(3));
  const auto time = static_cast<int64_t>(process.Below(5));  // 4: all times
  Chosen chosen;
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (seen.target.contract.dedup && last[{place.row.series, place.row.time}] != i) {
      chosen.replaced[place.file].push_back(place.position);
      continue;
    }
    if (place.row.series != series || (time != 4 && place.row.time != time)) continue;
    chosen.gone.insert(place.row);
    chosen.touched.insert(place.file);
  }
  return chosen;
}

void Delete(const Turn& turn, Seen seen) {
  Process& process = turn.process();
  const Chosen chosen = Choose(turn, seen);
  if (chosen.touched.empty()) return;
  const auto& files = seen.live->files();
  std::set<size_t> going = chosen.touched;
  maintain::RowDeleteDraft draft;
  if (seen.target.contract.dedup) {
    going = FilesToRewrite(files, chosen.touched, chosen.replaced, {}, seen.live->meet());
    draft.watched = FilesToWatch(files, going, seen.live->meet());
  }
  draft.started_boot_us = process.env().clock->BootMicros();
  Oracle::Change change;
  change.gone = chosen.gone;
  Status stored;
  for (const size_t i : going) {
    PendingGroup group;
    group.inputs = {*files[i].file};
    group.home = {files[i].file->spec_id, files[i].file->data->partition};
    group.max_sequence = files[i].file->sequence_number;
    group.started_boot_us = draft.started_boot_us;
    std::vector<Row> rest;
    int64_t position = 0;
    const auto replaced = chosen.replaced.find(i);
    for (const Row& row : turn.RowsOf(*files[i].file)) {
      const bool old = replaced != chosen.replaced.end() &&
                       std::count(replaced->second.begin(), replaced->second.end(), position) > 0;
      ++position;
      if (!old && !chosen.gone.contains(row)) rest.push_back(row);
    }
    if (stored.ok()) stored = turn.Store(rest, seen.target.schema, &group, &change);
    draft.groups.push_back(std::move(group));
  }
  if (!turn.Holds("delete", stored)) return;
  const std::string call = turn.Begin("delete");
  process.world().SetChange(call, change);
  draft.summary = {{kCallKey, call}};
  draft.checks = process.scene().config.rewrite_checks;
  draft.live = std::move(seen.live);
  const auto done = CommitRowDelete(process.handle(), seen.target, draft, CommitOptionsOf(process));
  turn.End("delete", call,
           done.ok() ? Result<bool>(done->has_value()) : Result<bool>(done.status()));
  const bool in_table =
      done.ok() ? done->has_value() : KindOf(done.status()) == ErrorKind::kCommitUnknown;
  if (!in_table) DeleteOutputs(process.handle(), draft.groups);
}

}  // namespace

void RewriterTurn(Process& process) {
  const Turn turn(process);
  auto seen = turn.Look();
  if (!turn.Holds("look", seen.status())) return;
  if (process.Maybe(process.scene().config.merge_share)) {
    Compact(turn, *std::move(seen));
  } else {
    Delete(turn, *std::move(seen));
  }
}

void RetainerTurn(Process& process) {
  const Turn turn(process);
  const auto loaded = Load(process);
  if (!loaded.ok()) return;
  const auto target = TargetOf(*loaded->metadata);
  if (!turn.Holds("retention", target.status())) return;
  const std::string call = turn.Begin("retention");
  Oracle::Change change;
  change.past.emplace();
  process.world().SetChange(call, change);
  maintain::RetentionReport report;
  maintain::RetentionOptions options;
  options.commit = CommitOptionsOf(process);
  options.summary = {{kCallKey, call}};
  options.checks = process.scene().config.rewrite_checks;
  const Status done = maintain::RunRetention(process.handle(), *target, options, &report);
  turn.End("retention", call, done.ok() ? Result<bool>(report.files > 0) : Result<bool>(done));
}

}  // namespace timelake::sim
