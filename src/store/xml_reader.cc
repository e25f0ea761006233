#include "store/xml_reader.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace timelake::store {
namespace {

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

}  // namespace

std::optional<XmlToken> XmlReader::Next() {
  while (true) {
    const size_t begin = rest_.find('<');
    if (begin == std::string_view::npos) return std::nullopt;
    const size_t end = rest_.find('>', begin);
    if (end == std::string_view::npos) return std::nullopt;
    XmlToken token;
    token.text = rest_.substr(0, begin);
    std::string_view tag = rest_.substr(begin + 1, end - begin - 1);
    rest_.remove_prefix(end + 1);
    if (tag.starts_with('?') || tag.starts_with('!')) continue;
    token.open = !tag.starts_with('/');
    token.close = tag.starts_with('/') || tag.ends_with('/');
    if (tag.starts_with('/')) tag.remove_prefix(1);
    if (tag.ends_with('/')) tag.remove_suffix(1);
    const size_t space = tag.find_first_of(" \t\r\n");
    if (space != std::string_view::npos) token.attributes = tag.substr(space);
    tag = tag.substr(0, space);
    if (const size_t colon = tag.find(':'); colon != std::string_view::npos) {
      tag.remove_prefix(colon + 1);
    }
    token.name = tag;
    return token;
  }
}

std::string XmlDecoded(std::string_view text) {
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

std::string XmlEncoded(std::string_view text) {
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

std::string FirstElement(std::string_view xml, std::string_view name) {
  XmlReader reader(xml);
  bool inside = false;
  while (const auto token = reader.Next()) {
    if (inside && !token->open && token->name == name) return XmlDecoded(token->text);
    inside = token->open && !token->close && token->name == name;
  }
  return "";
}

}  // namespace timelake::store
