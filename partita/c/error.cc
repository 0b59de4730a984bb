// Errors, the version and the log.
#include <fmt/format.h>

#include <new>

#include "partita/c/objects.h"
#include "run/host/version.h"

namespace partita::c {
namespace {

partita_code CodeOf(api::ErrorCode code) {
  switch (code) {
    case api::ErrorCode::kInvalidArgument:
      return PARTITA_INVALID_ARGUMENT;
    case api::ErrorCode::kDoesNotFit:
      return PARTITA_DOES_NOT_FIT;
    case api::ErrorCode::kNotFinite:
      return PARTITA_NOT_FINITE;
    case api::ErrorCode::kCancelled:
      return PARTITA_CANCELLED;
    case api::ErrorCode::kUnavailable:
      return PARTITA_UNAVAILABLE;
    case api::ErrorCode::kMisuse:
      return PARTITA_MISUSE;
    case api::ErrorCode::kInternal:
      break;
  }
  return PARTITA_INTERNAL;
}

partita_error* OutOfMemory() {
  static partita_error error{PARTITA_DOES_NOT_FIT, "no memory"};  // short enough to lie in the string itself
  return &error;
}

}  // namespace

partita_error* ErrorOf(const api::Outcome& outcome) {
  if (!outcome) return nullptr;
  try {
    return new partita_error{CodeOf(outcome->code), outcome->message};
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace partita::c

extern "C" {

partita_code partita_error_code(const partita_error* error) { return error == nullptr ? PARTITA_OK : error->code; }

const char* partita_error_message(const partita_error* error) { return error == nullptr ? "" : error->message.c_str(); }

void partita_error_free(partita_error* error) {
  if (error != partita::c::OutOfMemory()) delete error;
}

const char* partita_version() { return partita::kToolVersion; }

partita_error* partita_set_log(partita_log_function log, void* user) {
  return partita::c::Call([&]() -> partita::api::Outcome {
    if (log == nullptr) {
      partita::api::SetLog(nullptr);
    } else {
      partita::api::SetLog([log, user](partita::api::Level level, const std::string& line) {
        log(user, static_cast<partita_level>(level), line.c_str());
      });
    }
    return std::nullopt;
  });
}

}  // extern "C"
