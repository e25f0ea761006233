#include "store/azure_xml.h"

#include "base/text.h"
#include "store/xml_reader.h"

namespace timelake::store {
namespace {

// <Name Encoded="true"> has what XML cannot hold percent-encoded.
std::string NameOf(const XmlToken& end, bool encoded) {
  const std::string name = XmlDecoded(end.text);
  return encoded ? UriDecode(name) : name;
}

}  // namespace

std::string WithoutQuotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) {
    etag.remove_prefix(1);
    etag.remove_suffix(1);
  }
  return std::string(etag);
}

Result<ListPage> ParseAzureListing(std::string_view xml) {
  ListPage page;
  ObjectInfo blob;
  XmlReader reader(xml);
  bool in_blob = false, in_prefix = false, encoded = false, folder = false, whole = false;
  while (const auto token = reader.Next()) {
    if (token->open && !token->close) {
      if (token->name == "Blob") {
        in_blob = true;
        folder = false;
        blob = {};
        blob.size = -1;
        blob.mtime_us = -1;
      }
      if (token->name == "BlobPrefix") in_prefix = true;
      if (token->name == "Name") {
        encoded = token->attributes.find("Encoded=\"true\"") != std::string_view::npos;
      }
      continue;
    }
    if (token->open) continue;  // empty elements say nothing
    if (token->name == "EnumerationResults") {
      whole = true;
    } else if (token->name == "Blob") {
      in_blob = false;
      if (folder) continue;
      if (blob.key.empty() || blob.identity.empty() || blob.size < 0 || blob.mtime_us < 0) {
        return IoError("the store's listing has a blob without name, size, ETag or time: {}",
                       Quote(blob.key));
      }
      page.objects.push_back(std::move(blob));
    } else if (token->name == "BlobPrefix") {
      in_prefix = false;
    } else if (in_blob && token->name == "Name") {
      blob.key = NameOf(*token, encoded);
    } else if (in_blob && token->name == "Etag") {
      blob.identity = WithoutQuotes(XmlDecoded(token->text));
    } else if (in_blob && token->name == "Last-Modified") {
      blob.mtime_us = ParseHttpDate(XmlDecoded(token->text));
    } else if (in_blob && token->name == "Content-Length") {
      const auto size = ParseInt64(token->text);
      blob.size = size.ok() ? *size : -1;
    } else if (in_blob && (token->name == "ResourceType" || token->name == "hdi_isfolder")) {
      folder = folder || token->text == "directory" || token->text == "true";
    } else if (in_prefix && token->name == "Name") {
      page.folders.push_back(NameOf(*token, encoded));
    } else if (token->name == "NextMarker") {
      page.next = XmlDecoded(token->text);
    }
  }
  if (!whole) return IoError("the store's listing is cut off or is none");
  return page;
}

std::string BlockListXml(const std::vector<std::string>& ids) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (const std::string& id : ids) xml += "<Latest>" + XmlEncoded(id) + "</Latest>";
  return xml + "</BlockList>";
}

}  // namespace timelake::store
