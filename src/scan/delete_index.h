#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "iceberg/manifest.h"
#include "iceberg/partition.h"
#include "scan/scan.h"
#include "store/object_store.h"

namespace timelake::scan {

// Reserved columns of position delete files (specification, "Reserved Field IDs").
inline constexpr int kDeleteFilePathId = 2147483546;
inline constexpr int kDeletePosId = 2147483545;

// The delete files of a snapshot, by what they may apply to (specification, "Scan Planning"). Const
// use from many threads once everything is added.
class DeleteIndex {
 public:
  explicit DeleteIndex(std::shared_ptr<store::ObjectStore> store) : store_(std::move(store)) {}

  // `entry` is live, its sequence numbers are filled in.
  void Add(const iceberg::ManifestEntry& entry, const iceberg::PartitionSpec& spec);

  // Fills in the delete files that apply to `file`, in the order of their paths.
  void Assign(ScanFile* file) const;

  bool empty() const { return empty_; }

 private:
  struct Delete {
    int64_t sequence_number = 0;
    std::shared_ptr<const iceberg::DataFile> file;
  };
  using Deletes = std::vector<Delete>;

  std::string PathKey(const std::string& uri) const;

  std::shared_ptr<store::ObjectStore> store_;
  bool empty_ = true;
  std::unordered_map<std::string, Deletes> positions_by_path_;
  std::unordered_map<std::string, Deletes> positions_by_partition_;
  std::unordered_map<std::string, Deletes> equalities_by_partition_;
  Deletes equalities_everywhere_;
};

}  // namespace timelake::scan
