#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/remote_store.h"

// The XML documents of Azure's Blob service. Pure; foreign bytes.

namespace timelake::store {

// An answer to List Blobs. Folders of a hierarchical namespace, which are listed like blobs, are
// left out; identities are ETags without quotes.
Result<ListPage> ParseAzureListing(std::string_view xml);

// The body of Put Block List.
std::string BlockListXml(const std::vector<std::string>& ids);

// "\"0x8D\"" -> "0x8D": headers have quotes, listings have none.
std::string WithoutQuotes(std::string_view etag);

}  // namespace timelake::store
