// `trainer launch`: the ranks of a job as processes of this machine.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/base/status.h"
#include "runtime/rendezvous/token.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/processes/child_processes.h"
#include "tools/commands/processes/launcher.h"
#include "tools/program/exit_code.h"
#include "tools/program/queued_output.h"

namespace partita {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

// For a reader of what the ranks have said on standard error.
constexpr std::chrono::milliseconds kLastPatience(1000);

// A port that nobody has now.
absl::StatusOr<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = fd >= 0 && bind(fd, any, size) == 0 && getsockname(fd, any, &size) == 0;
  if (fd >= 0) close(fd);
  if (!bound) return Unavailable("there is no free port on {}", kLoopback);
  return ntohs(address.sin_port);
}

// --nproc, or as many as the command has ranks; its flags are looked at here either way, once for all.
absl::StatusOr<int64_t> CountProcesses(const CommandContext& context) {
  ASSIGN_OR_RETURN(const Flags command, context.parse(context.rest));
  if (context.flags.IsSet("nproc")) return context.flags.Int("nproc");
  return RanksOf(command);
}

absl::Status MakeLogFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return FlagError("flag --log-dir: {} cannot be made: {}", folder, error.message());
}

absl::StatusOr<int> RunLaunch(const CommandContext& context) {
  if (context.rest.empty()) return FlagError("launch needs a command behind `--`: launch -- train --dp=2 GRAPH");
  ASSIGN_OR_RETURN(const int64_t count, CountProcesses(context));
  const std::string& logs = context.flags.Text("log-dir");
  RETURN_IF_ERROR(MakeLogFolder(logs));
  int64_t port = context.flags.Int("port");
  if (port == 0) {
    ASSIGN_OR_RETURN(port, FreePort());
  }
  std::vector<std::string> arguments = {"/proc/self/exe"};
  arguments.insert(arguments.end(), context.rest.begin(), context.rest.end());
  std::map<std::string, std::string> variables = {
      {"WORLD_SIZE", std::to_string(count)},
      {"LOCAL_WORLD_SIZE", std::to_string(count)},
      {"ROLE_WORLD_SIZE", std::to_string(count)},
      {"GROUP_RANK", "0"},
      {"MASTER_ADDR", kLoopback},
      {"MASTER_PORT", std::to_string(port)},
      {kTokenVariable, NewToken()},
      {kLauncherVariable, "trainer launch"},
      {"TORCHELASTIC_USE_AGENT_STORE", ""},
  };
  QueuedOutput error(STDERR_FILENO);
  ChildProcesses children(context.out, error);
  for (int64_t rank = 0; rank < count; ++rank) {
    for (const char* name : {"RANK", "LOCAL_RANK", "ROLE_RANK"}) variables[name] = std::to_string(rank);
    const std::string log = logs.empty() ? "" : fmt::format("{}/rank-{}.log", logs, rank);
    RETURN_IF_ERROR(children.Start(arguments, variables, log));
  }
  const int code = children.Wait();
  error.Finish(kLastPatience).IgnoreError();  // there is nowhere to say it
  return code;
}

}  // namespace

Command LaunchCommand() {
  return {"launch",
          "run a command with a process for each rank: launch -- train --dp=2 GRAPH",
          "",
          {"nproc", "log-dir", "port"},
          RunLaunch,
          /*passes_on=*/true};
}

}  // namespace partita
