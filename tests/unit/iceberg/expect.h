#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.h"

namespace timelake::iceberg {

// The value, or a failed test and a default value.
template <typename T>
T Must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? std::move(result).ValueUnsafe() : T{};
}

inline void ExpectError(const Status& status, ErrorKind kind, std::string_view fragment) {
  ASSERT_FALSE(status.ok()) << "expected an error with: " << fragment;
  EXPECT_EQ(KindName(KindOf(status)), KindName(kind)) << MessageOf(status);
  EXPECT_NE(MessageOf(status).find(fragment), std::string::npos)
      << "message: " << MessageOf(status) << "\nwithout:  " << fragment;
}

inline std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char c : bytes) {
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

}  // namespace timelake::iceberg
