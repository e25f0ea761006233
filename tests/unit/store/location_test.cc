#include <unistd.h>

#include "base/clock.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

std::string Root(std::string_view location) {
  const auto parsed = ParseLocation(location);
  return parsed.ok() ? parsed->scheme + " " + parsed->root : parsed.status().ToString();
}

ErrorKind Refusal(std::string_view location) { return KindOf(ParseLocation(location).status()); }

TEST(Location, LocalSpellings) {
  EXPECT_EQ(Root("/data/lake"), "file /data/lake");
  EXPECT_EQ(Root("/data/lake//"), "file /data/lake");
  EXPECT_EQ(Root("/data/./x/../lake/"), "file /data/lake");
  EXPECT_EQ(Root("file:///data/lake/"), "file /data/lake");
  EXPECT_EQ(Root("file:/data/lake"), "file /data/lake");
  EXPECT_EQ(Root("FILE:///data/lake"), "file /data/lake");
  EXPECT_EQ(Root("file://localhost/data"), "file /data");
  EXPECT_EQ(Root("file:///a%20b"), "file /a%20b");
  EXPECT_EQ(Root("/"), "file ");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(Root("lake"), "file " + here + "/lake");
  EXPECT_EQ(Root("./lake"), "file " + here + "/lake");
  EXPECT_EQ(Root("."), "file " + here);
  EXPECT_EQ(Root("a:b/c"), "file " + here + "/a:b/c");
  EXPECT_EQ(Root("./s3:x"), "file " + here + "/s3:x");
}

TEST(Location, Home) {
  const char* home = std::getenv("HOME");
  ASSERT_NE(home, nullptr);
  const std::string expected = Root(home);
  EXPECT_EQ(Root("~"), expected);
  EXPECT_EQ(Root("~/"), expected);
  EXPECT_EQ(Root("~/lake/"), expected + (expected.ends_with('/') ? "" : "/") + "lake");
  EXPECT_EQ(Refusal("~someone/lake"), ErrorKind::kInvalidArgument);
}

TEST(Location, Memory) {
  EXPECT_EQ(Root("memory://name"), "memory name");
  EXPECT_EQ(Root("memory://name/wh/"), "memory name/wh");
  EXPECT_EQ(Refusal("memory://"), ErrorKind::kInvalidArgument);
  EXPECT_EQ(Refusal("memory:///x"), ErrorKind::kInvalidArgument);
}

TEST(Location, Buckets) {
  EXPECT_EQ(Root("s3://bucket/wh/"), "s3 bucket/wh");
  EXPECT_EQ(Root("S3A://bucket.of-ours/a b/c"), "s3 bucket.of-ours/a b/c");
  EXPECT_EQ(Root("s3n://bucket"), "s3 bucket");
  for (const char* location : {"s3://", "s3:///x", "s3://user@host/x", "s3://b?x/y"}) {
    EXPECT_EQ(Refusal(location), ErrorKind::kInvalidArgument) << location;
  }
}

TEST(Location, RefusalsSayWhatIsAccepted) {
  for (const char* location :
       {"gs://b/x", "gcs://b/x", "az://c/x", "abfss://c@a/x", "http://host/x", "https://host/x"}) {
    const Status status = ParseLocation(location).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported) << location;
    EXPECT_NE(status.message().find("comes with object stores"), std::string::npos);
    EXPECT_NE(status.message().find("memory://name"), std::string::npos);
  }
  for (const char* location :
       {"", "ftp://host/x", "s3:bucket", "S3:/b", "file:x", "file://host/x"}) {
    EXPECT_EQ(Refusal(location), ErrorKind::kInvalidArgument) << location;
  }
  EXPECT_EQ(Refusal(std::string_view("/a\0b", 4)), ErrorKind::kInvalidArgument);
  const Status unknown = ParseLocation("ftp://host/x").status();
  EXPECT_NE(unknown.message().find("'ftp'"), std::string::npos);
  EXPECT_NE(unknown.message().find("file:///"), std::string::npos);
}

TEST(Uri, LocalKeysWhateverTheSpelling) {
  const auto store = MakeLocalStore();
  EXPECT_EQ(UriOf(*store, "/a/b c%2F#"), "file:///a/b c%2F#");
  for (const char* uri : {"/a/b%20c", "file:/a/b%20c", "file:///a/b%20c", "File:///a/b%20c",
                          "file://localhost/a/b%20c"}) {
    EXPECT_EQ(Must(KeyOf(*store, uri)), "/a/b%20c") << uri;
  }
  for (const char* uri : {"s3://b/k", "memory://a/b", "a/b", "", "file"}) {
    EXPECT_EQ(KindOf(KeyOf(*store, uri).status()), ErrorKind::kUnsupported) << uri;
  }
}

TEST(Uri, MemoryKeys) {
  const auto store = MakeMemoryStore(SystemClock());
  EXPECT_EQ(UriOf(*store, "name/a"), "memory://name/a");
  EXPECT_EQ(Must(KeyOf(*store, "memory://name/a?b#c")), "name/a?b#c");
  for (const char* uri : {"s3://b/k", "/a", "name/a", "://a", "a b://c"}) {
    EXPECT_EQ(KindOf(KeyOf(*store, uri).status()), ErrorKind::kUnsupported) << uri;
  }
}

TEST(MemoryStore, SharedByName) {
  const auto one = SharedMemoryStore("location_test_one");
  TL_EXPECT_OK(one->Put("location_test_one/x", Bytes("1")).status());
  EXPECT_EQ(SharedMemoryStore("location_test_one"), one);
  EXPECT_NE(SharedMemoryStore("location_test_two"), one);
}

}  // namespace
}  // namespace timelake::store
