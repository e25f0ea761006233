#include "sql_script.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace timelake::cli {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Without leading blanks, comments and opening parentheses.
std::string_view SkipToWord(std::string_view text) {
  while (!text.empty()) {
    size_t skip = 0;
    if (text.starts_with("--")) {
      skip = std::min(text.find('\n'), text.size());
    } else if (text.starts_with("/*")) {
      const size_t end = text.find("*/", 2);
      skip = end == std::string_view::npos ? text.size() : end + 2;
    } else if (kSpace.find(text.front()) != std::string_view::npos || text.front() == '(' ||
               text.front() == ';') {
      skip = 1;
    }
    if (skip == 0) break;
    text.remove_prefix(skip);
  }
  return text;
}

template <typename Number>
bool ParseWhole(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

ParamValue Guess(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (int64_t integer; ParseWhole(text, &integer)) return integer;
  const bool numeric =
      !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (double real; numeric && ParseWhole(text, &real)) return real;
  return text;
}

Result<ParamValue> FromJson(const std::string& name, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_null()) return std::monostate();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return json.get<double>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return UsageError(
      fmt::format("--param {}: {} is not null, true, false, a number or a \"text\"", name, text));
}

bool Mentions(std::string_view statement, std::string_view name) {
  const std::string text = Lower(statement);
  const std::string wanted = "$" + Lower(name);
  for (size_t at = 0; (at = text.find(wanted, at)) != std::string::npos;) {
    at += wanted.size();
    if (at == text.size() || !IsWordChar(text[at])) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> SplitScript(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpace);
  if (last == std::string_view::npos || SkipToWord(text).empty()) {
    return UsageError("there is no SQL statement");
  }
  std::string_view body = text.substr(0, last + 1);
  if (body.ends_with(';')) body.remove_suffix(1);
  if (body.find(';') == std::string_view::npos) return std::vector{std::string(body)};
  return Session::Split(text);
}

bool IsQuery(std::string_view statement) {
  const std::string_view text = SkipToWord(statement);
  const auto end = std::find_if_not(text.begin(), text.end(), IsWordChar);
  const std::string word = Lower(std::string_view(text.begin(), end));
  constexpr std::string_view kWords[] = {"select",  "with",    "from",      "values", "table",
                                         "show",    "explain", "describe",  "desc",   "pivot",
                                         "unpivot", "call",    "summarize", "pragma", "execute"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

Result<Params> ParseParams(const std::vector<std::string>& texts) {
  Params params;
  std::map<int, ParamValue> positional;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const bool as_json = equals != std::string::npos && equals > 0 && text[equals - 1] == ':';
    std::string name = text.substr(0, as_json ? equals - 1 : equals);
    if (equals == std::string::npos || name.empty()) {
      return UsageError(fmt::format("--param: \"{}\" is not name=value", text));
    }
    const std::string value_text = text.substr(equals + 1);
    ParamValue value = Guess(value_text);
    if (as_json) {
      ARROW_ASSIGN_OR_RAISE(value, FromJson(name, value_text));
    }
    int number = 0;
    const bool is_number = ParseWhole(name, &number) && number > 0;
    const bool added = is_number ? positional.emplace(number, std::move(value)).second
                                 : params.named.emplace(name, std::move(value)).second;
    if (!added) return UsageError(fmt::format("--param: \"{}\" is given twice", name));
  }
  for (auto& [number, value] : positional) {
    params.positional.push_back(std::move(value));
    if (number != static_cast<int>(params.positional.size())) {
      return UsageError(
          fmt::format("--param: {} is given but {} is missing", number, params.positional.size()));
    }
  }
  return params;
}

Params ParamsFor(std::string_view statement, const Params& params) {
  Params used;
  for (const auto& [name, value] : params.named) {
    if (Mentions(statement, name)) used.named.emplace(name, value);
  }
  if (Mentions(statement, "1") || statement.find('?') != std::string_view::npos) {
    used.positional = params.positional;
  }
  return used;
}

Status CheckParamsUsed(const std::vector<std::string>& statements, const Params& params) {
  for (const auto& param : params.named) {
    const bool used = std::any_of(statements.begin(), statements.end(), [&](const auto& statement) {
      return Mentions(statement, param.first);
    });
    if (!used) {
      return UsageError(fmt::format("--param: no statement has a parameter ${}", param.first));
    }
  }
  return Status::OK();
}

}  // namespace timelake::cli
