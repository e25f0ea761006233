#include "table/commit.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <arrow/buffer.h>
#include <fmt/format.h>

#include "iceberg/invariants.h"
#include "table/fork_check.h"
#include "table/hint.h"
#include "table/load.h"
#include "table/manifests.h"
#include "table/turn.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

constexpr int kSendsInARow = 3;  // of the same bytes before the table is looked at again
constexpr int kWaitRoundTrips = 24;
constexpr int64_t kMaxRoundTripUs = 1'000'000;  // what took longer was a machine that slept

// A metadata file sent under its name. It is open from the first send that was not answered
// "created" until its name has been read.
struct Sent {
  Version base;
  std::shared_ptr<arrow::Buffer> bytes;
  std::shared_ptr<store::StagedPut> staged;  // of the bytes, until their first send
  Attempt attempt;
  std::vector<std::string> keys;  // of attempt.objects
  int64_t first_send = kNever;
  bool unanswered = false;  // some send was not answered "created"

  int64_t number() const { return base.number + 1; }
};
using SentPtr = std::shared_ptr<Sent>;

class CommitRun {
 public:
  CommitRun(Handle& handle, const BuildFn& build, const CommitOptions& options)
      : handle_(handle), env_(handle.env()), build_(build), options_(options) {
    started_ = env_.clock->BootMicros();
  }

  Result<CommitResult> Run();
  Result<CommitResult> First(Attempt attempt, int64_t listed_boot_us);

 private:
  using Done = std::optional<CommitResult>;

  Status Load();
  Result<Done> SettleOpen();
  Result<Done> BuildAndSend(bool newest);
  Result<Done> Send(const SentPtr& sent);
  Result<Done> AfterWin(const SentPtr& sent, store::ObjectInfo info, int64_t put_boot_us);
  Result<Done> Judge(const SentPtr& sent, const store::ObjectInfo& info, int64_t put_boot_us);
  enum class NameState { kOurs, kOthers, kMissing, kUnread };
  NameState ReadName(const Sent& sent, store::ObjectInfo* info);
  // Takes the metadata out of `sent`.
  CommitResult Acknowledge(Sent* sent, store::ObjectInfo info, int64_t put_boot_us);
  CommitResult AcknowledgeBy(const Version& newest);
  Status GiveUp(const Status& why);
  Status Unknown(const std::string& why);
  Status Prepare(Sent* sent);
  void Failed(const SentPtr& sent);
  void Discard(const std::vector<std::string>& keys);
  void Wait();
  bool TakeTurn();
  bool TimeIsUp() const;
  bool Old(const Sent& sent) const;

  Handle& handle_;
  const Env& env_;
  const BuildFn& build_;
  const CommitOptions& options_;
  int64_t started_ = 0;
  int64_t round_trip_us_ = 1000;
  int attempts_ = 0;
  Version base_;
  int64_t lacking_ = 0;        // the last version on which a build missed something
  std::vector<SentPtr> open_;  // at most one under the full protocol
  std::set<int64_t> created_;  // snapshots of all attempts that were sent
  Turn turn_;
};

int64_t HalfAge(const Version& version) { return AgeOf(*version.metadata) / 2; }

bool CommitRun::TimeIsUp() const {
  return attempts_ >= options_.min_attempts &&
         env_.clock->BootMicros() - started_ >= options_.time_budget_us;
}

bool CommitRun::Old(const Sent& sent) const {
  const int64_t half = (sent.base ? AgeOf(*sent.base.metadata) : AgeOf(sent.attempt.metadata)) / 2;
  return env_.clock->BootMicros() - sent.first_send >= half;
}

// Waits that shrink with the number of attempts: growing ones starve the oldest writer.
void CommitRun::Wait() {
  const int64_t limit = kWaitRoundTrips * round_trip_us_ / std::max(1, attempts_);
  env_.clock->SleepMicros(
      static_cast<int64_t>(env_.random->Below(static_cast<uint64_t>(limit) + 1)));
}

// True: others may have committed meanwhile.
bool CommitRun::TakeTurn() {
  return turn_.Take(handle_, options_.time_budget_us, options_.cancelled);
}

Status CommitRun::Unknown(const std::string& why) {
  env_.Metric("commit.unknown");
  return CommitUnknown(
      "table {}: the outcome of the commit is unknown ({}). Nothing was deleted. Look whether "
      "version {} or a later one holds it before writing the rows again; an append with the same "
      "batch id may be repeated safely",
      handle_.name(), why, open_.empty() ? base_.number + 1 : open_.back()->number());
}

Status CommitRun::GiveUp(const Status& why) {
  if (!open_.empty() && env_.rules->unsettled_unknown) return Unknown(why.message());
  return why;
}

void CommitRun::Discard(const std::vector<std::string>& keys) {
  Status status = Retried(env_, [&] { return env_.store->DeleteAll(keys); });
  if (!status.ok()) {
    env_.Log(LogLevel::kInfo, fmt::format("{}: left behind for orphan clean-up: {}", handle_.name(),
                                          status.message()));
  }
}

// The attempt is known to have failed: its own objects may go.
void CommitRun::Failed(const SentPtr& sent) {
  std::erase(open_, sent);
  Discard(sent->keys);
}

Status CommitRun::Load() {
  if (!options_.on_tombstone) {
    TL_ASSIGN_OR_RAISE(base_, LoadNewest(handle_));
    return Status::OK();
  }
  TL_ASSIGN_OR_RAISE(auto found, FindNewest(handle_, base_));
  if (!found) return NotFound("table {} does not exist", handle_.name());
  base_ = std::move(*found);
  return Status::OK();
}

CommitRun::NameState CommitRun::ReadName(const Sent& sent, store::ObjectInfo* info) {
  auto back = Retried(env_, [&] { return env_.store->Get(handle_.VersionKey(sent.number())); });
  if (!back.ok()) return NameState::kUnread;
  if (!back->found) return NameState::kMissing;
  *info = back->info;
  return back->bytes->Equals(*sent.bytes) ? NameState::kOurs : NameState::kOthers;
}

CommitResult CommitRun::Acknowledge(Sent* sent, store::ObjectInfo info, int64_t put_boot_us) {
  CommitResult result;
  result.version.number = sent->number();
  result.version.metadata =
      std::make_shared<const iceberg::TableMetadata>(std::move(sent->attempt.metadata));
  result.version.info = std::move(info);
  result.version.proved_boot_us = put_boot_us;
  if (sent->base && !IsShared(sent->base)) {
    result.version.shared = SaysShared(*result.version.metadata);
  }
  result.attempts = attempts_;
  result.committed = true;
  result.snapshot_id = sent->attempt.snapshot_id;
  if (sent->attempt.on_success) sent->attempt.on_success();
  handle_.Learn(result.version);
  env_.Metric("commit.attempts", attempts_);
  turn_.Leave();  // the next writer may go on
  MoveHint(handle_, result.version.number);
  return result;
}

// The newest version is ours or holds a snapshot of ours; it need not be the one that we put.
CommitResult CommitRun::AcknowledgeBy(const Version& newest) {
  CommitResult result;
  result.version = newest;
  result.attempts = attempts_;
  result.committed = true;
  for (const auto& snapshot : newest.metadata->snapshots) {
    if (created_.contains(snapshot.snapshot_id)) result.snapshot_id = snapshot.snapshot_id;
  }
  handle_.Learn(newest);
  env_.Metric("commit.attempts", attempts_);
  turn_.Leave();  // the next writer may go on
  MoveHint(handle_, newest.number);
  return result;
}

// Step 4: our bytes stand under their name. Is it the real next version, or a name that had been
// freed behind our back?
Result<CommitRun::Done> CommitRun::Judge(const SentPtr& sent, const store::ObjectInfo& info,
                                         int64_t put_boot_us) {
  ForkCheck check{handle_, sent->base, sent->number(), *sent->bytes, info, created_};
  const ForkAnswer answer = CheckFork(check);
  switch (answer.verdict) {
    case ForkVerdict::kReal:
      if (!answer.newest) return Acknowledge(sent.get(), info, put_boot_us);
      if (sent->attempt.on_success) sent->attempt.on_success();
      return AcknowledgeBy(*answer.newest);
    case ForkVerdict::kUnknown:
      return Unknown("its version stands on a base that could not be confirmed");
    case ForkVerdict::kFork: break;
  }
  if (env_.rules->again_unknown && sent->unanswered && Old(*sent)) {
    return Unknown("an earlier, unanswered send may have been the real version");
  }
  env_.Log(LogLevel::kInfo, fmt::format("{}: v{} was a freed name; deleted, trying again",
                                        handle_.name(), sent->number()));
  env_.Metric("commit.forks");
  TL_RETURN_NOT_OK(
      Retried(env_, [&] { return env_.store->Delete(handle_.VersionKey(sent->number())); }));
  Failed(sent);
  handle_.Forget();
  base_ = {};
  return Done();
}

Result<CommitRun::Done> CommitRun::AfterWin(const SentPtr& sent, store::ObjectInfo info,
                                            int64_t put_boot_us) {
  const Version& base = sent->base;
  const bool shared = env_.rules->shared_list && IsShared(base);
  const bool proof_young = base.proved_boot_us != kNever &&
                           env_.clock->BootMicros() - base.proved_boot_us < HalfAge(base);
  const bool skip = env_.rules->base_skip && proof_young && !shared;
  if (!env_.rules->base_check || skip) return Acknowledge(sent.get(), std::move(info), put_boot_us);
  return Judge(sent, info, put_boot_us);
}

Result<CommitRun::Done> CommitRun::Send(const SentPtr& sent) {
  for (int i = 0; i < kSendsInARow; ++i) {
    const int64_t before = env_.clock->BootMicros();
    if (sent->first_send == kNever) sent->first_send = before;
    auto reply = env_.store->PutIfAbsent(handle_.VersionKey(sent->number()), sent->bytes);
    sent->staged.reset();
    if (!reply.ok()) {  // certainly not sent
      if (!sent->unanswered) Failed(sent);
      return GiveUp(reply.status());
    }
    const int64_t after = env_.clock->BootMicros();
    const int64_t took = std::clamp<int64_t>(after - before, 1, kMaxRoundTripUs);
    round_trip_us_ = (3 * round_trip_us_ + took) / 4;
    if (sent->attempt.snapshot_id) created_.insert(*sent->attempt.snapshot_id);
    if (reply->outcome == store::PutOutcome::kCreated) {
      return AfterWin(sent, std::move(reply->info), env_.rules->proof_before ? before : after);
    }
    sent->unanswered = true;
    store::ObjectInfo info;
    switch (ReadName(*sent, &info)) {
      case NameState::kOurs:  // by whichever send
        return AfterWin(sent, std::move(info), sent->first_send);
      case NameState::kOthers:
        if (!Old(*sent)) Failed(sent);
        return Done();
      case NameState::kUnread: return Done();  // read again after the reload
      case NameState::kMissing: break;         // the same put again
    }
    if (!env_.rules->clean_known) Discard(sent->keys);
    if (Old(*sent)) return Done();
  }
  return Done();
}

// After a reload: an open attempt is decided by its own name, then by the snapshots of the newest.
Result<CommitRun::Done> CommitRun::SettleOpen() {
  std::optional<std::pair<SentPtr, store::ObjectInfo>> late;
  if (env_.rules->own_name) {
    for (const SentPtr& sent : std::vector<SentPtr>(open_)) {
      store::ObjectInfo info;
      const NameState state = ReadName(*sent, &info);
      if (state == NameState::kOurs) late = {sent, info};
      if (state == NameState::kOthers && !Old(*sent)) Failed(sent);
    }
  }
  for (const auto& snapshot : base_.metadata->snapshots) {
    if (created_.contains(snapshot.snapshot_id)) return AcknowledgeBy(base_);
  }
  if (late) return Judge(late->first, late->second, kNever);
  return Done();
}

// `newest`: the base was just proved newest. What a builder settles on an older base (a duplicate,
// nothing to do) may have been undone since, e.g. by a rollback: then it is asked again after a
// load.
Result<CommitRun::Done> CommitRun::BuildAndSend(bool newest) {
  auto built = build_(base_, created_);
  if (!built.ok()) {
    // What an old base names may have been freed meanwhile: a newer version has what it takes.
    const bool look_again = KindOf(built.status()) == ErrorKind::kNotFound &&
                            std::exchange(lacking_, base_.number) != base_.number;
    return look_again ? Result<Done>(Done()) : GiveUp(built.status());
  }
  if (auto* settled = std::get_if<Settled>(&*built)) {
    if (!newest) return Done();
    // Nothing is written, but what the caller is told stands in this version: plain engines must
    // find it.
    turn_.Leave();  // the next writer may go on
    MoveHint(handle_, base_.number);
    CommitResult result;
    result.version = base_;
    result.attempts = attempts_;
    result.committed = settled->why == Settled::Why::kOwnSnapshot;
    result.settled = *settled;
    result.snapshot_id = settled->snapshot_id;
    return result;
  }
  auto sent = std::make_shared<Sent>();
  sent->base = base_;
  sent->attempt = std::move(std::get<Attempt>(*built));
  const Status ready = Prepare(sent.get());
  if (!ready.ok()) return GiveUp(ready);
  ++attempts_;
  open_.push_back(sent);
  return Send(sent);
}

// Makes all durable that the metadata names, and the metadata itself where it cannot be seen yet;
// on an error nothing of it is left.
Status CommitRun::Prepare(Sent* sent) {
  const Attempt& attempt = sent->attempt;
  for (const auto& object : attempt.objects) sent->keys.push_back(object.key);
  std::vector<std::string> sync = attempt.sync_too;
  sync.insert(sync.end(), sent->keys.begin(), sent->keys.end());
  Status ready;
  if (!attempt.objects.empty()) {
    ready = Retried(env_, [&] { return env_.store->PutAll(attempt.objects); });
  }
  if (ready.ok()) {
    env_.store->SyncSoon(sync);
    ready = iceberg::CheckMetadata(attempt.metadata);
  }
  if (ready.ok() && sent->base) {
    ready = iceberg::CheckSuccession(*sent->base.metadata, attempt.metadata);
  }
  sent->bytes = arrow::Buffer::FromString(iceberg::WriteMetadata(attempt.metadata));
  if (ready.ok() && !sync.empty()) {
    sent->staged = env_.store->Stage(handle_.VersionKey(sent->number()), sent->bytes);
    if (sent->staged && !sent->staged->Sync().ok()) sent->staged.reset();  // the put tries again
    // Once: what a disk failed to write is forgotten by then, and a second fdatasync would succeed.
    ready = env_.store->Sync(sync);
  }
  if (!ready.ok()) Discard(sent->keys);
  return ready;
}

Result<CommitResult> CommitRun::Run() {
  if (!options_.on_tombstone) base_ = handle_.known();
  bool fresh = base_ && !IsDropped(*base_.metadata);  // known, but not looked for in this call
  if (TakeTurn()) fresh = false;
  while (true) {
    if (options_.cancelled && options_.cancelled()) {
      return GiveUp(MakeError(ErrorKind::kCancelled, "cancelled; nothing was committed"));
    }
    if (TimeIsUp()) {
      return GiveUp(
          Conflict("table {}: gave up after {} attempts in {:.1f} s: other writers won each "
                   "time; nothing was committed",
                   handle_.name(), attempts_,
                   static_cast<double>(env_.clock->BootMicros() - started_) / 1e6));
    }
    if (!fresh) {
      // Whose turn it is tries again at once, but asks no store in a hurry that does not answer.
      if (attempts_ > 0 && (!turn_.held() || !open_.empty())) Wait();
      Status loaded = Load();
      if (!loaded.ok()) return GiveUp(loaded);
      TL_ASSIGN_OR_RAISE(Done done, SettleOpen());
      if (done) return std::move(*done);
      if (!base_) continue;  // a dead fork was deleted
    }
    const bool newest = !fresh;
    fresh = false;
    if (open_.empty() || !env_.rules->own_name) {
      TL_ASSIGN_OR_RAISE(Done done, BuildAndSend(newest));
      if (done) return std::move(*done);
      continue;
    }
    const SentPtr sent = open_.back();
    ++attempts_;
    if (Old(*sent)) return Unknown("an attempt could not be settled in time");
    if (sent->number() != base_.number + 1) continue;
    TL_ASSIGN_OR_RAISE(Done done, Send(sent));
    if (done) return std::move(*done);
  }
}

Result<CommitResult> CommitRun::First(Attempt attempt, int64_t listed_boot_us) {
  auto sent = std::make_shared<Sent>();
  sent->attempt = std::move(attempt);
  TL_RETURN_NOT_OK(Prepare(sent.get()));
  const int64_t half = AgeOf(sent->attempt.metadata) / 2;
  const std::string key = handle_.VersionKey(1);
  open_.push_back(sent);
  while (true) {
    ++attempts_;
    if (sent->first_send == kNever) sent->first_send = env_.clock->BootMicros();
    auto reply = env_.store->PutIfAbsent(key, sent->bytes);
    if (!reply.ok()) {
      if (sent->unanswered) return Unknown(reply.status().message());
      Failed(sent);
      return reply.status();
    }
    store::ObjectInfo info = reply->info;
    NameState state = NameState::kOurs;
    if (reply->outcome != store::PutOutcome::kCreated) {
      sent->unanswered = true;
      state = ReadName(*sent, &info);
    }
    if (state == NameState::kOurs) {
      if (env_.clock->BootMicros() - listed_boot_us < half) {
        return Acknowledge(sent.get(), info, sent->first_send);
      }
      auto newest = FindNewest(handle_, {});
      if (newest.ok() && *newest &&
          (*newest)->metadata->table_uuid == sent->attempt.metadata.table_uuid) {
        return AcknowledgeBy(**newest);
      }
      return Unknown("the folder was listed too long ago");
    }
    if (state == NameState::kOthers && !Old(*sent)) {
      Failed(sent);
      return AlreadyExists("table {} already exists", handle_.name());
    }
    if (Old(*sent) || TimeIsUp()) return Unknown("the first version could not be settled in time");
    Wait();
  }
}

}  // namespace

Result<CommitResult> Commit(Handle& handle, const BuildFn& build, const CommitOptions& options) {
  return CommitRun(handle, build, options).Run();
}

Result<CommitResult> CommitFirst(Handle& handle, Attempt attempt, int64_t listed_boot_us,
                                 const CommitOptions& options) {
  static const BuildFn kNone;
  return CommitRun(handle, kNone, options).First(std::move(attempt), listed_boot_us);
}

}  // namespace timelake::table
