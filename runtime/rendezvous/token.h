// The job's token: who knows it belongs to the job. It is never sent; each side proves that it knows it by a keyed hash
// of numbers that both have just drawn (HMAC-SHA-256, RFC 2104), so that nothing heard on the wire can be used again.
#ifndef PARTITA_RUNTIME_RENDEZVOUS_TOKEN_H_
#define PARTITA_RUNTIME_RENDEZVOUS_TOKEN_H_

#include <string>

namespace partita {

// 32 random bytes.
std::string NewNonce();

// The same as 64 hexadecimal digits, for an environment variable.
std::string NewToken();

std::string ServerProof(const std::string& token, const std::string& rank_nonce, const std::string& server_nonce);
std::string RankProof(const std::string& token, const std::string& rank_nonce, const std::string& server_nonce,
                      int rank, int ranks);

// In a time that does not tell where they differ.
bool SameProof(const std::string& a, const std::string& b);

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_TOKEN_H_
