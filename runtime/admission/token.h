// The job's token: a process that knows it belongs to the job. It is never sent. A process proves that it knows the
// token with a keyed hash of numbers that both sides have just drawn (HMAC-SHA-256, RFC 2104), so that recorded traffic
// cannot be replayed.
#ifndef PARTITA_RUNTIME_ADMISSION_TOKEN_H_
#define PARTITA_RUNTIME_ADMISSION_TOKEN_H_

#include <string>

namespace partita {

inline constexpr size_t kNonceBytes = 32;
inline constexpr size_t kProofBytes = 32;

// kNonceBytes random bytes.
std::string NewNonce();

// The same as 64 hexadecimal digits, for an environment variable.
std::string NewToken();

// kProofBytes that can only be computed from `text` with the token.
std::string ProofOf(const std::string& token, const std::string& text);

// In constant time: it does not depend on where they differ.
bool SameProof(const std::string& a, const std::string& b);

}  // namespace partita

#endif  // PARTITA_RUNTIME_ADMISSION_TOKEN_H_
