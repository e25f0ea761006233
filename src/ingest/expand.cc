#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "ingest/file_format.h"
#include "timelake/ingest.h"

namespace timelake {
namespace {

namespace fs = std::filesystem;

arrow::Result<std::vector<std::string>> FilesOfFolder(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.') || name.starts_with('_')) continue;  // as Hadoop's tools do
    if (it->is_regular_file(error) && ingest::HasKnownSuffix(name))
      files.push_back(it->path().string());
  }
  if (error) return IoError("folder {} cannot be read: {}", folder, error.message());
  if (files.empty()) {
    return NotFound("folder {} holds no .parquet, .csv or .tsv file (also .gz)", folder);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return files;
}

}  // namespace

arrow::Result<std::vector<std::string>> ExpandFiles(const std::vector<std::string>& paths,
                                                    FileFormat format) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      TL_ASSIGN_OR_RAISE(auto inside, FilesOfFolder(path));
      files.insert(files.end(), inside.begin(), inside.end());
    } else if (fs::exists(path, error)) {
      files.push_back(path);
    } else {
      const auto matched = Matches(path);
      if (matched.empty()) return NotFound("file {} does not exist", path);
      files.insert(files.end(), matched.begin(), matched.end());
    }
  }
  if (files.empty()) return InvalidArgument("no files were given");
  return files;
}

}  // namespace timelake
