#include "table/catalog.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/text.h"
#include "base/uuid.h"
#include "table/changes.h"
#include "table/load.h"
#include "table/placing.h"
#include "table/reach.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

constexpr size_t kListThreads = 8;

// Whether the folder holds a table that is not dropped. An unreadable one counts: it is there, and
// opening it says what is wrong.
bool HoldsTable(const Env& env, const std::string& folder, const std::string& name) {
  Handle probe(env, name, folder);
  auto found = FindNewest(probe, {});
  if (!found.ok()) return true;
  return *found && !IsDropped(*(*found)->metadata);
}

// The handle itself, or for a table whose folder was moved or copied one that finds the recorded
// places below the new folder.
Result<std::shared_ptr<Handle>> WhereItLies(const std::shared_ptr<Handle>& handle) {
  const Env& env = handle->env();
  const Version version = handle->known();
  TL_ASSIGN_OR_RAISE(const Placing placing, Placing::Of(env, *version.metadata, handle->folder()));
  if (!placing.moved()) return handle;
  auto there = std::make_shared<Handle>(placing.env(), handle->name(), handle->folder());
  there->Learn(version);
  return there;
}

}  // namespace

Catalog::Catalog(Env env, std::string root_key, SettingMap session_settings)
    : env_(std::move(env)),
      root_(std::move(root_key)),
      session_settings_(std::move(session_settings)) {}

std::string Catalog::location_uri() const { return store::UriOf(*env_.store, root_); }

std::string Catalog::FolderOf(const TableName& name) const {
  return root_ + "/" + name.name_space + "/" + name.table;
}

Result<std::vector<std::string>> Catalog::Namespaces() {
  TL_ASSIGN_OR_RAISE(auto folders, env_.store->ListFolders(root_ + "/"));
  std::erase_if(folders,
                [](const std::string& folder) { return !ParseTableName(folder + ".t").ok(); });
  return folders;
}

Result<std::vector<std::string>> Catalog::Tables(const std::string& name_space) {
  TL_ASSIGN_OR_RAISE(auto folders, env_.store->ListFolders(root_ + "/" + name_space + "/"));
  std::erase_if(folders, [&](const std::string& folder) {
    return !ParseTableName(name_space + "." + folder).ok();
  });
  std::vector<char> holds(folders.size(), 0);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < folders.size(); i = next++) {
      const TableName name{name_space, folders[i]};
      holds[i] = HoldsTable(env_, FolderOf(name), name.full());
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(kListThreads, folders.size()); ++i) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
  std::vector<std::string> tables;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (holds[i]) tables.push_back(std::move(folders[i]));
  }
  return tables;
}

std::shared_ptr<Handle> Catalog::Shared(const TableName& name) {
  std::lock_guard lock(mutex_);
  auto& handle = handles_[name.full()];
  if (!handle) handle = std::make_shared<Handle>(env_, name.full(), FolderOf(name));
  return handle;
}

void Catalog::Evict(const TableName& name) {
  std::lock_guard lock(mutex_);
  handles_.erase(name.full());
}

Status Catalog::MissingTable(const TableName& name) {
  std::string hint;
  auto tables = Tables(name.name_space);
  if (tables.ok()) {
    if (auto near = NearestName(name.table, *tables)) {
      hint = "; did you mean " + name.name_space + "." + *near + "?";
    }
  }
  return NotFound("table {} does not exist in {}{}", name.full(), location_uri(), hint);
}

Result<std::shared_ptr<Handle>> Catalog::Open(const TableName& name, For use) {
  // A shared handle may belong to a table that was dropped and created again since; the second
  // round starts from a fresh one.
  for (int round = 0; round < 2; ++round) {
    auto handle = Shared(name);
    const bool seen = !handle->table_uuid().empty();
    auto loaded =
        use == For::kReading ? LoadForReader(*handle, session_settings_) : LoadNewest(*handle);
    if (loaded.ok() && seen) return handle;
    if (loaded.ok()) {
      TL_ASSIGN_OR_RAISE(auto placed, WhereItLies(handle));
      if (placed != handle) {
        std::lock_guard lock(mutex_);
        handles_[name.full()] = placed;
      }
      return placed;
    }
    if (KindOf(loaded.status()) != ErrorKind::kNotFound) return loaded.status();
    Evict(name);
    if (!seen) return MissingTable(name);
  }
  return MissingTable(name);
}

Result<Catalog::Draft> Catalog::MakeDraft(const TableName& name, const iceberg::Schema& schema,
                                          const TableOptions& options) const {
  Draft draft;
  draft.handle = std::make_shared<Handle>(env_, name.full(), FolderOf(name));
  const int64_t now_us = env_.clock->NowMicros();
  TL_ASSIGN_OR_RAISE(draft.metadata,
                     NewTableMetadata(schema, options, draft.handle->location(),
                                      FormatUuid(NewUuidV7(now_us / 1000, *env_.random)),
                                      FormatUuid(NewUuidV4(*env_.random)), now_us / 1000));
  return draft;
}

void Catalog::Keep(const TableName& name, std::shared_ptr<Handle> handle) {
  std::lock_guard lock(mutex_);
  handles_[name.full()] = std::move(handle);
}

Result<std::shared_ptr<Handle>> Catalog::Create(const TableName& name,
                                                const iceberg::Schema& schema,
                                                const TableOptions& options) {
  TL_ASSIGN_OR_RAISE(Draft draft, MakeDraft(name, schema, options));
  auto created = CommitCreate(*draft.handle, draft.metadata);
  if (!created.ok()) {
    if (KindOf(created.status()) == ErrorKind::kAlreadyExists && options.if_not_exists) {
      return Open(name);
    }
    return created.status();
  }
  Keep(name, draft.handle);
  return draft.handle;
}

Status Catalog::Drop(const TableName& name, bool if_exists, bool purge) {
  auto opened = Open(name);
  if (!opened.ok()) {
    const bool missing = KindOf(opened.status()) == ErrorKind::kNotFound;
    return missing && if_exists ? Status::OK() : opened.status();
  }
  const std::shared_ptr<Handle> handle = *opened;
  TL_ASSIGN_OR_RAISE(CommitResult dropped, CommitDrop(*handle));
  Evict(name);
  if (!purge) return Status::OK();
  // The drop is certain. What the version below the tombstone names goes; the metadata files stay
  // as the memory of what is still to be deleted.
  TL_ASSIGN_OR_RAISE(auto below, ReadVersion(env_, handle->folder(), dropped.version.number - 1));
  if (!below) return Status::OK();
  TL_ASSIGN_OR_RAISE(Reach reach, ReachOf(env_, *below->metadata, Reading::kSkipMissing));
  for (const auto* keys : {&reach.files, &reach.manifests, &reach.others}) {
    TL_RETURN_NOT_OK(env_.store->DeleteAll({keys->begin(), keys->end()}));
  }
  return Status::OK();
}

}  // namespace timelake::table
