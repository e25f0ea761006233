#include "store/remote_options.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace timelake::store {
namespace {

// "5s", "1500ms" or plain seconds.
Result<int64_t> ParseTimeMs(std::string_view name, std::string_view value) {
  const std::string_view text = Trim(value);
  auto number = ParseInt64(text.ends_with("ms")  ? text.substr(0, text.size() - 2)
                           : text.ends_with("s") ? text.substr(0, text.size() - 1)
                                                 : text);
  if (!number.ok() || *number <= 0 || *number > 86'400'000) {
    return InvalidArgument("{} = {}: give a time such as 30s or 500ms", name, Quote(value));
  }
  return text.ends_with("ms") ? *number : *number * 1000;
}

OptionSetter SetTimeMs(int64_t* to, int64_t unit) {
  return [=](std::string_view name, const std::string& value) -> Status {
    TL_ASSIGN_OR_RAISE(const int64_t millis, ParseTimeMs(name, value));
    *to = millis * unit;
    return Status::OK();
  };
}

OptionSetter SetCount(int64_t* to) {
  return [=](std::string_view name, const std::string& value) -> Status {
    auto number = ParseInt64(Trim(value));
    if (!number.ok() || *number < 0 || *number > 1000) {
      return InvalidArgument("{} = {}: give 0 .. 1000", name, Quote(value));
    }
    *to = *number;
    return Status::OK();
  };
}

const OptionField* Find(const std::vector<OptionField>& fields, std::string_view lower) {
  for (const OptionField& field : fields) {
    for (const std::string_view spelling : field.spellings) {
      if (spelling == lower) return &field;
    }
  }
  return nullptr;
}

}  // namespace

EnvLookup ProcessEnv() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == 0) return std::nullopt;
    return value;
  };
}

std::vector<OptionField> RemoteFields(RemoteOptions* to) {
  return {
      {{"ca_bundle"}, {}, SetText(&to->http.ca_file)},
      {{"connect_timeout"}, {}, SetTimeMs(&to->http.connect_timeout_ms, 1)},
      {{"timeout"}, {}, SetTimeMs(&to->http.stall_timeout_ms, 1)},
      {{"max_retries"}, {}, SetCount(&to->max_retries)},
      {{"retry_timeout"}, {}, SetTimeMs(&to->retry_timeout_us, 1000)},
  };
}

void MarkWays(std::span<const std::string_view> ways, std::vector<OptionField>* fields) {
  for (OptionField& field : *fields) {
    field.way = std::find(ways.begin(), ways.end(), field.spellings[0]) != ways.end();
  }
}

Result<std::set<std::string>> ApplyOptions(const std::vector<OptionField>& fields,
                                           const std::map<std::string, std::string>& options,
                                           const EnvLookup& env, std::string_view store) {
  std::map<std::string, std::string> given;  // first spelling -> the name used
  for (const auto& [name, value] : options) {
    const std::string lower = ToLowerAscii(name);
    const OptionField* field = Find(fields, lower);
    if (field == nullptr) {
      const auto names = SpellingsOf(fields);
      const auto near = NearestName(lower, names);
      return InvalidArgument("unknown storage option {}{}; {} takes {}", Quote(name),
                             near ? " (did you mean " + *near + "?)" : "", store,
                             Join(names, ", "));
    }
    const auto [before, fresh] = given.emplace(field->spellings[0], name);
    if (!fresh) {
      return InvalidArgument("storage options {} and {} say the same thing: give one of them",
                             before->second, name);
    }
    TL_RETURN_NOT_OK(WithContext(field->set(name, value), "storage option"));
  }
  const bool way_given = std::any_of(fields.begin(), fields.end(), [&](const OptionField& field) {
    return field.way && given.contains(std::string(field.spellings[0]));
  });
  for (const OptionField& field : fields) {
    if (field.way && way_given) continue;
    for (const std::string_view variable : field.variables) {
      const auto value = env(std::string(variable));
      if (!value || !given.emplace(field.spellings[0], variable).second) continue;
      TL_RETURN_NOT_OK(WithContext(field.set(variable, *value), "environment variable"));
    }
  }
  std::set<std::string> names;
  for (const auto& [name, used] : given) names.insert(name);
  return names;
}

Result<StorageKeys> AskCallback(const RemoteOptions& options,
                                const std::vector<OptionField>& fields, std::string_view store) {
  auto given = options.callback();
  if (!given.ok()) return WithContext(given.status(), "the credentials callback");
  const EnvLookup none = [](const std::string& /*name*/) { return std::nullopt; };
  const auto set = ApplyOptions(fields, given->keys, none, store);
  if (!set.ok()) return WithContext(set.status(), "the credentials callback");
  return given;
}

std::vector<std::string> SpellingsOf(const std::vector<OptionField>& fields) {
  std::vector<std::string> names;
  for (const OptionField& field : fields) {
    for (const std::string_view spelling : field.spellings) names.emplace_back(spelling);
  }
  return names;
}

OptionSetter SetText(std::string* to) {
  return [=](std::string_view /*name*/, const std::string& value) {
    *to = value;
    return Status::OK();
  };
}

OptionSetter SetTrimmed(std::string* to) {
  return [=](std::string_view /*name*/, const std::string& value) {
    *to = Trim(value);
    return Status::OK();
  };
}

OptionSetter SetFlag(bool* to) {
  return [=](std::string_view name, const std::string& value) -> Status {
    TL_ASSIGN_OR_RAISE(*to, ParseBool(name, value));
    return Status::OK();
  };
}

OptionSetter SetUrl(std::string* to) {
  return [=](std::string_view name, const std::string& value) -> Status {
    TL_ASSIGN_OR_RAISE(*to, ParseUrl(name, value, false));
    return Status::OK();
  };
}

Result<bool> ParseBool(std::string_view name, std::string_view value) {
  const std::string text = ToLowerAscii(Trim(value));
  for (const char* yes : {"true", "1", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "0", "no", "off"}) {
    if (text == no) return false;
  }
  return InvalidArgument("{} = {}: give true or false", name, Quote(value));
}

Result<std::string> ParseUrl(std::string_view name, std::string_view value, bool path) {
  std::string_view url = Trim(value);
  while (url.ends_with('/')) url.remove_suffix(1);
  const std::string lower = ToLowerAscii(url);
  const size_t host = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
  const char* forbidden = path ? "?#@ " : "/?#@ ";
  if (host == 0 || url.size() == host || url[host] == '/' ||
      url.find_first_of(forbidden, host) != url.npos) {
    return InvalidArgument("{} must be a URL such as https://host or http://host:9000", name);
  }
  return lower.substr(0, host) + std::string(url.substr(host));
}

Status CheckEncrypted(std::string_view url, bool allow_http, std::string_view option) {
  if (allow_http || !url.starts_with("http://")) return Status::OK();
  std::string variable(option);
  for (char& c : variable) c = (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  return InvalidArgument(
      "the endpoint {} is not encrypted: allow that with the storage option {} = true, or {}=true",
      url, option, variable);
}

}  // namespace timelake::store
