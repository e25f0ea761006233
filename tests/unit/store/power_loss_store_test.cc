#include "store/power_loss_store.h"

#include <set>

#include <gmock/gmock.h>

#include "base/clock.h"
#include "store/fault_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

using ::testing::UnorderedElementsAre;

struct Disk {
  PowerLossStore store{std::make_shared<MemoryStore>(SystemClock())};
};

TEST(PowerLoss, OnlyWhatIsDurableSurvives) {
  Disk disk;
  Must(disk.store.Put("synced", Bytes("1")));
  TL_EXPECT_OK(disk.store.Sync({"synced"}));
  Must(disk.store.Put("unsynced", Bytes("1")));
  Must(disk.store.PutIfAbsent("v1", Bytes("1")));
  auto stream = Must(disk.store.OpenWrite("streamed"));
  TL_EXPECT_OK(stream->Write("x", 1));
  TL_EXPECT_OK(stream->Close());
  const std::string identity = Must(disk.store.Head("synced")).info.identity;
  disk.store.PowerLoss();
  EXPECT_EQ(Text(disk.store, "synced"), "1");
  EXPECT_EQ(Must(disk.store.Head("synced")).info.identity, identity);
  EXPECT_EQ(Text(disk.store, "v1"), "1");
  EXPECT_EQ(Text(disk.store, "unsynced"), "(missing)");
  EXPECT_EQ(Text(disk.store, "streamed"), "(missing)");
  disk.store.PowerLoss();
  EXPECT_EQ(Keys(disk.store, "").size(), 2u);
}

TEST(PowerLoss, UnsyncedChangesOfDurableObjectsAreUndone) {
  Disk disk;
  for (const char* key : {"replaced", "deleted", "twice"}) {
    Must(disk.store.PutIfAbsent(key, Bytes("old")));
  }
  Must(disk.store.Put("replaced", Bytes("new")));
  TL_EXPECT_OK(disk.store.Delete("deleted"));
  TL_EXPECT_OK(disk.store.Delete("twice"));
  Must(disk.store.PutIfAbsent("twice", Bytes("new")));
  disk.store.PowerLoss();
  EXPECT_EQ(Text(disk.store, "replaced"), "old");
  EXPECT_EQ(Text(disk.store, "deleted"), "old");
  EXPECT_EQ(Text(disk.store, "twice"), "new");
}

TEST(PowerLoss, ChanceDecidesWhatIsNotDurable) {
  std::set<std::string> put, swapped, deleted;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Disk disk;
    Must(disk.store.Put("put", Bytes("whole")));
    const auto hint = Must(disk.store.PutIfAbsent("hint", Bytes("1")));
    Must(disk.store.PutIfMatch("hint", Bytes("2"), hint.info.identity));
    Must(disk.store.PutIfAbsent("deleted", Bytes("old")));
    TL_EXPECT_OK(disk.store.Delete("deleted"));
    disk.store.PowerLoss(SeededRandom(seed).get());
    put.insert(Text(disk.store, "put"));
    swapped.insert(Text(disk.store, "hint"));
    deleted.insert(Text(disk.store, "deleted"));
  }
  EXPECT_THAT(swapped, UnorderedElementsAre("1", "2"));
  EXPECT_THAT(deleted, UnorderedElementsAre("old", "(missing)"));
  EXPECT_TRUE(put.contains("whole"));
  EXPECT_TRUE(put.contains("(missing)"));
  EXPECT_TRUE(put.contains("who"));                            // cut short
  EXPECT_TRUE(put.contains(std::string("wh\0\0\0", 5)));       // never written out
}

TEST(PowerLoss, TheSameSeedDecidesTheSame) {
  const auto run = [](uint64_t seed) {
    Disk disk;
    for (int i = 0; i < 20; ++i) Must(disk.store.Put("k" + std::to_string(i), Bytes("abcdef")));
    disk.store.PowerLoss(SeededRandom(seed).get());
    std::string all;
    for (int i = 0; i < 20; ++i) all += Text(disk.store, "k" + std::to_string(i)) + ";";
    return all;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(PowerLoss, StreamsThatWereOpenAreLost) {
  const auto disk = std::make_shared<PowerLossStore>(std::make_shared<MemoryStore>(SystemClock()));
  const auto process = MakeFaultStore(disk);
  auto stream = Must(process->OpenWrite("s"));
  TL_EXPECT_OK(stream->Write("x", 1));
  disk->PowerLoss();
  EXPECT_EQ(KindOf(stream->Close()), ErrorKind::kIo);
  EXPECT_EQ(Text(*disk, "s"), "(missing)");
}

}  // namespace
}  // namespace timelake::store
