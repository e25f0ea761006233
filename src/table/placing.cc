#include "table/placing.h"

#include <set>
#include <utility>

#include "store/moved_store.h"

namespace timelake::table {

Result<Placing> Placing::Of(const Env& env, const iceberg::TableMetadata& metadata,
                            const std::string& folder) {
  Placing placing;
  placing.env_ = env;
  placing.store_ = env.store;
  placing.folder_ = folder;
  auto recorded = store::KeyOf(*env.store, metadata.location);
  // Copied from another store: then it is the URI, which is no key here.
  placing.recorded_ = recorded.ok() ? *std::move(recorded) : metadata.location;
  if (placing.moved()) {
    placing.env_.store = store::MakeMovedStore(env.store, placing.recorded_, folder);
  }
  return placing;
}

std::string Placing::Key(const std::string& key) const {
  return store::PlaceOf(key, recorded_, folder_);
}

std::string Placing::Uri(const std::string& uri) const {
  const auto key = store::KeyOf(*env_.store, uri);
  if (!key.ok()) return uri;  // of another store, and no copy of it is here
  const std::string placed = Key(*key);
  const auto as_it_is = store::KeyOf(*store_, uri);
  return as_it_is.ok() && placed == *as_it_is ? uri : store::UriOf(*store_, placed);
}

Reach Placing::Placed(Reach reach) const {
  if (!moved()) return reach;
  for (auto* keys : {&reach.files, &reach.manifests, &reach.others}) {
    std::set<std::string> placed;
    for (const std::string& key : *keys) {
      std::string there = Key(key);
      if (there.starts_with(folder_ + "/")) placed.insert(std::move(there));
    }
    *keys = std::move(placed);
  }
  return reach;
}

}  // namespace timelake::table
