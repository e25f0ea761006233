#include "sql/rollup/words.h"

#include <algorithm>

#include "base/text.h"

namespace timelake::sql {

namespace {

bool StartsName(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The end of space and comments from `at` on.
size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("--")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (rest[0] == ' ' || (rest[0] >= '\t' && rest[0] <= '\r')) {
      ++at;
    } else {
      return at;
    }
  }
  return at;
}

// A quoted piece from `at` on; the quote is doubled inside.
size_t ReadQuoted(std::string_view text, size_t at, std::string* value) {
  const char quote = text[at++];
  while (at < text.size()) {
    if (text[at] == quote) {
      if (at + 1 == text.size() || text[at + 1] != quote) return at + 1;
      ++at;
    }
    *value += text[at++];
  }
  return at;
}

// $$...$$ or $tag$...$tag$; 0: it is none.
size_t ReadDollars(std::string_view text, size_t at, std::string* value) {
  size_t end = at + 1;
  while (end < text.size() && (StartsName(text[end]) || IsDigit(text[end]))) ++end;
  if (end == text.size() || text[end] != '$') return 0;
  const std::string_view tag = text.substr(at, end + 1 - at);
  const size_t close = text.find(tag, end + 1);
  if (close == std::string_view::npos) return 0;
  *value = std::string(text.substr(end + 1, close - end - 1));
  return close + tag.size();
}

}  // namespace

bool Word::Is(std::string_view keyword) const {
  return kind == Kind::kName && ToLowerAscii(text) == ToLowerAscii(keyword);
}

std::vector<Word> SplitWords(std::string_view text) {
  std::vector<Word> words;
  int depth = 0;
  for (size_t at = SkipSpace(text, 0); at < text.size(); at = SkipSpace(text, at)) {
    Word word;
    word.begin = at;
    const char c = text[at];
    if (c == '"' || c == '\'') {
      word.kind = c == '"' ? Word::Kind::kQuoted : Word::Kind::kText;
      at = ReadQuoted(text, at, &word.text);
    } else if (const size_t end = c == '$' ? ReadDollars(text, at, &word.text) : 0; end > 0) {
      word.kind = Word::Kind::kText;
      at = end;
    } else if (StartsName(c) || IsDigit(c)) {
      word.kind = IsDigit(c) ? Word::Kind::kNumber : Word::Kind::kName;
      while (at < text.size() &&
             (StartsName(text[at]) || IsDigit(text[at]) || (IsDigit(c) && text[at] == '.'))) {
        ++at;
      }
      word.text = std::string(text.substr(word.begin, at - word.begin));
    } else {
      word.text = c;
      ++at;
      if (c == ')') --depth;
    }
    word.end = at;
    word.depth = depth;
    if (word.IsOther('(')) ++depth;
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace timelake::sql
