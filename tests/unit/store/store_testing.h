#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <arrow/buffer.h>

#include "base/error.h"
#include "store/object_store.h"

namespace timelake::store {

inline std::shared_ptr<arrow::Buffer> Bytes(std::string text) {
  return arrow::Buffer::FromString(std::move(text));
}

// The object's bytes, or "(missing)", or the error.
inline std::string Text(ObjectStore& store, const std::string& key) {
  const auto got = store.Get(key);
  if (!got.ok()) return got.status().ToString();
  return got->found ? got->bytes->ToString() : "(missing)";
}

inline std::vector<std::string> Keys(ObjectStore& store, const std::string& prefix) {
  const auto list = store.List(prefix);
  EXPECT_TRUE(list.ok()) << list.status();
  std::vector<std::string> keys;
  if (list.ok()) {
    for (const auto& object : list->objects) keys.push_back(object.key);
  }
  return keys;
}

// A folder of its own for a test, removed afterwards.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tl_store_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

  // Names in the folder and all below, hidden ones too.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

#define TL_EXPECT_OK(expr)                             \
  do {                                                 \
    const arrow::Status tl_status = (expr);            \
    EXPECT_TRUE(tl_status.ok()) << tl_status;          \
  } while (false)

// Value of a Result, or a failed test and a default value.
template <typename T>
T Must(arrow::Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : T{};
}

}  // namespace timelake::store
