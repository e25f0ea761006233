#pragma once

#include <memory>
#include <string>

#include "store/object_store.h"

namespace timelake::store {

// `key` below `new_folder` if it is below `old_folder`, else as it is. Folders without trailing
// slash.
std::string PlaceOf(const std::string& key, const std::string& old_folder,
                    const std::string& new_folder);

// `base` seen as if the folder `new_folder` still lay at `old_folder`: keys below the old folder
// are read below the new one, others as they are. For tables whose folder was moved or copied:
// their metadata names the old place. Read only: whatever would change something is kUnsupported.
std::shared_ptr<ObjectStore> MakeMovedStore(std::shared_ptr<ObjectStore> base,
                                            std::string old_folder, std::string new_folder);

}  // namespace timelake::store
