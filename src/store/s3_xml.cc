#include "store/s3_xml.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/text.h"

namespace timelake::store {

Result<int64_t> ParseIsoSeconds(const std::string& text) {
  CivilTime at;
  int year = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &year, &at.month, &at.day, &at.hour,
                  &at.minute, &at.second) != 6) {
    return IoError("the time {} is none", Quote(text));
  }
  at.year = year;
  auto micros = FromCivil(at);
  if (!micros.ok()) return IoError("the time {} is none", Quote(text));
  return *micros;
}

Result<ListPage> ParseS3Listing(std::string_view xml) {
  ListPage listing;
  ObjectInfo object;
  XmlReader reader(xml);
  bool in_object = false, in_prefix = false, in_owner = false, truncated = false, whole = false;
  while (const auto token = reader.Next()) {
    if (token->name == "Owner") in_owner = token->open && !token->close;
    if (token->open && !token->close) {
      if (token->name == "Contents") {
        in_object = true;
        object = {};
      }
      if (token->name == "CommonPrefixes") in_prefix = true;
      continue;
    }
    const std::string text = token->open ? "" : XmlDecoded(token->text);
    if (in_owner) continue;
    if (token->name == "ListBucketResult") {
      whole = true;
    } else if (token->name == "Contents") {
      in_object = false;
      if (object.key.empty()) return IoError("the store's listing has an object without a key");
      listing.objects.push_back(std::move(object));
    } else if (token->name == "CommonPrefixes") {
      in_prefix = false;
    } else if (in_object && token->name == "Key") {
      object.key = text;
    } else if (in_object && token->name == "ETag") {
      object.identity = text;
    } else if (in_object && token->name == "LastModified") {
      TL_ASSIGN_OR_RAISE(object.mtime_us, ParseIsoSeconds(text));
    } else if (in_object && token->name == "Size") {
      auto size = ParseInt64(text);
      if (!size.ok()) return IoError("the store's listing has the size {}", Quote(text));
      object.size = *size;
    } else if (in_prefix && token->name == "Prefix") {
      listing.folders.push_back(text);
    } else if (token->name == "NextContinuationToken") {
      listing.next = text;
    } else if (token->name == "IsTruncated") {
      truncated = text == "true";
    }
  }
  if (!whole) return IoError("the store's listing is cut off or is none");
  if (truncated && listing.next.empty()) {
    return IoError("the store's listing goes on, but it does not say where");
  }
  if (!truncated) listing.next.clear();
  return listing;
}

std::vector<S3Error> ParseDeleteErrors(std::string_view xml) {
  std::vector<S3Error> errors;
  S3Error error;
  XmlReader reader(xml);
  bool in_error = false;
  while (const auto token = reader.Next()) {
    if (token->name == "Error") {
      if (in_error) errors.push_back(std::exchange(error, {}));
      in_error = token->open && !token->close;
    } else if (in_error && !token->open) {
      if (token->name == "Code") error.code = XmlDecoded(token->text);
      if (token->name == "Message") error.message = XmlDecoded(token->text);
      if (token->name == "Key") error.key = XmlDecoded(token->text);
    }
  }
  return errors;
}

std::string DeleteManyXml(const std::vector<std::string>& keys) {
  std::string xml = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (const std::string& key : keys) xml += "<Object><Key>" + XmlEncoded(key) + "</Key></Object>";
  return xml + "</Delete>";
}

std::string CompleteUploadXml(const std::vector<std::string>& etags) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (size_t i = 0; i < etags.size(); ++i) {
    xml += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1,
                       XmlEncoded(etags[i]));
  }
  return xml + "</CompleteMultipartUpload>";
}

}  // namespace timelake::store
