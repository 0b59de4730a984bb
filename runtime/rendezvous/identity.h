#ifndef PARTITA_RUNTIME_RENDEZVOUS_IDENTITY_H_
#define PARTITA_RUNTIME_RENDEZVOUS_IDENTITY_H_

#include <string>

#include "runtime/admission/handshake.h"
#include "runtime/admission/token.h"

namespace partita {

// What is proved before a rank's connection to the rendezvous is made anything of: the token, and that both agree on
// TLS. Whether the rank belongs to the job is looked at by the roster, which says why not.
inline Identity RendezvousIdentity(const std::string& token, int rank, bool tls) {
  constexpr int kAnyRanks = 1 << 20;
  std::string name = "partita rendezvous";
  name.resize(kNonceBytes);
  return {token, name, rank, kAnyRanks, 0, tls};
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_IDENTITY_H_
