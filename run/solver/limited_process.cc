#include "run/solver/limited_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

extern char** environ;

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

// 0, or the error for which it does not start.
int Spawn(const std::vector<std::string>& command, int output, pid_t& child) {
  posix_spawn_file_actions_t actions;
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO) == 0);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Whether the writers have closed it in time.
bool ReadAll(int input, Clock::time_point until, std::string& text) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd file{input, POLLIN, 0};
    const int ready = poll(&file, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char buffer[4096];
    const ssize_t count = read(input, buffer, sizeof(buffer));
    if (count == 0) return true;
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
  }
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

absl::StatusOr<std::string> RunLimited(const std::vector<std::string>& command, std::chrono::milliseconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Unavailable("no pipe for {}: {}", command[0], std::strerror(errno));
  pid_t child = 0;
  const int error = Spawn(command, ends[1], child);
  close(ends[1]);
  std::string text;
  const bool in_time = error != 0 || ReadAll(ends[0], Clock::now() + limit, text);
  close(ends[0]);
  if (error != 0) return Unavailable("{} does not start: {}", command[0], std::strerror(error));
  if (!in_time) kill(child, SIGKILL);
  const int status = WaitFor(child);
  if (!in_time) return Unavailable("{} was not over after {} s", command[0], limit.count() / 1000);
  if (WIFSIGNALED(status)) return Unavailable("{} was ended by signal {}", command[0], WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return Unavailable("{} ended with exit code {}", command[0], WEXITSTATUS(status));
  return text;
}

}  // namespace partita
