#include "base/error.h"

#include <gtest/gtest.h>

namespace timelake {
namespace {

TEST(Error, KindTravelsAsStatusDetail) {
  const Status status = CommitUnknown("commit {} of table {}", 7, "cpu");
  EXPECT_EQ(KindOf(status), ErrorKind::kCommitUnknown);
  EXPECT_EQ(MessageOf(status), "commit 7 of table cpu");
}

TEST(Error, ContextIsPutBeforeTheMessageAndKeepsTheKind) {
  const Status status = WithContext(Corrupt("no such field"), "metadata/v3.metadata.json");
  EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt);
  EXPECT_EQ(MessageOf(status), "metadata/v3.metadata.json: no such field");
  EXPECT_TRUE(WithContext(Status::OK(), "anything").ok());
}

TEST(Error, ArrowsOwnStatusMapsByCode) {
  EXPECT_EQ(KindOf(Status::IOError("disk")), ErrorKind::kIo);
  EXPECT_EQ(KindOf(Status::Invalid("x")), ErrorKind::kInvalidArgument);
  EXPECT_EQ(KindOf(Status::UnknownError("x")), ErrorKind::kInternal);
}

TEST(Error, EveryKindHasItsOwnName) {
  EXPECT_EQ(KindName(ErrorKind::kInvalidArgument), "invalid argument");
  EXPECT_EQ(KindName(ErrorKind::kConflict), "conflict");
  EXPECT_EQ(KindName(ErrorKind::kCommitUnknown), "commit unknown");
}

}  // namespace
}  // namespace timelake
