// The secret that calls must carry.
#ifndef PARTITA_TOOLS_SERVICE_REQUESTS_ACCESS_TOKEN_H_
#define PARTITA_TOOLS_SERVICE_REQUESTS_ACCESS_TOKEN_H_

#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita::service {

class AccessToken {
 public:
  AccessToken() = default;  // none: every call is allowed
  // The file's text without the line's end. kInvalidArgument: it has fewer than 16 characters, or blanks.
  static absl::StatusOr<AccessToken> Read(const std::string& path);

  // kUnauthenticated: the call's `authorization` is not `Bearer TOKEN`. Takes as long for any token of the same length.
  absl::Status Check(const grpc::ServerContext& context) const;

 private:
  explicit AccessToken(std::string token) : token_(std::move(token)) {}

  std::string token_;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_REQUESTS_ACCESS_TOKEN_H_
