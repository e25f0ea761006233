#include "store/web_store.h"

#include "credentials_testing.h"
#include "store/open_store.h"
#include "store/url_text.h"
#include "store/web_index.h"

namespace timelake::store {
namespace {

TEST(UrlText, EncodesAndDecodes) {
  EXPECT_EQ(UriEncode("a b/c%~", true), "a%20b/c%25~");
  EXPECT_EQ(UriEncode("a/b", false), "a%2Fb");
  EXPECT_EQ(UriDecode("a%20b%2Fc%zz%2"), "a b/c%zz%2");
  EXPECT_EQ(QueryText({{"b", "2 3"}, {"a", ""}}), "a=&b=2%203");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    EXPECT_EQ(Must(FromBase64(Base64(bytes.substr(0, size)))), bytes.substr(0, size));
  }
  EXPECT_EQ(Base64Url("\xfb\xff"), "-_8");
  for (const char* wrong : {"a", "ab", "abc", "abcde", "ab!=", "a===", "====", "ab=c"}) {
    EXPECT_FALSE(FromBase64(wrong).ok()) << wrong;
  }
}

TEST(WebIndex, IsReadAsItIsWritten) {
  WebIndex index;
  index.tables = {{"default.t", 7, "uuid"}, {"plant.cpu-2_x", 12, ""}};
  const std::string text = WriteWebIndex(index);
  EXPECT_NE(text.find("\"metadata\": \"default/t/metadata/v7.metadata.json\""), std::string::npos);
  const WebIndex read = Must(ParseWebIndex(text));
  ASSERT_EQ(read.tables.size(), 2u);
  EXPECT_EQ(read.tables[1].name, "plant.cpu-2_x");
  EXPECT_EQ(read.tables[1].folder(), "plant/cpu-2_x");
  EXPECT_EQ(read.tables[1].version, 12);
  EXPECT_EQ(read.tables[0].table_uuid, "uuid");
  const WebIndex names = Must(ParseWebIndex(WriteNamesIndex(index)));
  ASSERT_EQ(names.tables.size(), 2u);
  EXPECT_EQ(names.tables[0].name, "default.t");
  EXPECT_EQ(names.tables[0].version, 0);
}

TEST(WebIndex, OddOnesAreErrors) {
  for (const char* text :
       {"", "7", "{}", R"({"format-version": "1"})", R"({"format-version": 2, "tables": []})",
        R"({"format-version": 1})", R"({"format-version": 1, "tables": {}})", "[7]", "[{}]",
        R"(["t"])", R"(["a.b/../c"])", R"([".t"])", R"(["a."])", R"(["a.b.c"])"}) {
    EXPECT_FALSE(ParseWebIndex(text).ok()) << text;
  }
  EXPECT_TRUE(ParseWebIndex("[]").ok());
  EXPECT_TRUE(
      ParseWebIndex(R"({"format-version": 1, "more": 1, "tables": [{"name": "a.b"}]})").ok());
}

class WebStoreTest : public ::testing::Test {
 protected:
  void Serve(Map files) {
    files_ = std::move(files);
    server_ = std::make_unique<FakeHttpServer>([this](const FakeRequest& request) {
      const auto file = files_.find(request.path);
      if (file == files_.end()) return FakeReply{404, {}, "", false};
      return FakeReply{
          200, {{"Content-Length", std::to_string(file->second.size())}}, file->second, false};
    });
    const std::string host = server_->endpoint().substr(7);
    root_ = host + "/a b";
    store_ = Must(OpenStore({"http", root_}, {{"max_retries", "0"}}));
  }

  Map files_;
  std::unique_ptr<FakeHttpServer> server_;
  std::string root_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(WebStoreTest, ListsByTheIndexAndTheHint) {
  Serve(
      {{"/a%20b/timelake-index.json", WriteWebIndex({{{"default.t", 3, ""}, {"plant.u", 1, ""}}})},
       {"/a%20b/default/t/metadata/v3.metadata.json", "{}"},
       {"/a%20b/default/t/metadata/v4.metadata.json", "{4}"},
       {"/a%20b/default/t/metadata/v6.metadata.json", "not next to the others"}});
  EXPECT_EQ(Must(store_->ListFolders(root_ + "/")), (std::vector<std::string>{"default", "plant"}));
  EXPECT_EQ(Must(store_->ListFolders(root_ + "/plant/")), std::vector<std::string>{"u"});
  EXPECT_TRUE(Must(store_->ListFolders(root_ + "/none/")).empty());
  const std::string newest = root_ + "/default/t/metadata/v4.metadata.json";
  EXPECT_EQ(Keys(*store_, root_ + "/default/t/metadata/v"), std::vector<std::string>{newest});
  EXPECT_EQ(Must(store_->List(root_ + "/default/t/metadata/v")).objects[0].size, 3);
  files_["/a%20b/default/t/metadata/version-hint.text"] = "6\n";
  EXPECT_EQ(Keys(*store_, root_ + "/default/t/metadata/v").size(), 1u);
  EXPECT_EQ(Must(store_->List(root_ + "/default/t/metadata/v")).objects[0].size, 22);
  EXPECT_TRUE(Keys(*store_, root_ + "/default/none/metadata/v").empty());
  EXPECT_EQ(KindOf(store_->List(root_ + "/default/t/").status()), ErrorKind::kUnsupported);
}

TEST_F(WebStoreTest, ReadsWithWhatTheServerTells) {
  Serve({{"/a%20b/x", "0123456789"}});  // neither ETag nor Last-Modified, and no ranges
  const GetReply got = Must(store_->Get(root_ + "/x"));
  EXPECT_EQ(got.bytes->ToString(), "0123456789");
  EXPECT_EQ(got.info.mtime_us, 0);
  EXPECT_EQ(Must(store_->Head(root_ + "/x")).info.identity, got.info.identity);
  const auto file = Must(store_->OpenRead(root_ + "/x", std::nullopt));
  EXPECT_EQ(Must(file->ReadAt(3, 4))->ToString(), "3456");
  EXPECT_FALSE(Must(store_->Get(root_ + "/none")).found);
}

TEST_F(WebStoreTest, NothingIsSentThatWrites) {
  Serve({});
  const std::string key = root_ + "/x";
  for (const Status& status :
       {store_->Put(key, Bytes("x")).status(), store_->PutIfAbsent(key, Bytes("x")).status(),
        store_->PutIfMatch(key, Bytes("x"), "e").status(), store_->Delete(key),
        store_->OpenWrite(key).status(), store_->DeleteAll({key, key}),
        store_->PutAll({{key, Bytes("x")}})}) {
    EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported) << status;
  }
  EXPECT_TRUE(server_->requests().empty());
}

TEST_F(WebStoreTest, ARedirectionSaysWhereTo) {
  FakeHttpServer server([](const FakeRequest&) {
    return FakeReply{301, {{"Location", "https://elsewhere/x"}}, "", false};
  });
  const std::string host = server.endpoint().substr(7);
  const Status status = Must(OpenStore({"http", host + "/wh"}, {}))->Get(host + "/wh/x").status();
  EXPECT_NE(status.message().find("https://elsewhere/x"), std::string::npos) << status;
}

TEST(WebOptions, AreFew) {
  EXPECT_TRUE(OpenStore({"https", "host/wh"}, {{"timeout", "5s"}, {"allow_http", "true"}}).ok());
  const Status status = OpenStore({"https", "host/wh"}, {{"aws_region", "x"}}).status();
  EXPECT_NE(status.message().find("an https:// warehouse takes"), std::string::npos) << status;
  EXPECT_FALSE(OpenStore({"https", "host/wh"}, {}, [] { return StorageKeys{}; }).ok());
}

}  // namespace
}  // namespace timelake::store
