// Errors of a run's description, and errors that come before anything runs. A program makes exit codes of them
// (docs/reference/commands.md 3).
#ifndef PARTITA_RUN_SPEC_SPEC_ERROR_H_
#define PARTITA_RUN_SPEC_SPEC_ERROR_H_

#include <utility>

#include "runtime/base/status.h"

namespace partita {

inline constexpr char kFlagErrorPayload[] = "partita/flags";
inline constexpr char kNoDevicePayload[] = "partita/no-device";

// A kInvalidArgument of fields of the description, alone or together; the message names them as flags.
template <typename... Args>
absl::Status FlagError(fmt::format_string<Args...> format, Args&&... args) {
  absl::Status status = InvalidArgument(format, std::forward<Args>(args)...);
  status.SetPayload(kFlagErrorPayload, {});
  return status;
}

// A verification that found a difference; nothing else uses this code.
template <typename... Args>
absl::Status VerificationFailure(fmt::format_string<Args...> format, Args&&... args) {
  return absl::DataLossError(fmt::format(format, std::forward<Args>(args)...));
}

// Converts the status of opening a device, before anything ran: kUnavailable then means that there never was a device,
// not that one was lost.
inline absl::Status AsNoDevice(absl::Status opened) {
  if (absl::IsUnavailable(opened)) opened.SetPayload(kNoDevicePayload, {});
  return opened;
}

}  // namespace partita

#endif  // PARTITA_RUN_SPEC_SPEC_ERROR_H_
