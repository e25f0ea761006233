#include "sql/case_file.h"

#include <cctype>
#include <fstream>

namespace timelake::sqltest {

namespace {

bool IsBlank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

CaseFile ReadCaseFile(const std::string& path) {
  CaseFile file;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  size_t at = 0;
  while (at < file.lines.size()) {
    const std::string& line = file.lines[at];
    if (IsBlank(line) || line[0] == '#') {
      ++at;
      continue;
    }
    Block block;
    block.line = static_cast<int>(at) + 1;
    const size_t space = line.find(' ');
    block.verb = line.substr(0, space);
    if (space != std::string::npos) block.rest = line.substr(space + 1);
    for (++at; at < file.lines.size() && !IsBlank(file.lines[at]); ++at) {
      if (file.lines[at] == "----" && !block.has_rows) {
        block.has_rows = true;
        block.rows_begin = at + 1;
      } else {
        (block.has_rows ? block.rows : block.body).push_back(file.lines[at]);
      }
    }
    block.rows_end = at;
    file.blocks.push_back(std::move(block));
  }
  return file;
}

void WriteCaseFile(const std::string& path, const CaseFile& file,
                   const std::map<size_t, std::vector<std::string>>& new_rows) {
  std::ofstream out(path);
  size_t at = 0;
  for (const auto& [index, rows] : new_rows) {
    const Block& block = file.blocks[index];
    for (; at < block.rows_begin; ++at) out << file.lines[at] << '\n';
    for (const std::string& row : rows) out << row << '\n';
    at = block.rows_end;
  }
  for (; at < file.lines.size(); ++at) out << file.lines[at] << '\n';
}

std::map<std::string, std::string> ParseOptions(const std::string& text) {
  std::map<std::string, std::string> options;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    std::string name, value;
    while (at < text.size() && text[at] != ' ' && text[at] != '=') name += text[at++];
    if (at < text.size() && text[at] == '=') {
      const bool quoted = ++at < text.size() && text[at] == '"';
      if (quoted) ++at;
      while (at < text.size() && text[at] != (quoted ? '"' : ' ')) value += text[at++];
      if (quoted) ++at;
    }
    options[name] = value;
  }
  return options;
}

std::string JoinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace timelake::sqltest
