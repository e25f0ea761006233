#include "sim/append_index.h"

#include "index/next_index.h"

namespace timelake::sim {

table::IndexFn AppendIndex(table::Handle& handle, const DataFiles& data) {
  return [&handle, &data](const table::Version& base, int64_t snapshot_id) {
    return index::NextIndex(handle.env(), handle.folder(), base, snapshot_id, data.newest,
                            data.schema);
  };
}

}  // namespace timelake::sim
