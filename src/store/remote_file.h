#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"
#include "store/remote_client.h"

namespace timelake::store {

// Random access by ranged reads; ReadAt from any thread. `get` is the request for the whole object;
// nothing is sent before the first read.
std::shared_ptr<arrow::io::RandomAccessFile> MakeRemoteFile(std::shared_ptr<RemoteClient> client,
                                                            RemoteRequest get, int64_t size);

}  // namespace timelake::store
