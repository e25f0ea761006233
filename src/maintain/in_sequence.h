#pragma once

#include <optional>
#include <vector>

#include "scan/scan.h"
#include "write/write.h"

namespace timelake::maintain {

// The files in an order in which the rows of each are all behind those of the one before, in the
// order of the table, by what their manifests say: each has rows of one series (or the table has no
// series), and their times do not touch. nullopt: there is none, or it cannot be told. The files
// are sorted by the table's order.
std::optional<std::vector<const scan::ScanFile*>> InSequence(
    const write::Target& target, const std::vector<const scan::ScanFile*>& files);

}  // namespace timelake::maintain
