#include "tools/commands/processes/processes.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "tools/commands/processes/finish_writing.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// Time for this process to end by itself, as it does when it meets the end of the job in a step. What it is writing
// then is written to its end.
constexpr std::chrono::milliseconds kLastMoment(400);

}  // namespace

void EndProcess(const std::string& who, const absl::Status& status) {
  const std::string line = fmt::format("trainer: {}{}\n", who, std::string(status.message()));
  const int code = ToExitCode(status);
  try {
    std::thread([line, code] {
      std::this_thread::sleep_for(kLastMoment);
      ExitWhenWritten(code, line.c_str());
    }).detach();
  } catch (const std::system_error&) {  // there are no more threads
    ExitWhenWritten(code, line.c_str());
  }
}

bool Speaks(const Session& session) { return session.local_ranks().front() == 0; }

std::ostream& Silence() {
  static auto& silence = *new std::ostream(nullptr);
  return silence;
}

}  // namespace partita
