#include "runtime/admission/token.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>

#include "runtime/base/check.h"

namespace partita {

std::string NewNonce() {
  std::array<unsigned char, kNonceBytes> bytes;
  CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string NewToken() {
  std::string token;
  for (const char byte : NewNonce()) token += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return token;
}

std::string ProofOf(const std::string& token, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  CHECK(HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()), data, text.size(), digest.data(), &size) !=
        nullptr);
  CHECK(size == kProofBytes);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

bool SameProof(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace partita
