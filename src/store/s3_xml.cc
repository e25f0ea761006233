#include "store/s3_xml.h"

#include <charconv>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/text.h"

namespace timelake::store {
namespace {

// One step of reading: the next tag and the text before it.
struct Token {
  std::string_view text;  // before the tag, entities not decoded
  std::string_view name;  // without a namespace prefix
  bool open = false;
  bool close = false;  // both: <name/>
};

class Reader {
 public:
  explicit Reader(std::string_view xml) : rest_(xml) {}

  // nullopt at the end, or where the document is cut off.
  std::optional<Token> Next() {
    while (true) {
      const size_t begin = rest_.find('<');
      if (begin == std::string_view::npos) return std::nullopt;
      const size_t end = rest_.find('>', begin);
      if (end == std::string_view::npos) return std::nullopt;
      Token token;
      token.text = rest_.substr(0, begin);
      std::string_view tag = rest_.substr(begin + 1, end - begin - 1);
      rest_.remove_prefix(end + 1);
      if (tag.starts_with('?') || tag.starts_with('!')) continue;
      token.open = !tag.starts_with('/');
      token.close = tag.starts_with('/') || tag.ends_with('/');
      if (tag.starts_with('/')) tag.remove_prefix(1);
      if (tag.ends_with('/')) tag.remove_suffix(1);
      tag = tag.substr(0, tag.find_first_of(" \t\r\n"));
      if (const size_t colon = tag.find(':'); colon != std::string_view::npos) {
        tag.remove_prefix(colon + 1);
      }
      token.name = tag;
      return token;
    }
  }

 private:
  std::string_view rest_;
};

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xC0 | (code >> 6));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xE0 | (code >> 12));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    *out += static_cast<char>(0xF0 | (code >> 18));
    *out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    *out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    *out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// What stands for "&name;"; false: no entity that XML has by itself.
bool AppendEntity(std::string_view name, std::string* out) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, c] : kNamed) {
    if (name == known) {
      *out += c;
      return true;
    }
  }
  if (!name.starts_with('#')) return false;
  const bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
  name.remove_prefix(hex ? 2 : 1);
  uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), code, hex ? 16 : 10);
  if (error != std::errc() || end != name.data() + name.size() || code > 0x10FFFF) return false;
  AppendUtf8(code, out);
  return true;
}

std::string Decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t amp = text.find('&');
    out += text.substr(0, amp);
    if (amp == std::string_view::npos) break;
    text.remove_prefix(amp);
    const size_t end = text.find(';');
    if (end == std::string_view::npos || !AppendEntity(text.substr(1, end - 1), &out)) {
      out += '&';
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string Encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&' || c == '<' || c == '>' || c == '"' || byte < 0x20) {
      out += fmt::format("&#{};", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

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

Result<S3Listing> ParseListing(std::string_view xml) {
  S3Listing listing;
  S3Listing::Object object;
  Reader reader(xml);
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
    const std::string text = token->open ? "" : Decoded(token->text);
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
      object.etag = text;
    } else if (in_object && token->name == "LastModified") {
      TL_ASSIGN_OR_RAISE(object.mtime_us, ParseIsoSeconds(text));
    } else if (in_object && token->name == "Size") {
      auto size = ParseInt64(text);
      if (!size.ok()) return IoError("the store's listing has the size {}", Quote(text));
      object.size = *size;
    } else if (in_prefix && token->name == "Prefix") {
      listing.prefixes.push_back(text);
    } else if (token->name == "NextContinuationToken") {
      listing.next_token = text;
    } else if (token->name == "IsTruncated") {
      truncated = text == "true";
    }
  }
  if (!whole) return IoError("the store's listing is cut off or is none");
  if (truncated && listing.next_token.empty()) {
    return IoError("the store's listing goes on, but it does not say where");
  }
  if (!truncated) listing.next_token.clear();
  return listing;
}

S3Error ParseS3Error(std::string_view xml) {
  if (xml.find("<Error") == std::string_view::npos) return {};
  return {FirstElement(xml, "Code"), FirstElement(xml, "Message"), ""};
}

std::vector<S3Error> ParseDeleteErrors(std::string_view xml) {
  std::vector<S3Error> errors;
  S3Error error;
  Reader reader(xml);
  bool in_error = false;
  while (const auto token = reader.Next()) {
    if (token->name == "Error") {
      if (in_error) errors.push_back(std::exchange(error, {}));
      in_error = token->open && !token->close;
    } else if (in_error && !token->open) {
      if (token->name == "Code") error.code = Decoded(token->text);
      if (token->name == "Message") error.message = Decoded(token->text);
      if (token->name == "Key") error.key = Decoded(token->text);
    }
  }
  return errors;
}

std::string FirstElement(std::string_view xml, std::string_view name) {
  Reader reader(xml);
  bool inside = false;
  while (const auto token = reader.Next()) {
    if (inside && !token->open && token->name == name) return Decoded(token->text);
    inside = token->open && !token->close && token->name == name;
  }
  return "";
}

std::string DeleteManyXml(const std::vector<std::string>& keys) {
  std::string xml = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (const std::string& key : keys) xml += "<Object><Key>" + Encoded(key) + "</Key></Object>";
  return xml + "</Delete>";
}

std::string CompleteUploadXml(const std::vector<std::string>& etags) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (size_t i = 0; i < etags.size(); ++i) {
    xml += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1,
                       Encoded(etags[i]));
  }
  return xml + "</CompleteMultipartUpload>";
}

}  // namespace timelake::store
