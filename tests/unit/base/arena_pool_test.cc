#include "base/arena_pool.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace timelake {
namespace {

struct Piece {
  uint8_t* begin = nullptr;
  int64_t size = 0;
  uint8_t mark = 0;
};

void Fill(const Piece& piece, int64_t from = 0) {
  std::memset(piece.begin + from, piece.mark, static_cast<size_t>(piece.size - from));
}

bool IsWhole(const Piece& piece) {
  for (int64_t i = 0; i < piece.size; ++i) {
    if (piece.begin[i] != piece.mark) return false;
  }
  return true;
}

// Takes, grows, shrinks and frees pieces of all sizes; each keeps what was written to it.
void Exercise(ArenaPool* pool, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto any_size = [&] {
    const int64_t most = int64_t{1} << (random() % 23);
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
  };
  std::vector<Piece> pieces;
  for (int step = 0; step < 3000; ++step) {
    const auto what = random() % 4;
    if (pieces.empty() || what < 2) {
      Piece piece{.size = any_size(), .mark = static_cast<uint8_t>(random())};
      ASSERT_TRUE(pool->Allocate(piece.size, 64, &piece.begin).ok());
      ASSERT_EQ(reinterpret_cast<uintptr_t>(piece.begin) % 64, 0u);
      Fill(piece);
      pieces.push_back(piece);
    } else if (what == 2) {
      Piece& piece = pieces[random() % pieces.size()];
      const int64_t size = any_size();
      ASSERT_TRUE(pool->Reallocate(piece.size, size, 64, &piece.begin).ok());
      const int64_t before = std::min(piece.size, size);
      piece.size = before;
      ASSERT_TRUE(IsWhole(piece));
      piece.size = size;
      Fill(piece, before);
    } else {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      ASSERT_TRUE(IsWhole(pieces.back()));
      pool->Free(pieces.back().begin, pieces.back().size, 64);
      pieces.pop_back();
    }
    if (step % 500 == 499) pool->ReleaseUnused();
  }
  for (const Piece& piece : pieces) {
    ASSERT_TRUE(IsWhole(piece));
    pool->Free(piece.begin, piece.size, 64);
  }
}

TEST(ArenaPool, PiecesKeepWhatIsInThem) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    ArenaPool pool;
    Exercise(&pool, seed);
    EXPECT_EQ(pool.bytes_allocated(), 0);
    EXPECT_GT(pool.max_memory(), 0);
  }
}

TEST(ArenaPool, ThreadsShareIt) {
  ArenaPool pool;
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t) threads.emplace_back([&pool, t] { Exercise(&pool, t); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

// What many small pieces were is one large piece again, whichever order they went in.
TEST(ArenaPool, FreeNeighboursJoin) {
  ArenaPool pool;
  constexpr int64_t kSmall = 64 << 10;
  constexpr int kMany = 512;  // 32 MiB, half of a segment
  std::vector<uint8_t*> pieces(kMany);
  for (auto& piece : pieces) ASSERT_TRUE(pool.Allocate(kSmall, 64, &piece).ok());
  uint8_t* const lowest = *std::min_element(pieces.begin(), pieces.end());
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(1));
  for (uint8_t* piece : pieces) pool.Free(piece, kSmall, 64);
  uint8_t* whole = nullptr;
  ASSERT_TRUE(pool.Allocate(kMany * kSmall, 64, &whole).ok());
  EXPECT_EQ(whole, lowest);
  pool.Free(whole, kMany * kSmall, 64);
}

TEST(ArenaPool, MoreThanThereIsIsAnError) {
  ArenaPool pool;
  uint8_t* piece = nullptr;
  const auto status = pool.Allocate(std::numeric_limits<int64_t>::max() / 4, 64, &piece);
  EXPECT_TRUE(status.IsOutOfMemory()) << status;
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

}  // namespace
}  // namespace timelake
