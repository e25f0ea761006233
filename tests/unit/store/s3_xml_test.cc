#include "store/s3_xml.h"

#include "store_testing.h"

namespace timelake::store {
namespace {

constexpr std::string_view kPage = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>b</Name><Prefix>a/</Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>
  <IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1==</NextContinuationToken>
  <Contents><Key>a/x &lt;&quot;&#233;&#x20AC;&apos;</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified>
    <ETag>&quot;abc&quot;</ETag><Size>12</Size><Owner><ID>o</ID><Key>no</Key></Owner></Contents>
  <Contents><Key>a/y</Key><LastModified>2026-01-02T03:04:06Z</LastModified><ETag>"d"</ETag><Size>0</Size></Contents>
  <CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>
</ListBucketResult>)";

TEST(S3Xml, Listing) {
  const ListPage listing = Must(ParseS3Listing(kPage));
  ASSERT_EQ(listing.objects.size(), 2u);
  EXPECT_EQ(listing.objects[0].key, "a/x <\"\xc3\xa9\xe2\x82\xac'");
  EXPECT_EQ(listing.objects[0].identity, "\"abc\"");
  EXPECT_EQ(listing.objects[0].size, 12);
  EXPECT_EQ(listing.objects[0].mtime_us, 1767323045'000'000);
  EXPECT_EQ(listing.objects[1].key, "a/y");
  EXPECT_EQ(listing.folders, std::vector<std::string>{"a/b/"});
  EXPECT_EQ(listing.next, "t&1==");
}

// A page that lost its end must not be taken for a short folder: a commit lists to find versions.
TEST(S3Xml, AListingThatIsCutOffIsAnError) {
  for (size_t size = 0; size < kPage.size() - 1; ++size) {
    EXPECT_FALSE(ParseS3Listing(kPage.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseS3Listing("").ok());
  EXPECT_FALSE(ParseS3Listing("<html><body>busy</body></html>").ok());
  EXPECT_FALSE(ParseS3Listing("<ListBucketResult><IsTruncated>true</IsTruncated>"
                              "</ListBucketResult>")
                   .ok());
}

TEST(S3Xml, EmptyListing) {
  EXPECT_TRUE(Must(ParseS3Listing("<ListBucketResult><IsTruncated>false</IsTruncated>"
                                  "</ListBucketResult>"))
                  .objects.empty());
  EXPECT_TRUE(Must(ParseS3Listing("<ListBucketResult/>")).objects.empty());
}

TEST(S3Xml, ErrorsOfADelete) {
  const auto errors = ParseDeleteErrors(
      "<DeleteResult><Deleted><Key>x</Key></Deleted><Error><Key>a&lt;b</Key><Code>AccessDenied"
      "</Code><Message>m</Message></Error><Error><Key>c</Key><Code>X</Code></Error>"
      "</DeleteResult>");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].key, "a<b");
  EXPECT_EQ(errors[0].code, "AccessDenied");
  EXPECT_EQ(errors[1].key, "c");
}

TEST(S3Xml, Documents) {
  EXPECT_NE(DeleteManyXml({"a&b", "c\n"}).find("<Key>a&#38;b</Key>"), std::string::npos);
  EXPECT_NE(DeleteManyXml({"a&b", "c\n"}).find("<Key>c&#10;</Key>"), std::string::npos);
  EXPECT_NE(CompleteUploadXml({"\"e\""}).find("<PartNumber>1</PartNumber><ETag>&#34;e&#34;</ETag>"),
            std::string::npos);
}

}  // namespace
}  // namespace timelake::store
