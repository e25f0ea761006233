#include "iceberg/json_tree.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace timelake::iceberg {
namespace {

// Room for types nested kMaxTypeDepth deep, at three levels of JSON each.
constexpr size_t kMaxJsonDepth = 256;

bool HasDuplicate(const std::vector<std::string>& names, std::string* duplicate) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  auto found = std::adjacent_find(sorted.begin(), sorted.end());
  if (found == sorted.end()) return false;
  *duplicate = std::string(*found);
  return true;
}

// Receives nlohmann's parser events. Its own tree would turn large integers into doubles.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add({JsonNode::Kind::kNull, "null", {}, {}}); }
  bool boolean(bool value) override {
    return Add({JsonNode::Kind::kBoolean, value ? "true" : "false", {}, {}});
  }
  bool number_integer(number_integer_t value) override { return Number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Number(std::to_string(value)); }
  // Also integers beyond 64 bits: the text is what counts.
  bool number_float(number_float_t, const string_t& text) override {
    std::string exact = text;
    for (char& c : exact) {
      // The lexer puts the locale's decimal point into its token.
      if (std::string_view("0123456789+-eE").find(c) == std::string_view::npos) c = '.';
    }
    return Number(std::move(exact));
  }
  bool string(string_t& value) override {
    return Add({JsonNode::Kind::kString, std::move(value), {}, {}});
  }
  bool binary(binary_t&) override { return Fail("binary values are not JSON"); }
  bool start_object(size_t) override { return Open(JsonNode::Kind::kObject); }
  bool start_array(size_t) override { return Open(JsonNode::Kind::kArray); }
  bool key(string_t& name) override {
    open_.back().names.push_back(std::move(name));
    return true;
  }
  bool end_object() override {
    std::string duplicate;
    if (HasDuplicate(open_.back().names, &duplicate)) {
      return Fail("member " + Quote(duplicate) + " is there twice in one object");
    }
    return Close();
  }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string_view message = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (size_t end = message.find("] "); end != std::string_view::npos) {
      message.remove_prefix(end + 2);
    }
    // "; last read: ..." repeats bytes of the file, which need not be UTF-8.
    message = message.substr(0, message.find("; last read"));
    return Fail(std::string(message));
  }

  JsonNode TakeRoot() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string message) {
    error_ = std::move(message);
    return false;
  }
  bool Number(std::string text) { return Add({JsonNode::Kind::kNumber, std::move(text), {}, {}}); }
  bool Add(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else {
      open_.back().items.push_back(std::move(node));
    }
    return true;
  }
  bool Open(JsonNode::Kind kind) {
    if (open_.size() >= kMaxJsonDepth) {
      return Fail(fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    }
    open_.emplace_back();
    open_.back().kind = kind;
    return true;
  }
  bool Close() {
    JsonNode node = std::move(open_.back());
    open_.pop_back();
    return Add(std::move(node));
  }

  JsonNode root_;
  std::vector<JsonNode> open_;
  std::string error_;
};

bool IsPlainName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

template <typename T>
bool ExactInteger(const JsonNode& node, T* out) {
  if (node.kind != JsonNode::Kind::kNumber) return false;
  const char* end = node.text.data() + node.text.size();
  auto [stop, error] = std::from_chars(node.text.data(), end, *out);
  return error == std::errc() && stop == end;
}

void AppendEscaped(unsigned char c, std::string* out) {
  switch (c) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    default: *out += fmt::format("\\u{:04x}", c);
  }
}

// Whether nothing needs to be escaped or checked; without a branch, for the compiler's sake.
bool IsPlain(std::string_view text) {
  unsigned special = 0;
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    special |= static_cast<unsigned>(c < 0x20) | static_cast<unsigned>(c >= 0x80) |
               static_cast<unsigned>(c == '"') | static_cast<unsigned>(c == '\\');
  }
  return special == 0;
}

}  // namespace

Result<JsonNode> ParseJson(std::string_view text, std::string_view source) {
  TreeBuilder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return Corrupt("{}: not valid JSON: {}", source, builder.error());
  }
  return builder.TakeRoot();
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  if (IsPlain(text)) {
    out->append(text);
    *out += '"';
    return;
  }
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') continue;
    if (c >= 0x80) {
      if (const size_t length = SequenceLength(text.substr(i)); length > 0) {
        i += length - 1;
        continue;
      }
    }
    out->append(text, from, i - from);
    from = i + 1;
    if (c >= 0x80) {
      *out += "\\ufffd";
    } else {
      AppendEscaped(c, out);
    }
  }
  out->append(text, from, text.size() - from);
  *out += '"';
}

void AppendJson(const JsonNode& node, std::string* out) {
  switch (node.kind) {
    case JsonNode::Kind::kString: AppendJsonString(node.text, out); return;
    case JsonNode::Kind::kArray:
    case JsonNode::Kind::kObject: {
      const bool object = node.kind == JsonNode::Kind::kObject;
      *out += object ? '{' : '[';
      for (size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) *out += ',';
        if (object) {
          AppendJsonString(node.names[i], out);
          *out += ':';
        }
        AppendJson(node.items[i], out);
      }
      *out += object ? '}' : ']';
      return;
    }
    default: *out += node.text;
  }
}

std::string JsonAt::Path() const {
  if (parent == nullptr) return "";
  std::string path = parent->Path();
  if (parent->node->kind == JsonNode::Kind::kArray) return path + fmt::format("[{}]", index);
  if (!IsPlainName(name)) return path + "[" + Quote(name) + "]";
  return path + (path.empty() ? "" : ".") + std::string(name);
}

Status JsonAt::Error(std::string_view message) const {
  const std::string path = Path();
  return path.empty() ? Corrupt("{}: {}", source, message)
                      : Corrupt("{}: {}: {}", source, path, message);
}

Status JsonAt::Expected(std::string_view what) const {
  std::string got;
  switch (node->kind) {
    case JsonNode::Kind::kString: got = "the string " + Quote(node->text); break;
    case JsonNode::Kind::kArray: got = "an array"; break;
    case JsonNode::Kind::kObject: got = "an object"; break;
    default: got = node->text.substr(0, 80);
  }
  return Error(fmt::format("expected {}, got {}", what, got));
}

Status FromJson(const JsonAt& at, int* out) {
  return ExactInteger(*at.node, out) ? Status::OK() : at.Expected("a 32-bit integer");
}

Status FromJson(const JsonAt& at, int64_t* out) {
  return ExactInteger(*at.node, out) ? Status::OK() : at.Expected("a 64-bit integer");
}

Status FromJson(const JsonAt& at, bool* out) {
  if (at.node->kind != JsonNode::Kind::kBoolean) return at.Expected("true or false");
  *out = at.node->text == "true";
  return Status::OK();
}

Status FromJson(const JsonAt& at, std::string* out) {
  if (at.node->kind != JsonNode::Kind::kString) return at.Expected("a string");
  *out = at.node->text;
  return Status::OK();
}

Status FromJson(const JsonAt& at, std::map<std::string, std::string>* out) {
  if (at.node->kind != JsonNode::Kind::kObject) return at.Expected("an object of strings");
  for (size_t i = 0; i < at.node->items.size(); ++i) {
    const JsonAt member{&at.node->items[i], at.source, &at, at.node->names[i], 0};
    TL_RETURN_NOT_OK(FromJson(member, &(*out)[at.node->names[i]]));
  }
  return Status::OK();
}

Status JsonObject::Check() const {
  return at_.node->kind == JsonNode::Kind::kObject ? Status::OK() : at_.Expected("an object");
}

std::optional<JsonAt> JsonObject::Find(std::string_view name) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (at_.node->names[i] != name) continue;
    taken_[i] = true;
    if (at_.node->items[i].kind == JsonNode::Kind::kNull) return std::nullopt;
    return JsonAt{&at_.node->items[i], at_.source, &at_, at_.node->names[i], 0};
  }
  return std::nullopt;
}

Result<JsonAt> JsonObject::Get(std::string_view name) {
  if (auto found = Find(name)) return *found;
  const auto& names = at_.node->names;
  const bool is_null = std::find(names.begin(), names.end(), name) != names.end();
  const JsonAt missing{nullptr, at_.source, &at_, name, 0};
  return missing.Error(is_null ? "null is not allowed" : "missing");
}

UnknownFields JsonObject::Unknown() const {
  UnknownFields unknown;
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) AppendJson(at_.node->items[i], &unknown[at_.node->names[i]]);
  }
  return unknown;
}

void JsonWriter::Comma() {
  if (comma_) out_ += ',';
  comma_ = true;
}

void JsonWriter::Open(char c) {
  Comma();
  out_ += c;
  comma_ = false;
}

void JsonWriter::Close(char c) {
  out_ += c;
  comma_ = true;
}

void JsonWriter::Key(std::string_view name) {
  Comma();
  AppendJsonString(name, &out_);
  out_ += ':';
  comma_ = false;
}

void JsonWriter::String(std::string_view text) {
  Comma();
  AppendJsonString(text, &out_);
}

void JsonWriter::Int(int64_t number) {
  char buffer[24];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), number);
  static_cast<void>(error);  // 20 characters always fit
  Raw({buffer, static_cast<size_t>(end - buffer)});
}

void JsonWriter::Raw(std::string_view json) {
  Comma();
  out_ += json;
}

void JsonWriter::Members(const UnknownFields& fields) {
  for (const auto& [name, json] : fields) {
    Key(name);
    Raw(json);
  }
}

}  // namespace timelake::iceberg
