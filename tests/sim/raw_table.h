#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/metadata.h"
#include "store/memory_store.h"

namespace timelake::sim {

inline constexpr int kFirstValueId = 3;  // of the column `value` of a new table

struct Row {
  int64_t series = 0;
  int64_t time = 0;            // in half days
  int64_t value = 0;           // never used twice
  int column = kFirstValueId;  // id of the column that holds the value; 0: of none that is left

  auto operator<=>(const Row&) const = default;
};

// What a snapshot names, read from the objects themselves, past all code that is under test but
// the codecs.
struct RawSnapshot {
  struct File {
    std::string key;
    int64_t sequence_number = 0;
    auto operator<=>(const File&) const = default;
  };
  std::set<std::string> keys;                   // manifest list, manifests, live files, index
  std::vector<File> files;                      // live
  std::optional<std::map<int64_t, Row>> index;  // by series
  bool index_in_parts = false;
};

class RawTable {
 public:
  explicit RawTable(std::shared_ptr<store::MemoryStore> disk) : disk_(std::move(disk)) {}

  // An error names what is missing or wrong. Remembered: what a snapshot names never changes.
  Result<std::shared_ptr<const RawSnapshot>> Read(const iceberg::Snapshot& snapshot);

 private:
  Result<std::shared_ptr<arrow::Buffer>> Bytes(const std::string& key) const;
  Result<std::map<int64_t, Row>> ReadIndex(const std::string& key) const;

  const std::shared_ptr<store::MemoryStore> disk_;
  std::map<std::string, std::shared_ptr<const RawSnapshot>> known_;  // by manifest list
};

// Columns of a row; times are half days from here on.
inline constexpr int64_t kFirstTimeUs = 1'767'225'600'000'000;
inline constexpr int64_t kTimeStepUs = int64_t{12} * 3600 * 1'000'000;

}  // namespace timelake::sim
