#pragma once

#include <cstdint>

#include <parquet/types.h>

#include "write/page_bytes.h"

namespace timelake::write {

// Headers of pages, in Thrift's compact protocol (Parquet format, parquet.thrift: PageHeader).
// Sizes are those of the page's bytes without its header. Data pages are of version 1, with levels
// as RLE; their bounds stand in the page index only, where they can be found without the page.
void AppendDictionaryHeader(int32_t uncompressed, int32_t compressed, int32_t values,
                            PageBytes* out);
void AppendDataHeader(int32_t uncompressed, int32_t compressed, int32_t rows,
                      parquet::Encoding::type encoding, PageBytes* out);

}  // namespace timelake::write
