#include "store/s3_profile.h"

#include <fstream>
#include <sstream>

#include "base/text.h"

namespace timelake::store {
namespace {

Result<std::string> ReadText(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad()) return IoError("{}: cannot be read", path);
  return text.str();
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> ParseProfileFile(std::string_view text) {
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::map<std::string, std::string>* section = nullptr;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = Trim(raw);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      const size_t close = line.find(']');
      section = close == std::string_view::npos
                    ? nullptr
                    : &sections[std::string(Trim(line.substr(1, close - 1)))];
      continue;
    }
    // An indented line belongs to the value above it ("s3 =" and its sub-settings).
    const bool nested = raw.starts_with(' ') || raw.starts_with('\t');
    const size_t equals = line.find('=');
    if (section == nullptr || nested || equals == std::string_view::npos) continue;
    (*section)[ToLowerAscii(Trim(line.substr(0, equals)))] = Trim(line.substr(equals + 1));
  }
  return sections;
}

Result<Profile> ReadProfile(const S3Options& options) {
  const std::string name = options.profile.empty() ? "default" : options.profile;
  Profile profile;
  const auto take = [&](const auto& sections, const std::string& section) {
    const auto found = sections.find(section);
    if (found == sections.end()) return;
    profile.found = true;
    for (const auto& [key, value] : found->second) profile.values.emplace(key, value);
  };
  TL_ASSIGN_OR_RAISE(const std::string credentials, ReadText(options.credentials_file));
  take(ParseProfileFile(credentials), name);
  TL_ASSIGN_OR_RAISE(const std::string config, ReadText(options.config_file));
  const auto sections = ParseProfileFile(config);
  take(sections, "profile " + name);
  if (name == "default") take(sections, name);
  return profile;
}

}  // namespace timelake::store
