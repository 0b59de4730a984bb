#include "tools/benchmarks/train/train_peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

extern char** environ;

namespace partita {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe MakePipe() {
  int ends[2];
  CHECK(pipe2(ends, O_CLOEXEC) == 0);
  return {ends[0], ends[1]};
}

// How OpenMP threads wait is our choice, not the peer's.
std::vector<char*> OwnEnvironment() {
  constexpr char kPolicy[] = "OMP_WAIT_POLICY=";
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, kPolicy, sizeof kPolicy - 1) != 0) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// The child with standard input and output on the two pipes; 0 if it does not start.
pid_t Spawn(const std::vector<std::string>& command, const Pipe& input, const Pipe& output) {
  posix_spawn_file_actions_t actions;
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, input.read, STDIN_FILENO) == 0);
  CHECK(posix_spawn_file_actions_adddup2(&actions, output.write, STDOUT_FILENO) == 0);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = OwnEnvironment();
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? child : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainPeer>> TrainPeer::Start(const std::vector<std::string>& command) {
  // A child that died is told by what it answers, not by a signal.
  std::signal(SIGPIPE, SIG_IGN);
  const Pipe input = MakePipe(), output = MakePipe();
  const pid_t child = Spawn(command, input, output);
  const std::string reason = std::strerror(errno);
  close(input.read);
  close(output.write);
  if (child == 0) {
    close(input.write);
    close(output.read);
    return InvalidArgument("{} does not start: {}", command[0], reason);
  }
  std::unique_ptr<TrainPeer> peer(new TrainPeer(child, fdopen(input.write, "w"), fdopen(output.read, "r")));
  ASSIGN_OR_RETURN(peer->version_, peer->ReadLine());
  return peer;
}

TrainPeer::~TrainPeer() {
  std::fclose(to_);
  std::fclose(from_);
  waitpid(child_, nullptr, 0);
}

absl::StatusOr<std::string> TrainPeer::ReadLine() {
  char line[256];
  if (std::fgets(line, sizeof line, from_) == nullptr) return Internal("the peer ended without an answer");
  std::string text = line;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

absl::StatusOr<double> TrainPeer::Run(int64_t steps) {
  std::fprintf(to_, "%lld\n", static_cast<long long>(steps));
  std::fflush(to_);
  ASSIGN_OR_RETURN(const std::string line, ReadLine());
  char* end = nullptr;
  const double seconds = std::strtod(line.c_str(), &end);
  if (end == line.c_str() || !(seconds > 0)) return Internal("the peer answered '{}'; seconds are needed", line);
  return seconds;
}

}  // namespace partita
