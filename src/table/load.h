#pragma once

#include <optional>

#include "table/handle.h"
#include "table/settings.h"

namespace timelake::table {

// Finding the newest version (docs/commit-protocol.md): from the version that the handle knows,
// never from the hint. A cold handle and every load of a shared table list; else v(N+1) is probed,
// and the probe counts only while vN is known to be there. The proof of the result is dated before
// the request that proved it.
//
// kNotFound: no such table; or it was dropped or replaced (another table-uuid) since the handle
// first saw it. `Learn`s the result.
Result<Version> LoadNewest(Handle& handle);

// For one who only reads: the version that the handle knows, while it was proved newest less than
// version-check-interval ago (and less than half the age of the commit protocol, so that its files
// are there); else LoadNewest.
Result<Version> LoadForReader(Handle& handle, const SettingMap& session);

// As LoadNewest from `start`, without the rules about tombstones and uuids, and without teaching
// the handle: for create, and for maintenance of dropped tables. nullopt: the folder holds no
// version.
Result<std::optional<Version>> FindNewest(const Handle& handle, const Version& start);

}  // namespace timelake::table
