#pragma once

#include <string>
#include <string_view>

#include "status.h"

namespace timelake::cli {

// A temporary file for what can be read by path only. It has no name in any folder, so that nothing
// is left behind however the process ends.
class ScratchFile {
 public:
  ScratchFile() = default;
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // In the folder for temporary files.
  Status Make();
  Status Append(std::string_view bytes);
  Status Clear();

  // How this process, and no other, can open it.
  const std::string& path() const { return path_; }

 private:
  int fd_ = -1;
  std::string folder_;
  std::string path_;
};

}  // namespace timelake::cli
