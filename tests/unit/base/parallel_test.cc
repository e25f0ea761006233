#include "base/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "base/memory.h"

namespace timelake {
namespace {

TEST(Parallel, EachTaskRunsOnce) {
  for (const int threads : {1, 2, 8}) {
    std::vector<std::atomic<int>> runs(100);
    for (const auto& run : {ParallelColumns, ParallelFor}) {
      ASSERT_TRUE(run(100, threads, [&](int i) {
                    ++runs[static_cast<size_t>(i)];
                    return Status::OK();
                  }).ok());
    }
    for (const auto& count : runs) EXPECT_EQ(count, 2);
  }
  EXPECT_TRUE(ParallelFor(0, 4, [](int) { return InternalError("none"); }).ok());
}

TEST(Parallel, TheFirstErrorEndsIt) {
  std::atomic<int> begun = 0;
  const Status status = ParallelFor(100'000, 4, [&](int i) {
    ++begun;
    return i == 7 ? InvalidArgument("task {}", i) : Status::OK();
  });
  EXPECT_EQ(MessageOf(status), "task 7");
  EXPECT_LT(begun, 100'000);
}

// More tasks wait for tasks than the pool has threads.
TEST(Parallel, TasksMayDoTheSame) {
  std::atomic<int> done = 0;
  const auto inner = [&](int) {
    ++done;
    return Status::OK();
  };
  const Status status = ParallelFor(100, 100, [&](int) {
    return ParallelFor(5, 5, [&](int) { return ParallelColumns(3, 3, inner); });
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(done, 1500);
}

#ifndef __SANITIZE_THREAD__  // which lets no child of a process with threads start any

// The threads of the parent are not there.
TEST(Parallel, GoesOnInAForkedChild) {
  std::atomic<int> done = 0;
  const auto task = [&](int) {
    ++done;
    return Status::OK();
  };
  ASSERT_TRUE(ParallelFor(20, 8, task).ok());
  ASSERT_TRUE(ParallelColumns(20, 8, task).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    done = 0;
    alarm(60);
    const bool ok = ParallelFor(20, 8, task).ok() && ParallelColumns(20, 8, task).ok();
    _exit(ok && done == 40 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Helpers that come too late while static objects are destroyed.
TEST(Parallel, AProcessMayEndAtAnyTime) {
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      const Status done = ParallelFor(9, 9, [](int) { return Status::OK(); });
      std::exit(done.ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

#endif

TEST(Parallel, HelpersTakeMemoryFromTheCallersPool) {
  EXPECT_EQ(CurrentPool(), arrow::default_memory_pool());
  arrow::ProxyMemoryPool own(arrow::system_memory_pool());
  {
    const UsePool use(&own);
    std::atomic<int> others = 0;
    for (const auto& run : {ParallelColumns, ParallelFor}) {
      ASSERT_TRUE(run(64, 4, [&](int) {
                    others += CurrentPool() != &own;
                    std::this_thread::yield();
                    return Status::OK();
                  }).ok());
    }
    EXPECT_EQ(others, 0);
    {
      const UsePool again(arrow::system_memory_pool());
      EXPECT_EQ(CurrentPool(), arrow::system_memory_pool());
    }
    EXPECT_EQ(CurrentPool(), &own);
  }
  std::atomic<int> kept = 0;
  ASSERT_TRUE(ParallelFor(64, 8, [&](int) {
                kept += CurrentPool() == &own;
                return Status::OK();
              }).ok());
  EXPECT_EQ(kept, 0);
}

}  // namespace
}  // namespace timelake
