#ifndef PARTITA_RUNTIME_RENDEZVOUS_IDENTITY_H_
#define PARTITA_RUNTIME_RENDEZVOUS_IDENTITY_H_

#include <string>

#include "runtime/admission/handshake.h"
#include "runtime/admission/token.h"

namespace partita {

// Authenticates a rank's connection to the rendezvous before anything else is read from it: checks the token, and that
// both sides agree on TLS. The roster checks whether the rank belongs to the job, and says why not.
inline Identity RendezvousIdentity(const std::string& token, int rank, bool tls) {
  constexpr int kAnyRanks = 1 << 20;
  std::string name = "partita rendezvous";
  name.resize(kNonceBytes);
  return {token, name, rank, kAnyRanks, 0, tls};
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_IDENTITY_H_
