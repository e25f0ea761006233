#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace timelake::maintain {

// Which manifests are written anew, clustered by time: pure, from what a manifest list says.

// The times of the files in a manifest, as ordinals of the partition field that divides time.
struct ManifestSpan {
  int64_t first = 0;
  int64_t last = 0;
  int64_t bytes = 0;  // of the manifest
};

// Planning a query opens all manifests that may have files of its times. It pays to cluster them
// when those of one partition that hold files of others as well are together larger than three
// times the target size and than a quarter of all: the ones that overlap there, by their places
// (ascending). Idempotent: of manifests that were cut from files in order, none larger than a
// quarter above the target size, at most two such meet in one partition.
std::vector<size_t> ManifestsToCluster(const std::vector<ManifestSpan>& manifests,
                                       int64_t target_bytes);

}  // namespace timelake::maintain
