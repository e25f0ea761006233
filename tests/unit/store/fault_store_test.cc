#include "store/fault_store.h"

#include <gmock/gmock.h>

#include "base/clock.h"
#include "store/memory_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FaultStoreTest : public ::testing::Test {
 protected:
  FaultStoreTest() {
    FaultHooks hooks;
    hooks.before = [this](const Op& op) {
      ops_.push_back(op);
      return std::exchange(next_, Fault{});
    };
    hooks.observe = [this](const Op& op, const std::shared_ptr<arrow::Buffer>& bytes) {
      log_.push_back(op.key + "=" + (bytes ? bytes->ToString() : "-"));
    };
    hooks.yield = [this](const Op&, YieldPoint point) {
      log_.push_back(point == YieldPoint::kBeforeEffect  ? "("
                     : point == YieldPoint::kBeforeReply ? ")"
                                                         : "|");
      if (point == YieldPoint::kBetweenPages && between_pages_) between_pages_();
    };
    hooks.defer = [this](const Op&, std::function<void()> effect) {
      deferred_ = std::move(effect);
    };
    store_ = MakeFaultStore(base_, std::move(hooks), {.list_page = 2});
  }

  FaultStore& With(FaultAction action, std::shared_ptr<arrow::Buffer> foreign = nullptr) {
    next_ = Fault{action, std::move(foreign)};
    log_.clear();
    return *store_;
  }

  std::shared_ptr<ObjectStore> base_ = MakeMemoryStore(SystemClock());
  std::shared_ptr<FaultStore> store_;
  Fault next_;
  std::vector<Op> ops_;
  std::vector<std::string> log_;
  std::function<void()> deferred_, between_pages_;
};

TEST_F(FaultStoreTest, YieldsAroundTheEffectAndObservesIt) {
  Must(With(FaultAction::kNone).PutIfAbsent("k", Bytes("1")));
  EXPECT_THAT(log_, ElementsAre("(", "k=1", ")"));
  Must(With(FaultAction::kNone).PutIfAbsent("k", Bytes("2")));
  EXPECT_THAT(log_, ElementsAre("(", ")"));
  TL_EXPECT_OK(With(FaultAction::kNone).Delete("k"));
  EXPECT_THAT(log_, ElementsAre("(", "k=-", ")"));
  auto stream = Must(With(FaultAction::kNone).OpenWrite("s"));
  TL_EXPECT_OK(stream->Write("xy", 2));
  EXPECT_TRUE(log_.empty());
  TL_EXPECT_OK(stream->Close());
  EXPECT_THAT(log_, ElementsAre("(", "s=xy", ")"));
}

TEST_F(FaultStoreTest, CountsAndNumbersOperations) {
  Must(store_->Put("a", Bytes("1")));
  Must(store_->Get("a"));
  With(FaultAction::kError).Get("a").status().ok();
  TL_EXPECT_OK(store_->PutAll({{"b", Bytes("1")}, {"c", Bytes("1")}}));
  TL_EXPECT_OK(store_->Sync({"b", "c"}));
  EXPECT_EQ(store_->count(OpKind::kPut), 3);
  EXPECT_EQ(store_->count(OpKind::kGet), 2);
  EXPECT_EQ(store_->count(OpKind::kSync), 1);
  EXPECT_EQ(store_->count(OpKind::kHead), 0);
  ASSERT_EQ(ops_.size(), 6u);
  EXPECT_EQ(ops_[0].sequence, 1);
  EXPECT_EQ(ops_[5].sequence, 6);
  EXPECT_EQ(ops_[5].kind, OpKind::kSync);
  EXPECT_EQ(ops_[5].key, "b");
  store_->ResetCounts();
  EXPECT_EQ(store_->count(OpKind::kPut), 0);
}

TEST_F(FaultStoreTest, ErrorMeansNotSent) {
  const auto put = With(FaultAction::kError).PutIfAbsent("k", Bytes("1"));
  EXPECT_EQ(KindOf(put.status()), ErrorKind::kIo);
  EXPECT_THAT(put.status().message(), HasSubstr("k: put_if_absent #1"));
  EXPECT_EQ(KindOf(With(FaultAction::kError).Put("k", Bytes("1")).status()), ErrorKind::kIo);
  EXPECT_EQ(KindOf(With(FaultAction::kError).OpenWrite("k").status()), ErrorKind::kIo);
  EXPECT_EQ(Text(*base_, "k"), "(missing)");
}

TEST_F(FaultStoreTest, LostRepliesOfConditionalPuts) {
  const auto before = Must(With(FaultAction::kDropBefore).PutIfAbsent("k", Bytes("1")));
  EXPECT_EQ(before.outcome, PutOutcome::kNoReply);
  EXPECT_EQ(before.date_us, 0);
  EXPECT_EQ(Text(*base_, "k"), "(missing)");
  const auto after = Must(With(FaultAction::kDropAfter).PutIfAbsent("k", Bytes("1")));
  EXPECT_EQ(after.outcome, PutOutcome::kNoReply);
  EXPECT_EQ(after.date_us, 0);
  EXPECT_THAT(log_, ElementsAre("(", "k=1", ")"));
  EXPECT_EQ(Text(*base_, "k"), "1");
  const std::string identity = Must(base_->Head("k")).info.identity;
  EXPECT_EQ(Must(With(FaultAction::kDropAfter).PutIfMatch("k", Bytes("2"), identity)).outcome,
            PutOutcome::kNoReply);
  EXPECT_EQ(Text(*base_, "k"), "2");
}

TEST_F(FaultStoreTest, LostRepliesOfAllOthersAreErrors) {
  for (const FaultAction action : {FaultAction::kDropBefore, FaultAction::kDropAfter}) {
    const std::string effect = action == FaultAction::kDropAfter ? "1" : "(missing)";
    EXPECT_EQ(KindOf(With(action).Put("p", Bytes("1")).status()), ErrorKind::kIo);
    EXPECT_EQ(Text(*base_, "p"), effect);
    auto stream = Must(With(action).OpenWrite("s"));
    TL_EXPECT_OK(stream->Write("1", 1));
    EXPECT_EQ(KindOf(stream->Close()), ErrorKind::kIo);
    EXPECT_EQ(Text(*base_, "s"), effect);
    Must(base_->Put("d", Bytes("1")));
    EXPECT_EQ(KindOf(With(action).Delete("d")), ErrorKind::kIo);
    EXPECT_EQ(Must(base_->Head("d")).found, action == FaultAction::kDropBefore);
    EXPECT_EQ(KindOf(With(action).Get("d").status()), ErrorKind::kIo);
    EXPECT_EQ(KindOf(With(action).Head("d").status()), ErrorKind::kIo);
    EXPECT_EQ(KindOf(With(action).List("d").status()), ErrorKind::kIo);
    EXPECT_EQ(KindOf(With(action).ListFolders("d/").status()), ErrorKind::kIo);
    EXPECT_EQ(KindOf(With(action).Sync({"d"})), ErrorKind::kIo);
    EXPECT_EQ(KindOf(With(action).OpenRead("d").status()), ErrorKind::kIo);
  }
}

TEST_F(FaultStoreTest, RepeatHasNoEffect) {
  const auto put = Must(With(FaultAction::kRepeat409).PutIfAbsent("k", Bytes("1")));
  EXPECT_EQ(put.outcome, PutOutcome::kRepeat);
  EXPECT_GT(put.date_us, 0);
  EXPECT_EQ(Text(*base_, "k"), "(missing)");
  EXPECT_EQ(Must(store_->PutIfAbsent("k", Bytes("1"))).outcome, PutOutcome::kCreated);
}

TEST_F(FaultStoreTest, ExistsWithAForeignObject) {
  const auto lost =
      Must(With(FaultAction::kExists412, Bytes("theirs")).PutIfAbsent("k", Bytes("1")));
  EXPECT_EQ(lost.outcome, PutOutcome::kExists);
  EXPECT_THAT(log_, ElementsAre("(", "k=theirs", ")"));
  EXPECT_EQ(Text(*base_, "k"), "theirs");
  const auto spurious = Must(With(FaultAction::kExists412).PutIfAbsent("k2", Bytes("1")));
  EXPECT_EQ(spurious.outcome, PutOutcome::kExists);
  EXPECT_EQ(Text(*base_, "k2"), "(missing)");
  const std::string identity = Must(base_->Head("k")).info.identity;
  const auto swap =
      Must(With(FaultAction::kExists412, Bytes("newer")).PutIfMatch("k", Bytes("1"), identity));
  EXPECT_EQ(swap.outcome, PutOutcome::kExists);
  EXPECT_EQ(Text(*base_, "k"), "newer");
}

TEST_F(FaultStoreTest, ADelayedPutTakesEffectLater) {
  EXPECT_EQ(Must(With(FaultAction::kDelay).PutIfAbsent("k", Bytes("1"))).outcome,
            PutOutcome::kNoReply);
  EXPECT_EQ(Text(*base_, "k"), "(missing)");
  ASSERT_TRUE(deferred_);
  deferred_();
  EXPECT_THAT(log_, ElementsAre(")", "k=1"));
  EXPECT_EQ(Text(*base_, "k"), "1");
  // Someone else was faster: the late request finds the key taken.
  EXPECT_EQ(Must(With(FaultAction::kDelay).PutIfAbsent("k2", Bytes("late"))).outcome,
            PutOutcome::kNoReply);
  Must(base_->Put("k2", Bytes("theirs")));
  deferred_();
  EXPECT_EQ(Text(*base_, "k2"), "theirs");
  EXPECT_THAT(log_, ElementsAre(")"));
}

TEST_F(FaultStoreTest, ListingsMayBeTorn) {
  for (const char* key : {"v1", "v2", "v3", "v4"}) Must(base_->Put(key, Bytes("1")));
  between_pages_ = [this] {
    // Seen by the second page: what is added behind it; not seen: what changes before it.
    TL_EXPECT_OK(base_->Delete("v1"));
    TL_EXPECT_OK(base_->Delete("v3"));
    Must(base_->Put("v0", Bytes("1")));
    Must(base_->Put("v5", Bytes("1")));
    between_pages_ = nullptr;
  };
  EXPECT_THAT(Keys(*store_, "v"), ElementsAre("v1", "v2", "v4", "v5"));
  EXPECT_THAT(log_, ElementsAre("(", "|", ")"));
}

TEST_F(FaultStoreTest, CompareAndSwapCanBeTakenAway) {
  EXPECT_TRUE(store_->has_compare_and_swap());
  EXPECT_FALSE(MakeFaultStore(base_, {}, {.compare_and_swap = false})->has_compare_and_swap());
}

}  // namespace
}  // namespace timelake::store
