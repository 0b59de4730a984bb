// The exit codes of programs, and the signals that they treat as SIGTERM (docs/reference/commands.md 3).
#ifndef PARTITA_TOOLS_PROGRAM_EXIT_CODE_H_
#define PARTITA_TOOLS_PROGRAM_EXIT_CODE_H_

#include <algorithm>
#include <csignal>
#include <iterator>

#include "run/spec/spec_error.h"
#include "runtime/base/status.h"

namespace partita {

enum ExitCode : int {
  kExitFinished = 0,
  kExitInternal = 1,       // a bug of ours
  kExitFlags = 2,          // wrong flags
  kExitFiles = 3,          // wrong graph, strategy or data
  kExitResources = 4,      // does not fit; disk full; port taken
  kExitNonFinite = 5,      // the loss became infinite or not a number
  kExitVerification = 6,   // two results that must be equal are not
  kExitNoDevice = 7,       // no such device, driver or library here: to start again brings nothing
  kExitHungUp = 129,       // SIGHUP: as SIGINT
  kExitInterrupted = 130,  // SIGINT: the step was finished, saved if asked for
  kExitUnavailable = 138,  // a peer or a device is lost: restart
  kExitTerminated = 143,   // SIGTERM: as SIGINT
};

// Signals by which batch systems warn a job that its time ends soon: Slurm sends the one of --signal, others SIGXCPU.
// They mean what SIGTERM means, and may come more than once.
inline constexpr int kWarningSignals[] = {SIGUSR1, SIGUSR2, SIGXCPU};

inline bool IsWarning(int signal) { return std::ranges::find(kWarningSignals, signal) != std::end(kWarningSignals); }

inline sigset_t WarningSignalSet() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kWarningSignals) sigaddset(&set, signal);
  return set;
}

inline ExitCode ToExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitFinished;
    case absl::StatusCode::kInvalidArgument:
      return status.GetPayload(kFlagErrorPayload) ? kExitFlags : kExitFiles;
    case absl::StatusCode::kResourceExhausted:
      return kExitResources;
    case absl::StatusCode::kOutOfRange:
      return kExitNonFinite;
    case absl::StatusCode::kDataLoss:
      return kExitVerification;
    case absl::StatusCode::kUnavailable:
      return status.GetPayload(kNoDevicePayload) ? kExitNoDevice : kExitUnavailable;
    default:
      return kExitInternal;
  }
}

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_EXIT_CODE_H_
