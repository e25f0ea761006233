#include "store/early_syncs.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "base/helpers.h"
#include "store/local_folder.h"
#include "store/posix.h"

namespace timelake::store {
namespace {

constexpr int kThreads = 4;
// Nobody may ever ask: more are left to the one who does.
constexpr size_t kMostEntries = 256;

Helpers* Syncers() {
  static std::atomic<Helpers*> helpers = nullptr;
  return HelpersOf(&helpers, kThreads);
}

}  // namespace

Status SyncFile(const std::string& path) {
  const Fd fd = OpenFd(path, O_RDONLY);
  if (!fd.ok()) return ErrnoError(path, "open to fdatasync", errno);
  if (Uninterrupted([&] { return fdatasync(fd.get()); }) == 0) return Status::OK();
  return ErrnoError(path, "fdatasync", errno);
}

struct EarlySyncs::State {
  enum class Step { kWaiting, kRunning, kDone };
  struct Entry {
    bool folder = false;
    Step step = Step::kWaiting;
    bool again = false;  // names have come since it began
    std::vector<std::shared_ptr<Waiting>> waiting = {};
    Status status = Status::OK();
  };

  // One of those that nobody has begun.
  void Run() {
    std::unique_lock lock(mutex);
    auto next = entries.begin();
    while (next != entries.end() && next->second.step != Step::kWaiting) ++next;
    if (next == entries.end()) return;
    const std::string path = next->first;
    const bool folder = next->second.folder;
    next->second.step = Step::kRunning;
    Status status;
    for (bool once_more = true; once_more;) {
      lock.unlock();
      Status synced = folder ? SyncFolder(path) : SyncFile(path);
      lock.lock();
      if (status.ok()) status = std::move(synced);
      next = entries.find(path);
      once_more = next != entries.end() && std::exchange(next->second.again, false);
    }
    if (next == entries.end()) return;
    const auto waiting = std::move(next->second.waiting);
    if (waiting.empty()) {
      next->second.step = Step::kDone;
      next->second.status = std::move(status);
      return;
    }
    entries.erase(next);
    std::vector<std::shared_ptr<Waiting>> over;
    for (const auto& one : waiting) {
      if (one->status.ok()) one->status = status;
      if (--one->left == 0) over.push_back(one);
    }
    lock.unlock();
    for (const auto& one : over) one->done.notify_one();
  }

  std::mutex mutex;
  std::map<std::string, Entry> entries;
};

EarlySyncs::EarlySyncs() : state_(std::make_shared<State>()) {}

void EarlySyncs::Begin(const std::vector<std::string>& files,
                       const std::set<std::string>& folders) {
  int more = 0;
  {
    const std::lock_guard lock(state_->mutex);
    auto& entries = state_->entries;
    if (entries.size() > kMostEntries / 2) {  // what nobody has asked for
      // Errors stay: the disk tells them once.
      std::erase_if(entries, [](const auto& one) {
        return one.second.step == State::Step::kDone && one.second.status.ok();
      });
    }
    const bool room = entries.size() + files.size() + folders.size() <= kMostEntries;
    for (const std::string& file : files) more += room && entries.try_emplace(file).second;
    for (const std::string& folder : folders) {
      const auto found = entries.find(folder);
      if (found == entries.end()) {
        more += room && entries.emplace(folder, State::Entry{true}).second;
      } else if (found->second.step == State::Step::kRunning) {
        found->second.again = true;
      } else if (found->second.step == State::Step::kDone && found->second.status.ok()) {
        found->second.step = State::Step::kWaiting;
        ++more;
      }
    }
  }
  if (more > 0) Syncers()->Ask([state = state_] { state->Run(); }, more);
}

bool EarlySyncs::WaitFor(const std::string& path, const std::shared_ptr<Waiting>& waiting) {
  const std::lock_guard lock(state_->mutex);
  const auto entry = state_->entries.find(path);
  if (entry == state_->entries.end()) return false;
  const State::Step step = entry->second.step;
  if (step == State::Step::kRunning) {
    ++waiting->left;
    entry->second.waiting.push_back(waiting);
    return true;
  }
  if (step == State::Step::kDone && waiting->status.ok()) waiting->status = entry->second.status;
  state_->entries.erase(entry);
  return step == State::Step::kDone;
}

Status EarlySyncs::Await(const std::shared_ptr<Waiting>& waiting) {
  std::unique_lock lock(state_->mutex);
  waiting->done.wait(lock, [&] { return waiting->left == 0; });
  return waiting->status;
}

void EarlySyncs::Forget(const std::string& file) {
  const std::lock_guard lock(state_->mutex);
  const auto entry = state_->entries.find(file);
  // Who waits for one that is running does so to the end.
  if (entry != state_->entries.end() && entry->second.step != State::Step::kRunning) {
    state_->entries.erase(entry);
  }
}

}  // namespace timelake::store
