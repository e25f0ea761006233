#pragma once

#include <map>
#include <string>
#include <vector>

// The blocks of a *.test file; README.md has the syntax.

namespace timelake::sqltest {

struct Block {
  int line = 0;                   // of the file, from 1
  std::string verb;               // "table", "append", "query", ...
  std::string rest;               // of the first line
  std::vector<std::string> body;  // lines up to the blank line or "----"
  std::vector<std::string> rows;  // after "----"
  bool has_rows = false;
  size_t rows_begin = 0, rows_end = 0;  // their lines in CaseFile::lines
};

struct CaseFile {
  std::vector<std::string> lines;
  std::vector<Block> blocks;
};

CaseFile ReadCaseFile(const std::string& path);
void WriteCaseFile(const std::string& path, const CaseFile& file,
                   const std::map<size_t, std::vector<std::string>>& new_rows);  // by block

// `a=b c="d e"` -> pairs; words without '=' have an empty value.
std::map<std::string, std::string> ParseOptions(const std::string& text);

std::string JoinLines(const std::vector<std::string>& lines);

}  // namespace timelake::sqltest
