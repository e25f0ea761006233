#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

// UUIDs (RFC 9562) and snapshot ids, all drawn from an injected Random.

namespace timelake {

class Random;

struct Uuid {
  std::array<uint8_t, 16> bytes{};  // most significant first, as Iceberg stores them

  auto operator<=>(const Uuid&) const = default;
};

// Random (version 4).
Uuid NewUuidV4(Random& random);

// Ordered by time (version 7): the first 48 bits are `unix_millis`, the rest is random, so ids of
// one millisecond are in no order. Times before 1970 count as 1970.
Uuid NewUuidV7(int64_t unix_millis, Random& random);

// "f79c3e09-677c-4bbd-a479-3f349cb785e7", lower case.
std::string FormatUuid(const Uuid& uuid);

// The same form in any case and of any version; InvalidArgument, naming the text, for all else.
Result<Uuid> ParseUuid(std::string_view text);

// Iceberg snapshot id in 1..2^63-1. 63 random bits; the caller checks for ids already in the table.
int64_t NewSnapshotId(Random& random);

}  // namespace timelake
