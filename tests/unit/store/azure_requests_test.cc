#include "base/civil_time.h"
#include "store/azure_sign.h"
#include "store/azure_xml.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

// The examples of "Authorize with Shared Key" in Azure's reference.
TEST(SharedKey, StringsToSign) {
  RemoteRequest request;
  request.method = "GET";
  request.path = "/mycontainer";
  request.query = {{"timeout", "20"}, {"restype", "container"}, {"comp", "metadata"}};
  request.headers = {{"x-ms-version", "2015-02-21"},
                     {"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}};
  EXPECT_EQ(SharedKeyStringToSign(request, "myaccount"),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
            "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\n"
            "timeout:20");
  RemoteRequest put;
  put.method = "PUT";
  put.path = "/mycontainer/a%20b";
  put.headers = {{"if-none-match", "*"}, {"x-ms-blob-type", "BlockBlob"}, {"range", "bytes=0-1"}};
  put.body = Bytes("hello");
  EXPECT_EQ(SharedKeyStringToSign(put, "myaccount"),
            "PUT\n\n\n5\n\n\n\n\n\n*\n\nbytes=0-1\nx-ms-blob-type:BlockBlob\n"
            "/myaccount/mycontainer/a%20b");
  put.body = Bytes("");
  EXPECT_EQ(SharedKeyStringToSign(put, "a").substr(0, 10), "PUT\n\n\n\n\n\n\n");
}

TEST(SharedKey, Dates) {
  EXPECT_EQ(HttpDate(*FromCivil({2015, 6, 26, 23, 39, 12, 5})), "Fri, 26 Jun 2015 23:39:12 GMT");
  EXPECT_EQ(HttpDate(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

constexpr std::string_view kPage =
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"c\">"
    "<Prefix>p/</Prefix><Blobs>"
    "<Blob><Name>p/a&amp;b</Name><Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT"
    "</Last-Modified><Etag>0x8D</Etag><Content-Length>5</Content-Length><Content-MD5 />"
    "</Properties></Blob>"
    "<Blob><Name Encoded=\"true\">p/%EF%BF%BF</Name><Properties><Last-Modified>Thu, 01 Jan 2026 "
    "00:00:00 GMT</Last-Modified><Etag>\"0x8E\"</Etag><Content-Length>0</Content-Length>"
    "<ResourceType>file</ResourceType></Properties></Blob>"
    "<Blob><Name>p/folder</Name><Properties><Etag>0x8F</Etag><ResourceType>directory"
    "</ResourceType></Properties></Blob>"
    "<BlobPrefix><Name>p/d/</Name></BlobPrefix>"
    "</Blobs><NextMarker>2!m</NextMarker></EnumerationResults>";

TEST(AzureXml, Listing) {
  const ListPage page = Must(ParseAzureListing(kPage));
  ASSERT_EQ(page.objects.size(), 2u);
  EXPECT_EQ(page.objects[0].key, "p/a&b");
  EXPECT_EQ(page.objects[0].identity, "0x8D");
  EXPECT_EQ(page.objects[0].size, 5);
  EXPECT_EQ(page.objects[0].mtime_us, *FromCivil({2026, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(page.objects[1].key, "p/\xef\xbf\xbf");
  EXPECT_EQ(page.objects[1].identity, "0x8E");
  EXPECT_EQ(page.folders, std::vector<std::string>{"p/d/"});
  EXPECT_EQ(page.next, "2!m");
}

TEST(AzureXml, AListingThatIsCutOffIsAnError) {
  for (size_t size = 0; size + 1 < kPage.size(); ++size) {
    EXPECT_FALSE(ParseAzureListing(kPage.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseAzureListing("<EnumerationResults><Blobs><Blob><Name>a</Name></Blob></Blobs>"
                                 "</EnumerationResults>")
                   .ok());
}

TEST(AzureXml, BlockList) {
  EXPECT_EQ(BlockListXml({"YQ==", "Yg=="}),
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><Latest>YQ==</Latest><Latest>Yg=="
            "</Latest></BlockList>");
}

}  // namespace
}  // namespace timelake::store
