#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "write/chunk_pages.h"
#include "write/page_bytes.h"

namespace timelake::write {

// Dictionary indices of the pages of a chunk, in the width that the codec makes less of: bits, or
// whole bytes. Both are tried on a page now and then.
class PageIndices {
 public:
  Status Append(const uint32_t* indices, size_t count, uint32_t most, ChunkPages* pages,
                PageBytes* page);

 private:
  bool wide_ = false;
  int pages_until_trial_ = 0;
  PageBytes bits_, bytes_;
};

}  // namespace timelake::write
