// The mutual authentication of two processes of a job, before either trusts any other byte.
//
//   connecting side                        listening side
//   hello: world, ranks, TLS, nonce   ->   checks the content; stores only these bytes
//                                     <-   nonce
//   proof                             ->   if it is wrong: sends zeros, and closes
//                                     <-   proof; or, if only one side has TLS, a proof that says so, and closes
//
// A proof is a keyed hash, with the job's token as key, of both nonces, both ranks, the number of ranks, the name of
// what is joined ("world"), and whether the connection is encrypted. So a recorded proof fits no other connection, and
// an attacker in the middle cannot turn off TLS. The listening side proves nothing to a peer that has not proved
// itself. The seeds of the connection's checksums and the key of the following TLS session (tls_session.h) derive from
// the same values.
#ifndef PARTITA_RUNTIME_ADMISSION_HANDSHAKE_H_
#define PARTITA_RUNTIME_ADMISSION_HANDSHAKE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/admission/socket.h"

namespace partita {

// What a rank knows of itself and of those whom it expects.
struct Identity {
  std::string token;
  std::string world;  // kNonceBytes
  int rank = 0;
  int ranks = 1;
  int first_guest = 0;  // of those who may connect to it, up to ranks
  bool tls = false;     // whether what follows is to be encrypted
};

// For the two directions of a connection: known only to its two sides.
struct ConnectionSeeds {
  uint64_t sent = 0;
  uint64_t received = 0;
  std::string tls = {};  // kProofBytes; of both ways
};

// The error of both ranks if only one of them has TLS.
std::string DisagreementOnTls(int with, int without);

// To rank `to`, which listens at the other end. kUnavailable: it does not answer so. kInvalidArgument: another token.
// kFailedPrecondition: DisagreementOnTls.
absl::StatusOr<ConnectionSeeds> IntroduceTo(int to, Socket& socket, const Identity& identity, Socket::Time deadline);

// The other side, which receives the bytes as they arrive. It never waits for more than bytes_wanted(), which is
// bounded.
class Admission {
 public:
  // kDisagrees: it is authenticated, but only one of the two ranks has TLS.
  enum class Step { kGoesOn, kAdmitted, kDisagrees, kRefused };

  explicit Admission(const Identity& identity) : identity_(identity) {}

  size_t bytes_wanted() const;
  // Whether a rank could begin so, of the first bytes of what is wanted.
  bool CouldBeginWith(const std::string& bytes) const;
  // `bytes`: exactly bytes_wanted(). `answer`: the bytes to send, also to a refused peer.
  Step Take(const std::string& bytes, std::string& answer);

  // Whether it has said hello, and named this world.
  bool greeted() const { return !nonces_.empty(); }

  // After kAdmitted or kDisagrees: the rank of the peer.
  int rank() const { return rank_; }
  ConnectionSeeds seeds() const { return seeds_; }

 private:
  Step TakeHello(const std::string& bytes, std::string& answer);
  Step TakeProof(const std::string& bytes, std::string& answer);

  const Identity& identity_;
  int rank_ = -1;
  bool tls_ = false;    // as it says
  std::string nonces_;  // empty: no hello yet
  ConnectionSeeds seeds_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_ADMISSION_HANDSHAKE_H_
