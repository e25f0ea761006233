#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/object_store.h"
#include "store/remote_options.h"

namespace timelake::store {

Result<RemoteOptions> ParseWebOptions(const std::map<std::string, std::string>& options,
                                      const EnvLookup& env);

// What a web server serves, to be read. It lists nothing: the tables of a warehouse at `root`
// ("host[:port]/folder", a key) are those of the index at its root (store/web_index.h), and of a
// table's versions only the newest is listed, found by probing upwards from the one that the index
// or the version hint names. Whatever would change something is kUnsupported. `uri_scheme`: "http"
// or "https".
std::shared_ptr<ObjectStore> MakeWebStore(RemoteOptions options, std::string uri_scheme,
                                          std::string root, std::shared_ptr<Clock> clock,
                                          std::shared_ptr<Random> random);

}  // namespace timelake::store
