#include "base/uuid.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace timelake {
namespace {

class ConstantRandom : public Random {
 public:
  explicit ConstantRandom(uint64_t value) : value_(value) {}
  uint64_t Next64() override { return value_; }

 private:
  uint64_t value_;
};

TEST(Uuid, VersionSevenHoldsTheTime) {
  // RFC 9562, appendix A.6: 2022-02-22T19:22:22Z.
  ConstantRandom ones(~uint64_t{0}), zeros(0);
  EXPECT_EQ(FormatUuid(NewUuidV7(0x017F22E279B0, ones)), "017f22e2-79b0-7fff-bfff-ffffffffffff");
  EXPECT_EQ(FormatUuid(NewUuidV7(0x017F22E279B0, zeros)), "017f22e2-79b0-7000-8000-000000000000");
  EXPECT_EQ(FormatUuid(NewUuidV7(-5, zeros)), "00000000-0000-7000-8000-000000000000");
}

TEST(Uuid, VersionSevenSortsByMillisecond) {
  const std::shared_ptr<Random> random = SeededRandom(42);
  for (int64_t millis = 1767398400000; millis < 1767398401000; ++millis) {
    const Uuid before = NewUuidV7(millis, *random);
    const Uuid after = NewUuidV7(millis + 1, *random);
    ASSERT_LT(before, after);
    ASSERT_LT(FormatUuid(before), FormatUuid(after));
  }
}

TEST(Uuid, VersionFour) {
  ConstantRandom ones(~uint64_t{0}), zeros(0);
  EXPECT_EQ(FormatUuid(NewUuidV4(ones)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_EQ(FormatUuid(NewUuidV4(zeros)), "00000000-0000-4000-8000-000000000000");
}

TEST(Uuid, TextRoundTrips) {
  const std::shared_ptr<Random> random = SeededRandom(42);
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = NewUuidV4(*random);
    ASSERT_EQ(ParseUuid(FormatUuid(uuid)).ValueOrDie(), uuid);
  }
  const auto upper = ParseUuid("F79C3E09-677C-4BBD-A479-3F349CB785E7");
  EXPECT_EQ(FormatUuid(upper.ValueOrDie()), "f79c3e09-677c-4bbd-a479-3f349cb785e7");
}

TEST(Uuid, BadTextIsAnError) {
  const char* const kBad[] = {
      "",
      "f79c3e09677c4bbda4793f349cb785e7",
      "f79c3e09-677c-4bbd-a479-3f349cb785e",
      "f79c3e09-677c-4bbd-a479-3f349cb785e78",
      "f79c3e09-677c-4bbd-a4793-f349cb785e7",
      "g79c3e09-677c-4bbd-a479-3f349cb785e7",
      "{79c3e09-677c-4bbd-a479-3f349cb785e}",
  };
  for (const char* text : kBad) {
    EXPECT_EQ(KindOf(ParseUuid(text).status()), ErrorKind::kInvalidArgument) << text;
  }
}

// apache/iceberg-python 1424: ids beyond 2^63-1 or of zero are unreadable to others.
TEST(Uuid, SnapshotIdsArePositive) {
  const std::shared_ptr<Random> random = SeededRandom(42);
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_GE(NewSnapshotId(*random), 1);
  }
  ConstantRandom zeros(0), ones(~uint64_t{0});
  EXPECT_EQ(NewSnapshotId(zeros), 1);
  EXPECT_EQ(NewSnapshotId(ones), INT64_MAX);
}

}  // namespace
}  // namespace timelake
