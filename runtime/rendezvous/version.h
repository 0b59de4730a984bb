#ifndef PARTITA_RUNTIME_RENDEZVOUS_VERSION_H_
#define PARTITA_RUNTIME_RENDEZVOUS_VERSION_H_

namespace partita {

// Of rendezvous.proto and of what the handshake means; both sides must have the same.
inline constexpr int kRendezvousVersion = 3;

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_VERSION_H_
