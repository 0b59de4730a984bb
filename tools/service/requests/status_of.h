// Between the errors of the library, statuses, and those of gRPC.
#ifndef PARTITA_TOOLS_SERVICE_REQUESTS_STATUS_OF_H_
#define PARTITA_TOOLS_SERVICE_REQUESTS_STATUS_OF_H_

#include <grpcpp/support/status.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "partita/partita.h"

namespace partita::service {

absl::Status StatusOf(const api::Error& error);

// The same code and sentence: both use the canonical codes.
grpc::Status ToGrpc(const absl::Status& status);

template <typename T>
absl::StatusOr<T> ValueOf(api::Result<T> result) {
  if (!result) return StatusOf(result.error());
  return *std::move(result);
}

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_REQUESTS_STATUS_OF_H_
