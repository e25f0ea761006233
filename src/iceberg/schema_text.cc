#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "iceberg/schema.h"
#include "iceberg/type_names.h"

namespace timelake::iceberg {
namespace {

// What people type for a type, lower case, single spaces -> its name in the specification.
constexpr std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"bool", "boolean"},
    {"integer", "int"},
    {"int32", "int"},
    {"int16", "int"},
    {"int8", "int"},
    {"smallint", "int"},
    {"tinyint", "int"},
    {"bigint", "long"},
    {"int64", "long"},
    {"float32", "float"},
    {"real", "float"},
    {"float64", "double"},
    {"double precision", "double"},
    {"varchar", "string"},
    {"text", "string"},
    {"utf8", "string"},
    {"bytes", "binary"},
    {"blob", "binary"},
    {"bytea", "binary"},
    {"timestamp with time zone", "timestamptz"},
    {"timestamp without time zone", "timestamp"},
};

const std::vector<std::string>& KnownWords() {
  static const auto& words = *new std::vector<std::string>{
      "boolean",     "int",    "long",    "float",  "double",  "decimal", "date", "time",
      "timestamp",   "string", "uuid",    "fixed",  "binary",  "list",    "map",  "struct",
      "timestamptz", "bool",   "integer", "bigint", "varchar", "text",    "bytes"};
  return words;
}

// Recursive descent over type and schema text. Messages name the text as given.
class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text) {}

  bool AtEnd() {
    SkipSpace();
    return pos_ == text_.size();
  }
  std::string_view Rest() const { return Trim(text_.substr(pos_)); }

  bool Accept(char c) {
    SkipSpace();
    if (pos_ < text_.size() && text_[pos_] == c) {
      ++pos_;
      return true;
    }
    return false;
  }

  // name ':' type ['!' | 'not null']
  Result<Field> ParseField(int depth) {
    Field field;
    TL_ASSIGN_OR_RAISE(field.name, ParseName());
    auto type = ParseTypeText(depth, &field.required);
    if (!type.ok()) return WithContext(type.status(), "column " + Quote(field.name));
    field.type = *std::move(type);
    if (!field.required) field.required = AcceptRequired();
    return field;
  }

  // `required`, if given, is set when the words of the type end in "not null".
  Result<Type> ParseTypeText(int depth, bool* required) {
    const size_t start = pos_;
    std::string word = TakeWord();
    if (required != nullptr) *required = StripNotNull(&word);
    SkipSpace();
    const char next = pos_ < text_.size() ? text_[pos_] : '\0';
    if (word.empty()) return InvalidArgument("a type is missing; accepted: {}", AcceptedTypes());
    if (next == '<') return ParseNested(word, depth);
    if (next == '(' || next == '[') return ParseWithNumbers(word, start);
    if (word == "decimal" || word == "numeric") {
      return InvalidArgument("type {} needs a precision and a scale, e.g. decimal(9,2)",
                             Quote(word));
    }
    if (word == "fixed") {
      return InvalidArgument("type \"fixed\" needs a length in bytes, e.g. fixed(16)");
    }
    for (const auto& [spelling, name] : kSpellings) {
      if (word == spelling) word = name;
    }
    if (auto type = PrimitiveFromName(word)) return *std::move(type);
    return Unknown(word);
  }

 private:
  void SkipSpace() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }

  // Letters, digits, '_' and single spaces, lower case; stops before punctuation.
  std::string TakeWord() {
    const size_t start = pos_;
    while (pos_ < text_.size() &&
           std::string_view("<>()[],:!\"").find(text_[pos_]) == std::string_view::npos) {
      ++pos_;
    }
    std::string word;
    for (char c : ToLowerAscii(Trim(text_.substr(start, pos_ - start)))) {
      const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
      if (!space) {
        word += c;
      } else if (!word.empty() && word.back() != ' ') {
        word += ' ';
      }
    }
    return word;
  }

  static bool StripNotNull(std::string* word) {
    constexpr std::string_view kSuffix = " not null";
    if (!word->ends_with(kSuffix)) return false;
    word->resize(word->size() - kSuffix.size());
    return true;
  }

  bool AcceptRequired() {
    if (Accept('!')) return true;
    const size_t start = pos_;
    if (TakeWord() == "not null") return true;
    pos_ = start;
    return false;
  }

  Result<std::string> ParseName() {
    SkipSpace();
    std::string name;
    if (Accept('"')) {
      TL_ASSIGN_OR_RAISE(name, TakeQuoted());
    } else {
      const size_t start = pos_;
      while (pos_ < text_.size() && text_[pos_] != ':' && text_[pos_] != ',' &&
             text_[pos_] != '>') {
        ++pos_;
      }
      name = std::string(Trim(text_.substr(start, pos_ - start)));
    }
    if (name.empty()) {
      return InvalidArgument("a column name is missing before {}; write name:type, ...",
                             Quote(Rest()));
    }
    if (!Accept(':')) {
      return InvalidArgument("column {} has no type; write {}:<type>, with a type of: {}",
                             Quote(name), name, AcceptedTypes());
    }
    return name;
  }

  // After the opening quote; a quote inside is doubled.
  Result<std::string> TakeQuoted() {
    std::string name;
    for (; pos_ < text_.size(); ++pos_) {
      if (text_[pos_] != '"') {
        name += text_[pos_];
      } else if (pos_ + 1 < text_.size() && text_[pos_ + 1] == '"') {
        name += text_[pos_++];
      } else {
        ++pos_;
        return name;
      }
    }
    return InvalidArgument("the quote before {} is not closed", Quote(name));
  }

  Result<Type> ParseWithNumbers(const std::string& word, size_t start) {
    const char close = text_[pos_++] == '(' ? ')' : ']';
    const size_t end = text_.find(close, pos_);
    if (end == std::string_view::npos) {
      return InvalidArgument("type {}: the closing '{}' is missing",
                             Quote(Trim(text_.substr(start))), close);
    }
    const std::string inner(text_.substr(pos_, end - pos_));
    pos_ = end + 1;
    const std::string_view written = Trim(text_.substr(start, pos_ - start));
    if (word == "decimal" || word == "numeric") {
      const bool has_scale = inner.find(',') != std::string::npos;
      auto type = PrimitiveFromName("decimal(" + inner + (has_scale ? ")" : ",0)"));
      if (type && type->precision >= 1 && type->precision <= 38 && type->scale <= type->precision) {
        return *std::move(type);
      }
      return InvalidArgument("{}: write decimal(P,S) with precision P in 1..38 and scale S in 0..P",
                             Quote(written));
    }
    if (word == "fixed") {
      auto type = PrimitiveFromName("fixed[" + inner + "]");
      if (type && type->length > 0) return *std::move(type);
      return InvalidArgument("{}: write fixed(N) with a length N of at least 1 byte",
                             Quote(written));
    }
    return Unknown(written);
  }

  Result<Type> ParseNested(const std::string& word, int depth) {
    if (depth >= kMaxTypeDepth) {
      return InvalidArgument("types nest deeper than {} levels", kMaxTypeDepth);
    }
    Type type;
    if (word == "list" || word == "array") {
      type.id = TypeId::kList;
    } else if (word == "map") {
      type.id = TypeId::kMap;
    } else if (word == "struct") {
      type.id = TypeId::kStruct;
    } else {
      return Unknown(word);
    }
    Accept('<');
    if (type.id == TypeId::kStruct) {
      do {
        TL_ASSIGN_OR_RAISE(Field field, ParseField(depth + 1));
        type.fields.push_back(std::move(field));
      } while (Accept(','));
    } else if (type.id == TypeId::kList) {
      TL_RETURN_NOT_OK(ParseMember("element", depth, &type));
    } else {
      TL_RETURN_NOT_OK(ParseMember("key", depth, &type));
      type.fields[0].required = true;
      if (!Accept(',')) return InvalidArgument("map<...> needs two types: map<string,double>");
      TL_RETURN_NOT_OK(ParseMember("value", depth, &type));
    }
    if (!Accept('>')) {
      return InvalidArgument("{}<...>: \">\" expected before {}", word, Quote(Rest()));
    }
    return type;
  }

  Status ParseMember(const char* name, int depth, Type* parent) {
    Field field;
    field.name = name;
    TL_ASSIGN_OR_RAISE(field.type, ParseTypeText(depth + 1, &field.required));
    if (!field.required) field.required = AcceptRequired();
    parent->fields.push_back(std::move(field));
    return Status::OK();
  }

  static Status Unknown(std::string_view written) {
    auto near = NearestName(written, KnownWords());
    return InvalidArgument("unknown type {}{}; accepted: {}", Quote(written),
                           near ? fmt::format(", did you mean \"{}\"?", *near) : "",
                           AcceptedTypes());
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

Result<Type> ParseType(std::string_view text) {
  TextParser parser(text);
  TL_ASSIGN_OR_RAISE(Type type, parser.ParseTypeText(0, nullptr));
  if (!parser.AtEnd()) {
    return InvalidArgument("type {}: {} is too much; accepted: {}", Quote(text),
                           Quote(parser.Rest()), AcceptedTypes());
  }
  return type;
}

Result<Schema> ParseSchemaText(std::string_view text) {
  TextParser parser(text);
  if (parser.AtEnd()) {
    return InvalidArgument("the schema is empty; write name:type, ... with a type of: {}",
                           AcceptedTypes());
  }
  Schema schema;
  do {
    TL_ASSIGN_OR_RAISE(Field field, parser.ParseField(0));
    schema.fields.push_back(std::move(field));
  } while (parser.Accept(','));
  if (!parser.AtEnd()) {
    return InvalidArgument("column {}: \",\" expected before {}", Quote(schema.fields.back().name),
                           Quote(parser.Rest()));
  }
  schema = AssignFreshIds(schema);
  TL_RETURN_NOT_OK(ValidateSchema(schema));
  return schema;
}

}  // namespace timelake::iceberg
