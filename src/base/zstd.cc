#include "base/zstd.h"

#include <memory>

#include <zstd.h>

namespace timelake {
namespace {

// A context of the highest levels takes hundreds of megabytes: those are not kept.
constexpr int kHighestKeptLevel = 9;

struct Free {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using Context = std::unique_ptr<ZSTD_CCtx, Free>;

}  // namespace

int64_t ZstdMostBytes(int64_t size) {
  return static_cast<int64_t>(ZSTD_compressBound(static_cast<size_t>(size)));
}

Result<int64_t> ZstdCompress(const void* bytes, int64_t size, int level, void* out, int64_t room) {
  thread_local Context kept;
  Context own;
  Context& context = level <= kHighestKeptLevel ? kept : own;
  if (!context) context.reset(ZSTD_createCCtx());
  if (!context) return Status::OutOfMemory("zstd: no memory for a context");
  const size_t used = ZSTD_compressCCtx(context.get(), out, static_cast<size_t>(room), bytes,
                                        static_cast<size_t>(size), level);
  if (ZSTD_isError(used) != 0) {
    context.reset();  // in an unknown state
    return IoError("zstd: {}", ZSTD_getErrorName(used));
  }
  return static_cast<int64_t>(used);
}

}  // namespace timelake
