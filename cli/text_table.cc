#include "text_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace timelake::cli {
namespace {

constexpr std::string_view kGap = "  ";

// The next code point of UTF-8 text; a byte that is no UTF-8 stands for itself.
char32_t NextCodePoint(std::string_view text, size_t* at) {
  const auto first = static_cast<unsigned char>(text[(*at)++]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  char32_t code = more == 0 ? first : first & (0x3F >> more);
  for (int i = 0; i < more && *at < text.size(); ++i, ++*at) {
    const auto byte = static_cast<unsigned char>(text[*at]);
    if ((byte & 0xC0) != 0x80) break;
    code = code << 6 | (byte & 0x3F);
  }
  return code;
}

size_t Cells(char32_t code) {
  const auto in = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  if (code < 0x300) return 1;
  if (in(0x300, 0x36F) || in(0x200B, 0x200F) || in(0xFE00, 0xFE0F)) return 0;
  const bool wide = in(0x1100, 0x115F) || in(0x2E80, 0xA4CF) || in(0xAC00, 0xD7A3) ||
                    in(0xF900, 0xFAFF) || in(0xFE30, 0xFE6F) || in(0xFF00, 0xFF60) ||
                    in(0xFFE0, 0xFFE6) || in(0x1F300, 0x1FAFF) || in(0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

// Takes the first line off `text`.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return line;
}

}  // namespace

TableLayout::TableLayout(std::vector<TextColumn> columns) : columns_(std::move(columns)) {
  for (const TextColumn& column : columns_) widths_.push_back(DisplayWidth(column.name));
}

void TableLayout::Widen(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string_view rest = cells[i];
    while (!rest.empty()) widths_[i] = std::max(widths_[i], DisplayWidth(TakeLine(&rest)));
  }
}

void TableLayout::AppendHeader(std::string* out) const {
  std::vector<std::string_view> names;
  for (const TextColumn& column : columns_) names.push_back(column.name);
  AppendLine(names, out);
  for (size_t i = 0; i < widths_.size(); ++i) {
    if (i > 0) out->append(kGap);
    out->append(widths_[i], '-');
  }
  out->push_back('\n');
}

void TableLayout::AppendRow(const std::vector<std::string>& cells, std::string* out) const {
  std::vector<std::string_view> rest(cells.begin(), cells.end());
  std::vector<std::string_view> line(cells.size());
  do {
    for (size_t i = 0; i < rest.size(); ++i) line[i] = TakeLine(&rest[i]);
    AppendLine(line, out);
  } while (std::any_of(rest.begin(), rest.end(), [](auto text) { return !text.empty(); }));
}

void TableLayout::AppendLine(const std::vector<std::string_view>& cells, std::string* out) const {
  const size_t start = out->size();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out->append(kGap);
    const size_t width = DisplayWidth(cells[i]);
    const size_t padding = widths_[i] > width ? widths_[i] - width : 0;
    if (columns_[i].right) out->append(padding, ' ');
    out->append(cells[i]);
    if (!columns_[i].right) out->append(padding, ' ');
  }
  const size_t end = out->find_last_not_of(' ');
  out->resize(end == std::string::npos || end < start ? start : end + 1);
  out->push_back('\n');
}

std::string RenderTable(std::vector<TextColumn> columns,
                        const std::vector<std::vector<std::string>>& rows) {
  TableLayout layout(std::move(columns));
  for (const auto& row : rows) layout.Widen(row);
  std::string text;
  layout.AppendHeader(&text);
  for (const auto& row : rows) layout.AppendRow(row, &text);
  return text;
}

std::string ForTerminal(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t') {
      safe.append("\\t");
    } else if (c == '\r') {
      safe.append("\\r");
    } else if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
      fmt::format_to(std::back_inserter(safe), "\\x{:02X}", byte);
    } else {
      safe.push_back(c);
    }
  }
  return safe;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += Cells(NextCodePoint(text, &at));
  return width;
}

}  // namespace timelake::cli
