#include "sql/rollup/statement.h"

#include <vector>

#include "base/text.h"
#include "sql/names.h"
#include "sql/rollup/words.h"
#include "table/contract.h"

namespace timelake::sql {

namespace {

using Kind = table::RollupStatement::Kind;

class StatementParser {
 public:
  StatementParser(std::string_view text, const std::string& default_namespace)
      : text_(text), name_space_(default_namespace), words_(SplitWords(text)) {
    while (!words_.empty() && words_.back().IsOther(';')) words_.pop_back();
    statement_.name_space = default_namespace;
  }

  Result<std::optional<table::RollupStatement>> Parse() {
    if (Take("show")) {
      if (!Take("rollups")) return std::nullopt;
      statement_.kind = Kind::kShow;
      TL_RETURN_NOT_OK(ExpectEnd());
      return statement_;
    }
    bool create = false;
    if (Take("create")) {
      create = true;
      if (Take("or")) {
        if (!Take("replace")) return std::nullopt;
        statement_.or_replace = true;
      }
      statement_.kind = Kind::kCreate;
    } else if (Take("refresh")) {
      statement_.kind = Kind::kRefresh;
    } else if (Take("alter")) {
      statement_.kind = Kind::kAlter;
    } else if (Take("drop")) {
      statement_.kind = Kind::kDrop;
    } else {
      return std::nullopt;
    }
    if (!Take("materialized") || !Take("rollup")) return std::nullopt;
    TL_RETURN_NOT_OK(ParseConditions(create));
    TL_RETURN_NOT_OK(ParseName());
    switch (statement_.kind) {
      case Kind::kCreate: TL_RETURN_NOT_OK(ParseSelect()); break;
      case Kind::kRefresh: statement_.full = Take("full"); break;
      case Kind::kAlter: TL_RETURN_NOT_OK(ParseAlter()); break;
      default: break;
    }
    TL_RETURN_NOT_OK(ExpectEnd());
    return statement_;
  }

 private:
  const Word* Next() const { return at_ < words_.size() ? &words_[at_] : nullptr; }
  bool Take(std::string_view keyword) {
    if (!Next() || !Next()->Is(keyword)) return false;
    ++at_;
    return true;
  }
  bool TakeOther(char c) {
    if (!Next() || !Next()->IsOther(c)) return false;
    ++at_;
    return true;
  }

  Status Expected(std::string_view what) const {
    if (!Next()) return InvalidArgument("{} is expected at the end of the statement", what);
    return InvalidArgument("{} is expected, not {}", what,
                           Quote(text_.substr(Next()->begin, Next()->end - Next()->begin)));
  }
  Status ExpectEnd() const { return Next() ? Expected("the end of the statement") : Status::OK(); }

  Status ParseConditions(bool create) {
    if (!Take("if")) return Status::OK();
    if (create) {
      if (!Take("not") || !Take("exists")) return Expected("IF NOT EXISTS");
      if (statement_.or_replace) {
        return InvalidArgument("OR REPLACE and IF NOT EXISTS exclude each other");
      }
      statement_.if_not_exists = true;
    } else {
      if (!Take("exists")) return Expected("IF EXISTS");
      statement_.if_exists = true;
    }
    return Status::OK();
  }

  Status ParseName() {
    std::vector<std::string> parts;
    do {
      if (!Next() || !Next()->IsName()) return Expected("the name of the rollup");
      parts.push_back(words_[at_++].text);
    } while (TakeOther('.'));
    if (parts.size() > 1 && ToLowerAscii(parts[0]) == kLakeCatalog &&
        (parts.size() == 3 || parts[0] != name_space_)) {
      parts.erase(parts.begin());
    }
    if (parts.size() > 2)
      return InvalidArgument("rollup {}: the name is namespace.rollup", Join(parts, "."));
    if (parts.size() == 1) parts.insert(parts.begin(), name_space_);
    statement_.name = Join(parts, ".");
    return table::ParseTableName(statement_.name).status();
  }

  // The query reaches to a WITH (...) at the end, which no query ends with.
  Status ParseSelect() {
    if (!Take("as")) return Expected("AS SELECT ...");
    if (!Next()) return Expected("SELECT ...");
    const size_t begin = Next()->begin;
    size_t with = words_.size();
    for (size_t i = at_; i + 1 < words_.size(); ++i) {
      if (words_[i].depth == 0 && words_[i].Is("with") && words_[i + 1].IsOther('(')) with = i;
    }
    const size_t end = with < words_.size() ? words_[with].begin : words_.back().end;
    statement_.select = std::string(Trim(text_.substr(begin, end - begin)));
    at_ = with;
    return Take("with") ? ParseSettings(/*reset=*/false) : Status::OK();
  }

  Status ParseAlter() {
    if (Take("set")) return ParseSettings(false);
    if (Take("reset")) return ParseSettings(true);
    return Expected("SET (setting = value, ...) or RESET (setting, ...)");
  }

  Status ParseSettings(bool reset) {
    const bool list = TakeOther('(');
    do {
      std::string name;
      do {
        if (!Next() || !Next()->IsName()) return Expected("the name of a setting");
        name += (name.empty() ? "" : ".") + words_[at_++].text;
        while (TakeOther('-') && Next()) name += "-" + words_[at_++].text;
      } while (TakeOther('.'));
      std::optional<std::string> value;
      if (!reset) {
        if (!TakeOther('=')) return Expected(name + " = value");
        const bool minus = TakeOther('-');
        if (!Next() || Next()->kind == Word::Kind::kOther) return Expected("a value for " + name);
        value = (minus ? "-" : "") + words_[at_++].text;
      }
      if (!statement_.settings.emplace(name, value).second) {
        return InvalidArgument("setting {} is given twice", name);
      }
    } while (list && TakeOther(','));
    if (list && !TakeOther(')')) return Expected("\",\" or \")\"");
    return Status::OK();
  }

  const std::string_view text_;
  const std::string& name_space_;
  std::vector<Word> words_;
  size_t at_ = 0;
  table::RollupStatement statement_;
};

}  // namespace

Result<std::optional<table::RollupStatement>> ParseRollupStatement(
    std::string_view text, const std::string& default_namespace) {
  return StatementParser(text, default_namespace).Parse();
}

}  // namespace timelake::sql
