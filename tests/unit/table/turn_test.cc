// Turns of writers on local disk.
#include "table/turn.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "store/local_store.h"
#include "store/memory_store.h"

namespace timelake::table {
namespace {

constexpr int64_t kSecond = 1'000'000;

class TurnTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tl-turn-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Handle Local() const { return Handle(MakeEnv(store::MakeLocalStore()), "ns.t", folder_); }

  std::string folder_;
};

TEST_F(TurnTest, OneAtATime) {
  const Handle handle = Local();
  Turn first;
  EXPECT_FALSE(first.Take(handle, kSecond, {}));  // there was nobody
  ASSERT_TRUE(first.held());
  Turn second;
  second.Take(handle, kSecond, [] { return true; });
  EXPECT_FALSE(second.held());  // cancelled
  EXPECT_TRUE(second.Take(handle, kSecond / 20, {}));
  EXPECT_FALSE(second.held());  // too late
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first.Leave();
  });
  EXPECT_TRUE(second.Take(handle, 60 * kSecond, {}));
  EXPECT_TRUE(second.held());
  leaves.join();
  EXPECT_FALSE(first.held());
}

TEST_F(TurnTest, OtherStoresHaveNone) {
  const Handle handle(MakeEnv(std::make_shared<store::MemoryStore>(SystemClock())), "ns.t",
                      folder_);
  Turn turn;
  EXPECT_FALSE(turn.Take(handle, kSecond, {}));
  EXPECT_FALSE(turn.held());
}

// The last test: the process remembers that for a minute.
TEST_F(TurnTest, WhoWaitsInVainDoesNotWaitAgain) {
  const Handle handle = Local();
  Turn sleeps;
  sleeps.Take(handle, kSecond, {});
  Turn other;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(other.Take(handle, 60 * kSecond, {}));
  EXPECT_FALSE(other.held());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_FALSE(other.Take(handle, 60 * kSecond, {}));
  EXPECT_FALSE(other.held());
  sleeps.Leave();
  EXPECT_FALSE(other.Take(handle, 60 * kSecond, {}));
  EXPECT_TRUE(other.held());
}

}  // namespace
}  // namespace timelake::table
