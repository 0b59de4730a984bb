#include "tools/service/requests/access_token.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>

#include "absl/strings/strip.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"

namespace partita::service {

absl::StatusOr<AccessToken> AccessToken::Read(const std::string& path) {
  constexpr int64_t kLargest = 4096;
  constexpr size_t kShortest = 16;
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargest));
  const std::string token(absl::StripSuffix(text, "\n"));
  const bool is_plain = std::ranges::all_of(token, [](unsigned char c) { return std::isgraph(c) != 0; });
  if (token.size() < kShortest || !is_plain) {
    return InvalidArgument("{}: the token has {} characters; expected one line of at least {} without blanks", path,
                           token.size(), kShortest);
  }
  return AccessToken(token);
}

absl::Status AccessToken::Check(const grpc::ServerContext& context) const {
  if (token_.empty()) return absl::OkStatus();
  const std::string expected = "Bearer " + token_;
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) {
    return absl::UnauthenticatedError("the call has no token; expected the metadata 'authorization: Bearer TOKEN'");
  }
  const grpc::string_ref given = found->second;
  if (given.size() != expected.size() || CRYPTO_memcmp(given.data(), expected.data(), expected.size()) != 0) {
    return absl::UnauthenticatedError("the call's token is not the service's");
  }
  return absl::OkStatus();
}

}  // namespace partita::service
