#pragma once

#include <string_view>

#include "base/error.h"
#include "iceberg/metadata.h"

namespace timelake::sim {

// What a real version changed.
enum class ChangeKind { kCreate, kSnapshot, kExpire, kMoveRefs, kProperties, kColumns, kDrop };
std::string_view ChangeName(ChangeKind kind);

// A version that was built on anything but `base` differs from it in more than one kind of commit
// does: an error says in what. Stricter than iceberg::CheckSuccession, which also lets other
// engines pass.
Result<ChangeKind> KindOfChange(const iceberg::TableMetadata& base,
                                const iceberg::TableMetadata& next);

}  // namespace timelake::sim
