#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/object_store.h"

namespace timelake::store {

// `key` below `new_folder` if it is below `old_folder`, else as it is. Folders without trailing
// slash.
std::string PlaceOf(const std::string& key, const std::string& old_folder,
                    const std::string& new_folder);

// `base` seen as if the folder `new_folder` still lay at `old_folder`: keys below the old folder
// are read below the new one, others as they are. For tables whose folder was moved or copied:
// their metadata names the old place. That may have been in another store: then `old_folder` is its
// URI, and KeyOf finds what lies below it in the new folder. Read only: whatever would change
// something is kUnsupported.
std::shared_ptr<ObjectStore> MakeMovedStore(std::shared_ptr<ObjectStore> base,
                                            std::string old_folder, std::string new_folder);

// For KeyOf: the key of a URI of another store of which `store`, one of the above, holds a copy.
std::optional<std::string> KeyOfCopy(const ObjectStore& store, std::string_view uri);

}  // namespace timelake::store
