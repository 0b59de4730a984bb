// Status helpers: every fallible function of Partita returns absl::Status or absl::StatusOr.
//
// Codes have one meaning each, and the tools turn them into exit codes (tools/program/exit_code.h):
//   kInvalidArgument    a file or a flag is wrong: which one, which node or field, what was found, what is allowed
//   kResourceExhausted  it does not fit: the largest tensors and what would make it fit
//   kOutOfRange         a value became non-finite: which node, which step
//   kUnavailable        a peer or a device is gone
//   kInternal           a bug of ours
#ifndef PARTITA_RUNTIME_BASE_STATUS_H_
#define PARTITA_RUNTIME_BASE_STATUS_H_

#include <fmt/format.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

template <typename... Args>
absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
absl::Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return absl::ResourceExhaustedError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
absl::Status OutOfRange(fmt::format_string<Args...> format, Args&&... args) {
  return absl::OutOfRangeError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
absl::Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return absl::UnavailableError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
absl::Status Internal(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InternalError(fmt::format(format, std::forward<Args>(args)...));
}

// The same error with `context` put before its message: "graph.pbtxt: node 'conv1': ...".
inline absl::Status WithContext(const std::string& context, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}: {}", context, std::string(status.message())));
}

}  // namespace partita

#define PARTITA_CONCATENATE_INNER(a, b) a##b
#define PARTITA_CONCATENATE(a, b) PARTITA_CONCATENATE_INNER(a, b)

#define RETURN_IF_ERROR(expression)                                                                \
  do {                                                                                             \
    if (::absl::Status partita_status = (expression); !partita_status.ok()) return partita_status; \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, expression) \
  PARTITA_ASSIGN_OR_RETURN(PARTITA_CONCATENATE(partita_status_or_, __LINE__), declaration, expression)

#define PARTITA_ASSIGN_OR_RETURN(temporary, declaration, expression) \
  auto temporary = (expression);                                     \
  if (!temporary.ok()) return std::move(temporary).status();         \
  declaration = *std::move(temporary)

#endif  // PARTITA_RUNTIME_BASE_STATUS_H_
