#pragma once

#include <string>
#include <string_view>
#include <vector>

// Aligned columns for people:
//
//   device  n
//   ------  -
//   a       1

namespace timelake::cli {

struct TextColumn {
  std::string name;
  bool right = false;  // numbers
};

// Columns and their widths. A cell wider than its column pushes the rest of its row aside.
class TableLayout {
 public:
  explicit TableLayout(std::vector<TextColumn> columns);

  void Widen(const std::vector<std::string>& cells);
  void AppendHeader(std::string* out) const;
  // A cell with line breaks takes several lines.
  void AppendRow(const std::vector<std::string>& cells, std::string* out) const;

 private:
  void AppendLine(const std::vector<std::string_view>& cells, std::string* out) const;

  std::vector<TextColumn> columns_;
  std::vector<size_t> widths_;
};

// Header and all rows.
std::string RenderTable(std::vector<TextColumn> columns,
                        const std::vector<std::vector<std::string>>& rows);

// `text` with control characters other than line breaks as escapes: what a terminal may be sent.
std::string ForTerminal(std::string_view text);

// Terminal cells of UTF-8 text: wide characters of East Asia take two, combining marks none.
size_t DisplayWidth(std::string_view text);

}  // namespace timelake::cli
