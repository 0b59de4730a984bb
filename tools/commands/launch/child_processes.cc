#include "tools/commands/launch/child_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/signals.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

using std::chrono::milliseconds;

// For the others to end by themselves: they hear of a death at once, and may write a report about an error.
constexpr milliseconds kGraceAfterDeath(600), kGraceAfterError(3000);

// The same when they were told to stop and one has: all write their last collective together.
constexpr milliseconds kGraceAfterStop(10'000);

// For the files that are being written when a rank is asked to end.
constexpr milliseconds kLongestWrite(300'000);

// After a signal that came twice, which ends who is not stopped at once.
constexpr milliseconds kGraceAfterSecond(2000);

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

// Signals that came and are not passed on yet; a poll is interrupted by them.
std::atomic<int> arrived[NSIG];

void Remember(int signal) { arrived[signal].store(1); }

// In the child, between fork and exec: only what is safe there. The child has a process group of its own, so that a
// terminal's Ctrl-C reaches it once, through its parent. Where the parent ignores SIGHUP (nohup), it does so as well.
[[noreturn]] void RunChild(char* const* arguments, char* const* environment, pid_t parent, int out, int error) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  for (const int signal : kForwarded) {
    if (signal != SIGHUP && !IsWarning(signal)) std::signal(signal, SIG_DFL);
  }
  dup2(out, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

std::vector<std::string> WithVariables(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (variables.count(text.substr(0, text.find('='))) == 0) environment.push_back(text);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

// Of errno.
absl::Status NoPipe() {
  const int error = errno;
  if (LacksDescriptors(error)) return NoDescriptors("a pipe of a process");
  return ResourceExhausted("no pipe for a process: {}", std::strerror(error));
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildProcesses::~ChildProcesses() {
  Signal(SIGKILL);
  while (Running()) Poll(milliseconds(100));
}

absl::Status ChildProcesses::Start(const std::vector<std::string>& arguments,
                                   const std::map<std::string, std::string>& variables, std::optional<ProcessLog> log) {
  int out[2], error[2];
  if (pipe2(out, O_CLOEXEC) != 0) return NoPipe();
  if (pipe2(error, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    return NoPipe();
  }
  std::vector<std::string> words = arguments, environment = WithVariables(variables);
  const std::vector<char*> argument_list = Pointers(words), environment_list = Pointers(environment);
  const pid_t parent = getpid();
  // The child's warnings wait until it handles them (RunMain).
  const sigset_t warnings = WarningSignalSet();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &warnings, &before);
  const pid_t pid = fork();
  if (pid == 0) RunChild(argument_list.data(), environment_list.data(), parent, out[1], error[1]);
  const int error_of_fork = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(out[1]);
  close(error[1]);
  if (pid < 0) {
    close(out[0]);
    close(error[0]);
    return NoThread("cannot start a process", error_of_fork);
  }
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // glibc 2.36 forgets extern "C"
  if (handle < 0) {
    const absl::Status status = NoPipe();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(out[0]);
    close(error[0]);
    return status;
  }
  Child& child = children_.emplace_back();
  child.pid = pid;
  child.handle = handle;
  child.out.fd = out[0];
  child.error.fd = error[0];
  child.log = std::move(log);
  return absl::OkStatus();
}

bool ChildProcesses::Running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.handle >= 0 || child.out.fd >= 0 || child.error.fd >= 0; });
}

void ChildProcesses::Signal(int signal) const {
  for (const Child& child : children_) {
    if (child.handle >= 0) kill(child.pid, signal);
  }
}

JobEnd ChildProcesses::Wait() {
  const HandledSignals handled(kForwarded, Remember, 0);
  while (Running()) {
    Poll(milliseconds(100));
    SayFailure();
    PassOnSignals();
    EndTheLate();
  }
  end_.told = passed_on_ != 0;
  if (const int code = CodeOf(end_); code != end_.code) {
    const ProcessEnd culprit = Culprits(end_).front();
    error_ << fmt::format("launch: because of rank {}: {}", culprit.rank, HowItEnded(culprit)) << std::endl;
    end_.code = code;
  }
  if (end_.code == 0 && log_failed_) end_.code = kExitResources;
  return end_;
}

// Who is stopped hears of it as well.
void ChildProcesses::PassOnSignals() {
  for (const int signal : kForwarded) {
    if (arrived[signal].exchange(0) == 0) continue;
    passed_on_ = signal;
    if (++told_[signal] == 2 && !IsWarning(signal)) kill_at_ = Clock::now() + kGraceAfterSecond;
    Signal(signal);
    Signal(SIGCONT);
  }
}

void ChildProcesses::EndTheLate() {
  const Clock::time_point now = Clock::now();
  if (kill_at_ && now > *kill_at_) Signal(SIGKILL);
  if (end_.code == 0) return;
  const bool as_told = end_.code == ExitCodeOfSignal(passed_on_);
  const milliseconds grace = as_told ? kGraceAfterStop : end_.code >= 128 ? kGraceAfterDeath : kGraceAfterError;
  if (asked_ || now < first_end_ + grace) return;
  Ask();
  if (!kill_at_) kill_at_ = now + kLongestWrite;
}

void ChildProcesses::Ask() {
  asked_ = true;
  for (Child& child : children_) {
    siginfo_t state{};
    const bool heard = child.handle >= 0 && waitid(P_PID, child.pid, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0;
    child.stopped = heard && state.si_pid == child.pid;
  }
  Signal(AskingSignal());
  Signal(SIGCONT);
}

void ChildProcesses::Poll(milliseconds timeout) {
  std::vector<pollfd> files;
  for (const Child& child : children_) {
    for (const int fd : {child.handle, child.out.fd, child.error.fd}) files.push_back({fd, POLLIN, 0});
  }
  if (poll(files.data(), files.size(), static_cast<int>(timeout.count())) <= 0) return;
  for (size_t c = 0; c < children_.size(); ++c) {
    Child& child = children_[c];
    if (files[3 * c + 1].revents != 0) ReadPipe(c, child.out, out_, c == 0);
    if (files[3 * c + 2].revents != 0) ReadPipe(c, child.error, error_, false);
    if (files[3 * c].revents != 0) Reap(c);
  }
}

void ChildProcesses::ReadPipe(size_t child, Pipe& pipe, std::ostream& stream, bool plain) {
  char buffer[4096];
  const ssize_t count = read(pipe.fd, buffer, sizeof(buffer));
  if (count < 0 && errno == EINTR) return;
  const auto print = [&](const std::string& text) {
    Log(children_[child], text);
    if (&pipe == &children_[child].error && IsRepeated(children_[child], text)) return;
    if (!plain) stream << "[" << child << "] ";
    stream << text << std::flush;
  };
  if (count <= 0) {
    if (!pipe.line.empty()) print(pipe.line + "\n");
    close(pipe.fd);
    pipe.fd = -1;
    return;
  }
  pipe.line.append(buffer, static_cast<size_t>(count));
  for (size_t end = pipe.line.find('\n'); end != std::string::npos; end = pipe.line.find('\n')) {
    print(pipe.line.substr(0, end + 1));
    pipe.line.erase(0, end + 1);
  }
}

// Whether another child has reported this error.
bool ChildProcesses::IsRepeated(Child& child, const std::string& line) {
  if (!line.starts_with("trainer: ") || line.starts_with("trainer: warning: ")) return false;
  child.said_why = true;
  return !errors_said_.insert(line).second;
}

// Says how the first child that failed has ended, unless its own error says why.
void ChildProcesses::SayFailure() {
  if (failure_.empty() || children_[failed_].error.fd >= 0) return;
  if (!children_[failed_].said_why) error_ << failure_ << std::endl;
  failure_.clear();
}

// What cannot be written is said once, and is no reason to end the job.
void ChildProcesses::Log(Child& child, const std::string& text) {
  if (!child.log) return;
  const absl::Status written = child.log->Write(text);
  if (written.ok()) return;
  child.log.reset();
  log_failed_ = true;
  error_ << "launch: " << std::string(written.message()) << std::endl;
}

void ChildProcesses::Reap(size_t child) {
  int status = 0;
  if (waitpid(children_[child].pid, &status, WNOHANG) <= 0) return;
  close(children_[child].handle);
  children_[child].handle = -1;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  end_.ends.push_back({static_cast<int>(child), code, WIFSIGNALED(status), asked_, children_[child].stopped});
  if (code == 0 || end_.code != 0) return;
  end_.code = code;
  first_end_ = Clock::now();
  const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                              : fmt::format("ended with exit code {}", code);
  failed_ = child;
  failure_ = fmt::format("launch: rank {} (process {}) {}", child, children_[child].pid, how);
}

}  // namespace partita
