// Listing-free hosting: duckdb-iceberg 29 and its like ask for catalogs or listings where a static
// server has neither.
#include <fstream>
#include <sstream>

#include "regress/lake_fixture.h"
#include "store/url_text.h"
#include "unit/store/fake_http_server.h"

namespace timelake::regress {
namespace {

using store::FakeReply;
using store::FakeRequest;

class WebServer : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    server_ = std::make_unique<store::FakeHttpServer>(
        [this](const FakeRequest& request) { return Answer(request); });
  }
  std::string url() const { return server_->endpoint() + "/lake"; }

  // Files of root_ under /lake, with ranges.
  FakeReply Answer(const FakeRequest& request) const {
    const std::string path = store::UriDecode(request.path);
    if (!path.starts_with("/lake/")) return {404, {}, "", false};
    std::ifstream file(root_ / path.substr(6), std::ios::binary);
    if (!file) return {404, {}, "", false};
    std::stringstream bytes;
    bytes << file.rdbuf();
    FakeReply reply{200, {{"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}}, bytes.str(), false};
    const auto range = request.headers.find("range");
    if (range != request.headers.end()) {
      const size_t first = std::stoul(range->second.substr(6));
      const size_t last = std::stoul(range->second.substr(range->second.find('-') + 1));
      reply.status = 206;
      reply.headers["Content-Range"] = "bytes " + std::to_string(first) + "-" +
                                       std::to_string(last) + "/" +
                                       std::to_string(reply.body.size());
      reply.body = reply.body.substr(first, last - first + 1);
    }
    return reply;
  }

  std::unique_ptr<store::FakeHttpServer> server_;
};

TEST_F(WebServer, ServesTablesThatWerePublishedAndWhatComesAfterwards) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("plant.t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{1, "a", 1}, {2, "b", 2}})).status());
  const PublishReport report = Must(lake.Publish());
  ASSERT_EQ(report.tables.size(), 1u);
  EXPECT_EQ(report.tables[0].name, "plant.t");
  EXPECT_EQ(report.tables[0].version, 2);
  EXPECT_EQ(report.index, lake.location() + "/timelake-index.json");

  LakeOptions each_time;
  each_time.settings = {{"version-check-interval", "0s"}};
  Lake far = Must(Lake::Open(url(), each_time));
  EXPECT_EQ(far.location(), url());
  EXPECT_EQ(Must(far.ListTables()), std::vector<std::string>{"plant.t"});
  EXPECT_EQ(Ask(far, "SELECT sum(v) FROM plant.t"), "3");
  EXPECT_EQ(Must(Must(far.OpenTable("plant.t")).Latest())->num_rows(), 2);
  TL_OK(table.Append(Batch({{3, "c", 4}})).status());
  EXPECT_EQ(Ask(far, "SELECT sum(v) FROM plant.t"), "7");
  EXPECT_EQ(Ask(Must(Lake::Open(url())), "SELECT sum(v) FROM plant.t"), "7");
}

TEST_F(WebServer, IsNotWrittenTo) {
  Lake lake = OpenLake();
  TL_OK(lake.CreateTable("t", kColumns, Readings()).status());
  TL_OK(lake.Publish().status());
  Lake far = Must(Lake::Open(url()));
  Table table = Must(far.OpenTable("t"));
  for (const Status& status :
       {table.Append(Batch({{1, "a", 1}})).status(), table.SetProperties({{"retention", "9d"}}),
        far.CreateTable("u", kColumns, Readings()).status(), far.DropTable("t"),
        far.Publish().status()}) {
    EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported) << status.ToString();
    EXPECT_NE(status.message().find("can only be read"), std::string::npos) << status.ToString();
  }
  for (const FakeRequest& request : server_->requests()) {
    EXPECT_TRUE(request.method == "GET" || request.method == "HEAD") << request.method;
  }
}

TEST_F(WebServer, AFunctionForCredentialsIsNotForFolders) {
  const auto nobody = []() -> arrow::Result<StorageCredentials> {
    return arrow::Status::IOError("is not asked");
  };
  EXPECT_EQ(KindOf(Lake::Open(root_.string(), {}, nobody).status()), ErrorKind::kInvalidArgument);
  Lake lake = Must(Lake::Open("s3://bucket/wh", {}, nobody));
  const Status status = lake.ListTables().status();
  EXPECT_NE(status.message().find("the credentials callback: is not asked"), std::string::npos)
      << status.ToString();
}

}  // namespace
}  // namespace timelake::regress
