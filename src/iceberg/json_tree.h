#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/json_fields.h"

// Reading and writing JSON without losing anything: numbers keep their exact text, members their
// order, and every error names the path of the field, e.g. "snapshots[3].snapshot-id".

namespace timelake::iceberg {

struct JsonNode {
  enum class Kind { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string text;                // string: its value; number, boolean: the text as written
  std::vector<std::string> names;  // object: one per item
  std::vector<JsonNode> items;
};

// kCorrupt, naming `source`, when the text is not JSON (RFC 8259, UTF-8), an object has a member
// twice (which of them counts would depend on the reader), or it nests deeper than 256 levels.
Result<JsonNode> ParseJson(std::string_view text, std::string_view source);

// Appends compact JSON text. Bytes of a string that are not UTF-8 become U+FFFD: nobody could read
// the file otherwise.
void AppendJson(const JsonNode& node, std::string* out);
void AppendJsonString(std::string_view text, std::string* out);

// A node and where it stands. Parents must outlive their children.
struct JsonAt {
  const JsonNode* node = nullptr;
  std::string_view source;
  const JsonAt* parent = nullptr;
  std::string_view name;  // member name, if the parent is an object
  size_t index = 0;       // if the parent is an array

  std::string Path() const;
  // kCorrupt: "<source>: <path>: <message>".
  Status Error(std::string_view message) const;
  // kCorrupt: "... expected <what>, got <the value>".
  Status Expected(std::string_view what) const;
};

// Exact conversions; kCorrupt when the value is of another kind or does not fit.
Status FromJson(const JsonAt& at, int* out);
Status FromJson(const JsonAt& at, int64_t* out);
Status FromJson(const JsonAt& at, bool* out);
Status FromJson(const JsonAt& at, std::string* out);
Status FromJson(const JsonAt& at, std::map<std::string, std::string>* out);

// Calls read(element, &value) for every element.
template <typename T, typename Read>
Status ReadArray(const JsonAt& at, std::vector<T>* out, Read read) {
  if (at.node->kind != JsonNode::Kind::kArray) return at.Expected("an array");
  out->reserve(at.node->items.size());
  for (size_t i = 0; i < at.node->items.size(); ++i) {
    const JsonAt element{&at.node->items[i], at.source, &at, {}, i};
    T value{};
    TL_RETURN_NOT_OK(read(element, &value));
    out->push_back(std::move(value));
  }
  return Status::OK();
}

template <typename T>
Status FromJson(const JsonAt& at, std::vector<T>* out) {
  return ReadArray(at, out,
                   [](const JsonAt& element, T* value) { return FromJson(element, value); });
}

// Takes the known members of an object one by one; what is left are the unknown ones.
class JsonObject {
 public:
  // `at` must outlive this. Check() must be called first.
  explicit JsonObject(const JsonAt& at) : at_(at), taken_(at.node->names.size(), false) {}
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  Status Check() const;

  // Nothing when the member is absent or null. Marks it as known either way.
  std::optional<JsonAt> Find(std::string_view name);
  Result<JsonAt> Get(std::string_view name);

  template <typename T>
  Status Required(std::string_view name, T* out) {
    TL_ASSIGN_OR_RAISE(const JsonAt member, Get(name));
    return FromJson(member, out);
  }

  // Leaves `out` alone when there is none.
  template <typename T>
  Status Optional(std::string_view name, T* out) {
    const std::optional<JsonAt> member = Find(name);
    return member ? FromJson(*member, out) : Status::OK();
  }
  template <typename T>
  Status Optional(std::string_view name, std::optional<T>* out) {
    const std::optional<JsonAt> member = Find(name);
    return member ? FromJson(*member, &out->emplace()) : Status::OK();
  }

  // Members that were not asked for.
  UnknownFields Unknown() const;

 private:
  const JsonAt& at_;
  std::vector<bool> taken_;
};

// Builds compact JSON text; places the commas.
class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view name);
  void String(std::string_view text);
  void Int(int64_t number);
  void Bool(bool value) { Raw(value ? "true" : "false"); }
  // Exact JSON text of a value.
  void Raw(std::string_view json);

  void Member(std::string_view name, std::string_view text) { Key(name), String(text); }
  void Member(std::string_view name, const char* text) { Key(name), String(text); }
  void Member(std::string_view name, int64_t number) { Key(name), Int(number); }
  void Member(std::string_view name, int number) { Key(name), Int(number); }
  void Member(std::string_view name, bool value) { Key(name), Bool(value); }
  void Members(const UnknownFields& fields);

  std::string Take() { return std::move(out_); }

 private:
  void Comma();
  void Open(char c);
  void Close(char c);

  std::string out_;
  bool comma_ = false;
};

}  // namespace timelake::iceberg
