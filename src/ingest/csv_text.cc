#include "ingest/csv_text.h"

#include <set>

#include <arrow/buffer.h>

#include "base/text.h"
#include "base/utf8.h"
#include "ingest/file_format.h"

namespace timelake::ingest {
namespace {

constexpr int64_t kBlock = 1 << 16;
constexpr size_t kMaxHeader = 1 << 20;

// Feeds a file byte by byte to a state machine and tells where records begin and end.
class RecordScanner {
 public:
  // True when the byte ends a record (outside quotes).
  bool Feed(char c) {
    if (c == '"') quoted_ = !quoted_;
    if (c == '\n') ++line_;
    if (quoted_ || (c != '\n' && c != '\r')) {
      if (empty_) begin_ = line_;
      empty_ = false;
      return false;
    }
    const bool ended = !empty_;
    empty_ = true;
    return ended;
  }
  int64_t begin() const { return begin_; }  // line on which the current or last record began
  bool pending() const { return !empty_; }

 private:
  bool quoted_ = false;
  bool empty_ = true;
  int64_t line_ = 1;
  int64_t begin_ = 1;
};

std::vector<std::string> SplitRecord(std::string_view record, char delimiter) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (quoted && c == '"' && i + 1 < record.size() && record[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == delimiter && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

Result<std::string> FirstRecord(const std::string& path, bool gzip) {
  TL_ASSIGN_OR_RAISE(auto input, OpenText(path, gzip));
  RecordScanner scanner;
  std::string record;
  while (record.size() < kMaxHeader) {
    auto block = input->Read(kBlock);
    if (!block.ok()) return InvalidArgument("file {}: {}", path, block.status().message());
    if ((*block)->size() == 0) break;
    for (int64_t i = 0; i < (*block)->size(); ++i) {
      const char c = static_cast<char>((*block)->data()[i]);
      if (scanner.Feed(c)) return record;
      if (scanner.pending()) record += c;
    }
  }
  if (record.size() >= kMaxHeader)
    return InvalidArgument("file {}: no end of the header line", path);
  if (!scanner.pending()) return InvalidArgument("file {} has no header line", path);
  return record;
}

}  // namespace

Result<std::vector<std::string>> ReadHeader(const std::string& path, bool gzip, char delimiter) {
  TL_ASSIGN_OR_RAISE(std::string record, FirstRecord(path, gzip));
  if (record.starts_with("\xef\xbb\xbf")) record.erase(0, 3);
  if (!IsValidUtf8(record)) {
    return InvalidArgument(
        "file {}, line 1: not UTF-8; convert the file first (iconv -f latin1 -t utf-8)", path);
  }
  std::vector<std::string> names = SplitRecord(record, delimiter);
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = std::string(Trim(names[i]));
    if (names[i].empty())
      return InvalidArgument("file {}, line 1: column {} has no name", path, i + 1);
    if (!seen.insert(names[i]).second) {
      return InvalidArgument("file {}, line 1: column {} occurs twice", path, Quote(names[i]));
    }
  }
  return names;
}

int64_t LineOfRecord(const std::string& path, bool gzip, int64_t record) {
  auto input = OpenText(path, gzip);
  if (!input.ok()) return 0;
  RecordScanner scanner;
  int64_t done = -1;  // the header is record 0
  while (true) {
    auto block = (*input)->Read(kBlock);
    if (!block.ok() || (*block)->size() == 0) break;
    for (int64_t i = 0; i < (*block)->size(); ++i) {
      if (scanner.Feed(static_cast<char>((*block)->data()[i])) && ++done == record) {
        return scanner.begin();
      }
    }
  }
  return scanner.pending() && done + 1 == record ? scanner.begin() : 0;
}

}  // namespace timelake::ingest
