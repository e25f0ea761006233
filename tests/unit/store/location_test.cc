#include <unistd.h>

#include "base/clock.h"
#include "store/local_store.h"
#include "store/memory_store.h"
#include "store/moved_store.h"
#include "store/open_store.h"
#include "store/scheme.h"
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

// "kind root, scheme of the store"
std::string Full(std::string_view location) {
  const Location parsed = Must(ParseLocation(location));
  return std::string(KindOfScheme(parsed.scheme)) + " " + parsed.root + ", " + parsed.scheme;
}

TEST(Location, OfGoogleAndAzure) {
  EXPECT_EQ(Full("gs://bucket/wh/"), "gs bucket/wh, gs");
  EXPECT_EQ(Full("gcs://bucket_of.ours/a b"), "gs bucket_of.ours/a b, gs");
  for (const char* same : {"az://c/wh", "azure://c/wh", "adl://c/wh/"}) {
    EXPECT_EQ(Full(same), "az c/wh, az") << same;
  }
  EXPECT_EQ(Full("abfs://c/wh"), "az c/wh, abfs");
  EXPECT_EQ(Full("abfss://c@acct.dfs.core.windows.net/a/b@c"),
            "az c/a/b@c, abfss@acct.dfs.core.windows.net");
  EXPECT_EQ(Full("wasbs://$web@acct.blob.core.windows.net"),
            "az $web, wasbs@acct.blob.core.windows.net");
  for (const char* location : {"gs://", "gs:///x", "gs://a@b/x", "az://", "az://@host/x",
                               "abfss://c@/x", "abfss://c@a@b/x", "az://c.d/x", "gs:b/x"}) {
    EXPECT_EQ(Refusal(location), ErrorKind::kInvalidArgument) << location;
  }
}

TEST(Location, OfTheWeb) {
  EXPECT_EQ(Full("https://host/a%20b/c%2Fd/"), "http host/a b/c/d, https");
  EXPECT_EQ(Full("HTTP://127.0.0.1:8000/wh"), "http 127.0.0.1:8000/wh, http");
  EXPECT_EQ(Full("http://[::1]:8000"), "http [::1]:8000, http");
  for (const char* location :
       {"http://", "https:///x", "https://user@host/x", "https://host/x?y", "https://host/x#y"}) {
    EXPECT_EQ(Refusal(location), ErrorKind::kInvalidArgument) << location;
  }
}

TEST(Location, RefusalsSayWhatIsAccepted) {
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

// Nobody answers; nothing is asked.
std::shared_ptr<ObjectStore> AzureAs(const char* uri_scheme) {
  return Must(OpenStore({uri_scheme, "c/wh"}, {{"azure_storage_account_name", "acct"},
                                               {"azure_skip_signature", "true"}}));
}

TEST(Uri, AzureKeysWhateverTheSpelling) {
  const auto plain = AzureAs("az");
  const auto full = AzureAs("abfss@acct.dfs.core.windows.net");
  EXPECT_EQ(UriOf(*plain, "c/wh/a b"), "az://c/wh/a b");
  EXPECT_EQ(UriOf(*full, "c/wh/a b"), "abfss://c@acct.dfs.core.windows.net/wh/a b");
  EXPECT_EQ(UriOf(*full, "c"), "abfss://c@acct.dfs.core.windows.net");
  for (const auto& store : {plain, full}) {
    for (const char* uri : {"az://c/wh/x@y", "azure://c/wh/x@y", "abfs://c/wh/x@y",
                            "abfss://c@acct.dfs.core.windows.net/wh/x@y",
                            "wasbs://c@acct.blob.core.windows.net/wh/x@y"}) {
      EXPECT_EQ(Must(KeyOf(*store, uri)), "c/wh/x@y") << uri;
    }
    EXPECT_EQ(KindOf(KeyOf(*store, "s3://c/wh/x").status()), ErrorKind::kUnsupported);
  }
  EXPECT_EQ(KindOf(KeyOf(*full, "abfss://c@other.dfs.core.windows.net/wh/x").status()),
            ErrorKind::kUnsupported);
}

// A copy of a table whose metadata name another store.
TEST(Uri, OfACopy) {
  const auto base = MakeMemoryStore(SystemClock());
  const auto moved = MakeMovedStore(base, "s3://b/wh/t", "name/copy/t");
  EXPECT_EQ(Must(KeyOf(*moved, "s3://b/wh/t/data/x")), "name/copy/t/data/x");
  EXPECT_EQ(Must(KeyOf(*moved, "memory://name/copy/t/data/x")), "name/copy/t/data/x");
  EXPECT_EQ(KindOf(KeyOf(*moved, "s3://b/wh/t2/data/x").status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(KeyOf(*moved, "s3://b/wh/t").status()), ErrorKind::kUnsupported);
}

TEST(MemoryStore, SharedByName) {
  const auto one = SharedMemoryStore("location_test_one");
  TL_EXPECT_OK(one->Put("location_test_one/x", Bytes("1")).status());
  EXPECT_EQ(SharedMemoryStore("location_test_one"), one);
  EXPECT_NE(SharedMemoryStore("location_test_two"), one);
}

}  // namespace
}  // namespace timelake::store
