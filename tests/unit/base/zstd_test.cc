#include "base/zstd.h"

#include <string>
#include <thread>
#include <vector>

#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace timelake {
namespace {

std::string Compressed(const std::string& text, int level) {
  std::string out(static_cast<size_t>(ZstdMostBytes(static_cast<int64_t>(text.size()))), '\0');
  const auto used = ZstdCompress(text.data(), static_cast<int64_t>(text.size()), level, out.data(),
                                 static_cast<int64_t>(out.size()));
  EXPECT_TRUE(used.ok()) << used.status().ToString();
  out.resize(used.ok() ? static_cast<size_t>(*used) : 0);
  return out;
}

// By Arrow's decoder.
std::string Unpacked(const std::string& frame, size_t size) {
  auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  std::string out(size, '\0');
  const auto got = codec->Decompress(
      static_cast<int64_t>(frame.size()), reinterpret_cast<const uint8_t*>(frame.data()),
      static_cast<int64_t>(out.size()), reinterpret_cast<uint8_t*>(out.data()));
  EXPECT_TRUE(got.ok()) << got.status().ToString();
  return out;
}

TEST(Zstd, AContextServesTextsOfAllSizesAndLevelsInTurn) {
  const auto random = SeededRandom(7);
  for (const size_t size : {0u, 1u, 100u, 5'000u, 300'000u, 3u, 70'000u}) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>('a' + random->Below(4));
    for (const int level : {1, 3, 9, 10, 19}) {
      const std::string frame = Compressed(text, level);
      EXPECT_EQ(Unpacked(frame, size), text) << size << " bytes at level " << level;
    }
  }
}

TEST(Zstd, TheSameTextAlwaysMakesTheSameFrame) {
  const std::string text(10'000, 'x');
  const std::string first = Compressed(text, 3);
  Compressed(std::string(500'000, 'y'), 3);
  EXPECT_EQ(Compressed(text, 3), first);
}

TEST(Zstd, ThreadsDoNotShareAContext) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int round = 0; round < 50; ++round) {
        const std::string text(static_cast<size_t>(1000 + i * 777 + round), static_cast<char>(i));
        EXPECT_EQ(Unpacked(Compressed(text, 3), text.size()), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Zstd, TooLittleRoomIsAnErrorAndDoesNoHarm) {
  char out[4];
  const std::string text = "no room for this text, whatever is made of it";
  EXPECT_FALSE(
      ZstdCompress(text.data(), static_cast<int64_t>(text.size()), 3, out, sizeof(out)).ok());
  EXPECT_EQ(Unpacked(Compressed(text, 3), text.size()), text);
}

}  // namespace
}  // namespace timelake
