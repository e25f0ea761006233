#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scratch_file.h"
#include "status.h"
#include "timelake/ingest.h"

namespace timelake::cli {

// All of standard input as text.
Result<std::string> ReadStdin();

// The whole text of a file; of standard input when `path` is "-".
Result<std::string> ReadTextFile(const std::string& path);

// The input files of a command. "-" is standard input: copied to a file of its own first, since
// compressed and Parquet input is read more than once. The copy goes when this does.
class InputFiles {
 public:
  static Result<InputFiles> Expand(const std::vector<std::string>& paths, FileFormat format);

  const std::vector<std::string>& paths() const { return paths_; }

  // `message` with the name of the copy as "standard input".
  std::string Reworded(std::string message) const;

 private:
  std::vector<std::string> paths_;
  std::shared_ptr<ScratchFile> copy_;
};

}  // namespace timelake::cli
