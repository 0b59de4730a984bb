#include "tests/tools/service/service_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace partita::service {

pid_t Spawn(const std::vector<std::string>& command, int* output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output != nullptr) posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t process = 0;
  if (posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) process = 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (output != nullptr) {
    *output = ends[0];
  } else {
    close(ends[0]);
  }
  return process;
}

int WaitFor(pid_t process) {
  int state = 0;
  if (waitpid(process, &state, 0) != process) return -1;
  return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

int RunCommand(const std::vector<std::string>& command) { return WaitFor(Spawn(command, nullptr)); }

ServiceProcess::ServiceProcess(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {"tools/service/partita_service", "serve", "--address=127.0.0.1:0",
                                      "--metrics-address=127.0.0.1:0"};
  command.insert(command.end(), flags.begin(), flags.end());
  int output = -1;
  process_ = Spawn(command, &output);
  FILE* const lines = fdopen(output, "r");
  int port = 0;
  if (std::fscanf(lines, "calls 127.0.0.1:%d metrics 127.0.0.1:%d", &port, &metrics_port_) == 2) {
    address_ = "127.0.0.1:" + std::to_string(port);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // whatever the environment says
    channel_ = grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::Partita::NewStub(channel_);
  }
  std::fclose(lines);
}

ServiceProcess::~ServiceProcess() {
  if (process_ == 0) return;
  Signal(SIGKILL);
  Wait();
}

std::string ServiceProcess::Metrics() const {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(metrics_port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string page;
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      write(socket, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char bytes[4096];
    for (ssize_t count = 0; (count = read(socket, bytes, sizeof(bytes))) > 0;) page.append(bytes, count);
  }
  close(socket);
  return page;
}

int64_t ServiceProcess::PeakBytes() const {
  std::ifstream status("/proc/" + std::to_string(process_) + "/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

void ServiceProcess::Signal(int signal) const { kill(process_, signal); }

int ServiceProcess::Wait() {
  const int code = WaitFor(process_);
  process_ = 0;
  return code;
}

}  // namespace partita::service
