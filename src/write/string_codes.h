#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <arrow/array.h>

#include "base/error.h"

namespace timelake::write {

// Numbers strings in the order of their first appearance. Sources repeat themselves: the string
// that the device had last is tried first, or the one that followed the last one before. Most
// strings are never hashed.
class StringCodes {
 public:
  StringCodes();

  // Codes of a StringArray's values to `out`; 0 for nulls. `devices`: small numbers by which rows
  // are likely to repeat themselves; null: none.
  void Encode(const arrow::StringArray& strings, const int32_t* devices, int32_t* out);

  // The strings by code.
  Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  std::string_view TextOf(int32_t code) const {
    const size_t i = static_cast<size_t>(code);
    return {bytes_.data() + ends_[i], static_cast<size_t>(ends_[i + 1] - ends_[i])};
  }
  int32_t CodeOf(std::string_view text, size_t context, int64_t* missed);
  int32_t Find(std::string_view text);
  void Grow();

  std::vector<int32_t> slots_;  // codes, open addressing; -1: free
  std::vector<uint32_t> hashes_;
  std::vector<int64_t> ends_ = {0};
  std::vector<char> bytes_;
  std::vector<int32_t> expected_;  // by device, or by the code before
  int32_t last_ = 0;
};

}  // namespace timelake::write
