#include "tools/benchmarks/timed_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/process_memory.h"
#include "tools/program/exit_code.h"

extern char** environ;

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeToEnd{10};

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe MakePipe() {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  return {ends[0], ends[1]};
}

// Whether `variable` sets a name that is set in `others`.
bool IsSetIn(const char* variable, const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    const size_t name = other.find('=') + 1;
    if (std::strncmp(variable, other.c_str(), name) == 0) return true;
  }
  return false;
}

// How OpenMP threads wait each program chooses itself: what this one has set is not passed on.
std::vector<char*> Environment(const std::vector<std::string>& variables) {
  static const std::vector<std::string> kWaiting = {"OMP_WAIT_POLICY=", "GOMP_SPINCOUNT="};
  std::vector<char*> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (IsSetIn(*variable, kWaiting) || IsSetIn(*variable, variables)) continue;
    all.push_back(*variable);
  }
  for (const std::string& variable : variables) all.push_back(const_cast<char*>(variable.c_str()));
  all.push_back(nullptr);
  return all;
}

// The child with standard input and output on the two pipes; 0 if it does not start.
pid_t Spawn(const std::vector<std::string>& command, const std::vector<std::string>& variables, const Pipe& input,
            const Pipe& output) {
  posix_spawn_file_actions_t actions;
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO) == 0);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = Environment(variables);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? child : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TimedProcess>> TimedProcess::Start(const std::vector<std::string>& command,
                                                                  const std::vector<std::string>& variables,
                                                                  std::chrono::milliseconds longest_wait) {
  // A child that died is told by what it answers, not by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  const Pipe input = MakePipe(), output = MakePipe();
  const pid_t child = Spawn(command, variables, input, output);
  const std::string reason = std::strerror(errno);
  close(input.read);
  close(output.write);
  if (child == 0) {
    close(input.write);
    close(output.read);
    return InvalidArgument("{} does not start: {}", command[0], reason);
  }
  std::unique_ptr<TimedProcess> process(new TimedProcess(child, fdopen(input.write, "w"), output.read, longest_wait));
  RETURN_IF_ERROR(process->Greet());
  return process;
}

TimedProcess::~TimedProcess() {
  std::fclose(to_);
  close(from_);
  if (waited_ || EndsWithin(kTimeToEnd)) return;
  kill(child_, SIGKILL);
  Wait();
}

bool TimedProcess::EndsWithin(std::chrono::milliseconds time) {
  for (const auto deadline = Clock::now() + time; Clock::now() < deadline;) {
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) return waited_ = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// A wait status.
int TimedProcess::Wait() {
  int status = 0;
  waitpid(child_, &status, 0);
  waited_ = true;
  return status;
}

absl::Status TimedProcess::Ended() {
  const std::string name = version_.empty() ? "a process" : version_;
  if (waited_) return Internal("{} has ended", name);
  const int status = Wait();
  if (!WIFEXITED(status)) return Internal("{} was ended by signal {}", name, WTERMSIG(status));
  if (WEXITSTATUS(status) == kExitResources) return ResourceExhausted("{} ended with exit code 4", name);
  return Internal("{} ended with exit code {} in place of an answer", name, WEXITSTATUS(status));
}

absl::Status TimedProcess::Greet() {
  ASSIGN_OR_RETURN(version_, ReadLine());
  memory_at_start_ = MemoryOf(child_).now;
  ASSIGN_OR_RETURN(const std::string ready, ReadLine());
  if (ready != "ready") return Internal("{} answered '{}'; 'ready' is needed", version_, ready);
  return absl::OkStatus();
}

absl::Status TimedProcess::AwaitOutput(Clock::time_point deadline) {
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd output{from_, POLLIN, 0};
    ready = poll(&output, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
  } while (ready < 0 && errno == EINTR);
  if (ready != 0) return absl::OkStatus();
  if (!waited_) kill(child_, SIGKILL);
  if (!waited_) Wait();
  return absl::DeadlineExceededError(fmt::format("{} gave no answer within {} s and was killed",
                                                 version_.empty() ? "a process" : version_,
                                                 static_cast<double>(longest_wait_.count()) / 1000));
}

absl::StatusOr<std::string> TimedProcess::ReadLine() {
  const auto deadline = Clock::now() + longest_wait_;
  size_t end = 0;
  while ((end = read_.find('\n')) == std::string::npos) {
    RETURN_IF_ERROR(AwaitOutput(deadline));
    char piece[4096];
    const ssize_t count = read(from_, piece, sizeof(piece));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Ended();
    read_.append(piece, static_cast<size_t>(count));
  }
  const std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

absl::StatusOr<std::string> TimedProcess::Ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  return ReadLine();
}

absl::StatusOr<double> TimedProcess::Run(int64_t steps) {
  ASSIGN_OR_RETURN(const std::string line, Ask(std::to_string(steps)));
  char* end = nullptr;
  const double seconds = std::strtod(line.c_str(), &end);
  if (end == line.c_str() || !(seconds > 0)) return Internal("{} answered '{}'; seconds are needed", version_, line);
  return seconds;
}

int64_t TimedProcess::MostMemory() const { return MemoryOf(child_).most; }

int64_t TimedProcess::GrownMemory() const { return MostMemory() - memory_at_start_; }

}  // namespace partita
