#pragma once

#include <memory>
#include <string>
#include <vector>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "table/env.h"

namespace timelake::table {

using ManifestRows = std::vector<iceberg::ManifestFile>;

// Rows of a snapshot's manifest list, or of its `manifests` in a version 1 table. Cached: lists are
// immutable. kNotFound / kCorrupt name the file.
Result<std::shared_ptr<const ManifestRows>> ReadRows(const Env& env,
                                                     const iceberg::Snapshot& snapshot);

// A manifest with what its entries inherit filled in. Cached.
Result<std::shared_ptr<const iceberg::Manifest>> ReadEntries(const Env& env,
                                                             const iceberg::ManifestFile& row);

// Whether ReadEntries will have to wait for a store that is far away.
bool MustFetchEntries(const Env& env, const iceberg::ManifestFile& row);

// What was just written, so that the next commit of this process reads nothing.
void RememberRows(const Env& env, const std::string& list_uri, ManifestRows rows);

// The entries of a manifest just written as `row` says, so that they need not be read.
void RememberEntries(const Env& env, const iceberg::ManifestFile& row, iceberg::Manifest manifest);

// A small object read whole, with a few retries; kNotFound names it.
Result<std::shared_ptr<arrow::Buffer>> ReadObject(const Env& env, const std::string& uri);

// Runs `request` again a few times while the store gives no reply. Only for requests that may be
// repeated: reads, unconditional puts of new names, deletes.
template <typename F>
auto Retried(const Env& env, F&& request) -> decltype(request()) {
  auto reply = request();
  for (int again = 0; again < 3 && !reply.ok(); ++again) {
    if constexpr (std::is_same_v<decltype(reply), Status>) {
      if (KindOf(reply) != ErrorKind::kIo) break;
    } else {
      if (KindOf(reply.status()) != ErrorKind::kIo) break;
    }
    env.Metric("store.retries");
    reply = request();
  }
  return reply;
}

}  // namespace timelake::table
