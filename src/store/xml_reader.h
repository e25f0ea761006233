#pragma once

#include <optional>
#include <string>
#include <string_view>

// Reads the small XML documents of object stores: elements and their text, without attributes.
// Pure; foreign bytes.

namespace timelake::store {

// One step of reading: the next tag and the text before it.
struct XmlToken {
  std::string_view text;  // before the tag, entities not decoded
  std::string_view name;  // without a namespace prefix
  bool open = false;
  bool close = false;           // both: <name/>
  std::string_view attributes;  // as they stand there
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view xml) : rest_(xml) {}

  // nullopt at the end, or where the document is cut off.
  std::optional<XmlToken> Next();

 private:
  std::string_view rest_;
};

std::string XmlDecoded(std::string_view text);
std::string XmlEncoded(std::string_view text);

// Text of the first element of that name, at any depth; empty if there is none.
std::string FirstElement(std::string_view xml, std::string_view name);

}  // namespace timelake::store
