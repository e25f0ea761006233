#include "input_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string_view>
#include <utility>

#include "console.h"
#include "interrupt.h"

namespace timelake::cli {
namespace {

constexpr size_t kPiece = size_t{256} * 1024;
constexpr std::string_view kStdinName = "standard input";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

using Sink = std::function<Status(std::string_view)>;

Status ReadAll(int fd, std::string_view name, const Sink& sink) {
  std::string piece(kPiece, '\0');
  while (!Stopping()) {
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size == 0) return Status::OK();
    if (size > 0) {
      ARROW_RETURN_NOT_OK(sink(std::string_view(piece.data(), static_cast<size_t>(size))));
    } else if (errno != EINTR) {
      return SystemError("cannot read " + std::string(name), errno);
    }
  }
  return Status::Cancelled("interrupted");
}

Result<std::string> ReadText(int fd, std::string_view name) {
  std::string text;
  ARROW_RETURN_NOT_OK(ReadAll(fd, name, [&](std::string_view piece) {
    text.append(piece);
    return Status::OK();
  }));
  return text;
}

}  // namespace

Result<std::string> ReadStdin() {
  if (::isatty(STDIN_FILENO) == 1) Say("note", "reading standard input; Ctrl-D ends it");
  return ReadText(STDIN_FILENO, kStdinName);
}

Result<std::string> ReadTextFile(const std::string& path) {
  if (path == "-") return ReadStdin();
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError("cannot read " + path, errno);
  return ReadText(file.get(), path);
}

Result<InputFiles> InputFiles::Expand(const std::vector<std::string>& paths, FileFormat format) {
  InputFiles input;
  const auto stdins = std::count(paths.begin(), paths.end(), "-");
  if (stdins > 1) return UsageError("standard input (-) is given twice");
  if (stdins > 0 && format == FileFormat::kAuto) {
    return UsageError("standard input (-) has no suffix to tell its format: give --input-format");
  }
  for (const std::string& path : paths) {
    if (path == "-") {
      input.copy_ = std::make_shared<ScratchFile>();
      ARROW_RETURN_NOT_OK(input.copy_->Make());
      ARROW_RETURN_NOT_OK(ReadAll(STDIN_FILENO, kStdinName, [&](std::string_view piece) {
        return input.copy_->Append(piece);
      }));
      input.paths_.push_back(input.copy_->path());
    } else {
      ARROW_ASSIGN_OR_RAISE(auto found, ExpandFiles({path}, format));
      input.paths_.insert(input.paths_.end(), found.begin(), found.end());
    }
  }
  return input;
}

std::string InputFiles::Reworded(std::string message) const {
  if (copy_ == nullptr) return message;
  const std::string& path = copy_->path();
  for (size_t at; (at = message.find(path)) != std::string::npos;) {
    message.replace(at, path.size(), kStdinName);
  }
  return message;
}

}  // namespace timelake::cli
