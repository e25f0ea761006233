#include "table/manifests.h"

#include "table/meta_cache.h"

namespace timelake::table {

namespace {

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

// Version 1 tables may name their manifests in the snapshot itself.
Result<std::shared_ptr<const ManifestRows>> RowsOfVersion1(const Env& env,
                                                           const iceberg::Snapshot& snapshot) {
  auto rows = std::make_shared<ManifestRows>();
  for (const std::string& uri : snapshot.manifests) {
    TL_ASSIGN_OR_RAISE(auto bytes, ReadObject(env, uri));
    TL_ASSIGN_OR_RAISE(iceberg::Manifest manifest, iceberg::ReadManifest(View(*bytes), uri));
    TL_ASSIGN_OR_RAISE(auto row, iceberg::DescribeManifest(manifest.header, manifest.entries, uri,
                                                           bytes->size(), snapshot.snapshot_id, 0));
    rows->push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> ReadObject(const Env& env, const std::string& uri) {
  TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, uri));
  TL_ASSIGN_OR_RAISE(store::GetReply reply, Retried(env, [&] { return env.store->Get(key); }));
  if (!reply.found) return NotFound("{} is missing", uri);
  return reply.bytes;
}

Result<std::shared_ptr<const ManifestRows>> ReadRows(const Env& env,
                                                     const iceberg::Snapshot& snapshot) {
  if (snapshot.manifest_list.empty()) return RowsOfVersion1(env, snapshot);
  const std::string& uri = snapshot.manifest_list;
  const std::string key = "list:" + uri;
  if (env.cache) {
    auto rows = env.cache->Get<ManifestRows>(key);
    env.Metric(rows ? "cache.hit" : "cache.miss");
    if (rows) return rows;
  }
  TL_ASSIGN_OR_RAISE(auto bytes, ReadObject(env, uri));
  TL_ASSIGN_OR_RAISE(ManifestRows rows, iceberg::ReadManifestList(View(*bytes), uri));
  auto shared = std::make_shared<const ManifestRows>(std::move(rows));
  if (env.cache) env.cache->Put<ManifestRows>(key, shared, bytes->size() * 4);
  return shared;
}

void RememberRows(const Env& env, const std::string& list_uri, ManifestRows rows) {
  if (!env.cache) return;
  const int64_t bytes = static_cast<int64_t>(rows.size()) * 400;
  env.cache->Put<ManifestRows>("list:" + list_uri,
                               std::make_shared<const ManifestRows>(std::move(rows)), bytes);
}

bool MustFetchEntries(const Env& env, const iceberg::ManifestFile& row) {
  return store::IsRemote(*env.store) &&
         !(env.cache && env.cache->Get<iceberg::Manifest>("manifest:" + row.manifest_path));
}

Result<std::shared_ptr<const iceberg::Manifest>> ReadEntries(const Env& env,
                                                             const iceberg::ManifestFile& row) {
  const std::string key = "manifest:" + row.manifest_path;
  if (env.cache) {
    auto found = env.cache->Get<iceberg::Manifest>(key);
    env.Metric(found ? "cache.hit" : "cache.miss");
    if (found) return found;
  }
  TL_ASSIGN_OR_RAISE(auto bytes, ReadObject(env, row.manifest_path));
  TL_ASSIGN_OR_RAISE(iceberg::Manifest manifest,
                     iceberg::ReadManifest(View(*bytes), row.manifest_path));
  iceberg::Inherit(row, &manifest.entries);
  auto shared = std::make_shared<const iceberg::Manifest>(std::move(manifest));
  if (env.cache) env.cache->Put<iceberg::Manifest>(key, shared, bytes->size() * 4);
  return shared;
}

void RememberEntries(const Env& env, const iceberg::ManifestFile& row, iceberg::Manifest manifest) {
  if (!env.cache) return;
  iceberg::Inherit(row, &manifest.entries);
  env.cache->Put<iceberg::Manifest>("manifest:" + row.manifest_path,
                                    std::make_shared<const iceberg::Manifest>(std::move(manifest)),
                                    row.manifest_length * 4);
}

}  // namespace timelake::table
