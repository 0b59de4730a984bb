#include "tools/service/requests/status_of.h"

#include <string>

namespace partita::service {
namespace {

absl::StatusCode CodeOf(api::ErrorCode code) {
  switch (code) {
    case api::ErrorCode::kInvalidArgument:
      return absl::StatusCode::kInvalidArgument;
    case api::ErrorCode::kDoesNotFit:
      return absl::StatusCode::kResourceExhausted;
    case api::ErrorCode::kNotFinite:
      return absl::StatusCode::kOutOfRange;
    case api::ErrorCode::kCancelled:
      return absl::StatusCode::kCancelled;
    case api::ErrorCode::kUnavailable:
      return absl::StatusCode::kUnavailable;
    case api::ErrorCode::kMisuse:
      return absl::StatusCode::kFailedPrecondition;
    case api::ErrorCode::kInternal:
      break;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status StatusOf(const api::Error& error) { return absl::Status(CodeOf(error.code), error.message); }

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()), std::string(status.message()));
}

}  // namespace partita::service
