#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace timelake::sql {

// A piece of SQL text: a name, a quoted name, a text, a number or one other character.
struct Word {
  enum class Kind { kName, kQuoted, kText, kNumber, kOther };
  Kind kind = Kind::kOther;
  std::string text;  // without quotes; names as they are written
  size_t begin = 0;  // in the statement
  size_t end = 0;
  int depth = 0;  // of parentheses around it

  bool Is(std::string_view keyword) const;  // in any case; not when quoted
  bool IsOther(char c) const { return kind == Kind::kOther && text[0] == c; }
  bool IsName() const { return kind == Kind::kName || kind == Kind::kQuoted; }
};

// Splits a statement into words; comments are left out. A quote that is not closed ends with the
// text.
std::vector<Word> SplitWords(std::string_view text);

}  // namespace timelake::sql
