#include "store/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

extern char** environ;

namespace timelake::store {
namespace {

constexpr size_t kMaxAnswer = 1 << 20;

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// `more` comes before what the process has under the same name.
std::vector<std::string> Environment(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (const auto& [name, value] : more) all.push_back(fmt::format("{}={}", name, value));
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const bool replaced = std::any_of(more.begin(), more.end(), [&](const auto& pair) {
      return entry.starts_with(pair.first + "=");
    });
    if (!replaced) all.emplace_back(entry);
  }
  return all;
}

// A program that writes to `output`. errno, or 0.
int Start(std::vector<std::string> arguments, std::vector<std::string> environment, int output,
          pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  // A group of its own, so that what it has started ends with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(pid, arguments[0].c_str(), &actions, &attributes,
                                 Pointers(&arguments).data(), Pointers(&environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Until the other end is closed; false when it takes too long.
bool ReadAll(int input, int64_t timeout_ms, std::string* text) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  std::array<char, 4096> bytes{};
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    pollfd wanted{input, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t read = ::read(input, bytes.data(), bytes.size());
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return true;
    if (text->size() < kMaxAnswer) text->append(bytes.data(), static_cast<size_t>(read));
  }
}

}  // namespace

Result<std::string> RunProgram(const std::vector<std::string>& arguments,
                               const std::vector<std::pair<std::string, std::string>>& more,
                               int64_t timeout_ms, std::string_view what) {
  if (arguments.empty()) return InvalidArgument("{} names no program", what);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return IoError("{} cannot be started: {}", what, std::generic_category().message(errno));
  }
  pid_t pid = 0;
  const int error = Start(arguments, Environment(more), ends[1], &pid);
  close(ends[1]);
  std::string text;
  const bool whole = error == 0 && ReadAll(ends[0], timeout_ms, &text);
  close(ends[0]);
  if (error != 0) {
    return IoError("{} {} cannot be started: {}", what, arguments[0],
                   std::generic_category().message(error));
  }
  if (!whole) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole) return IoError("{} does not end within {} ms", what, timeout_ms);
  if (status != 0) {
    return IoError("{} failed with {} {}", what, WIFEXITED(status) ? "status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }
  return text;
}

}  // namespace timelake::store
