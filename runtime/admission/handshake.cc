#include "runtime/admission/handshake.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/admission/token.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// In the byte order of the host: one of another order is refused. The last digit is the version of all that is sent.
constexpr uint64_t kMagic = 0x5061727469746101;

struct Hello {
  uint64_t magic = kMagic;
  int32_t from = 0, to = 0;
  int32_t ranks = 0;
  int32_t tls = 0;
  std::array<char, kNonceBytes> world = {};
  std::array<char, kNonceBytes> nonce = {};
};
static_assert(sizeof(Hello) == 24 + 2 * kNonceBytes);

// What both sides prove: all that tells this connection from any other. `tls`: as who connects has said.
std::string Transcript(const Identity& identity, int from, int to, bool tls, const std::string& nonces) {
  return fmt::format("{} to {} of {}{} ", from, to, identity.ranks, tls ? " by TLS" : "") + identity.world + nonces;
}

std::string ProofOfCaller(const Identity& identity, const std::string& transcript) {
  return ProofOf(identity.token, "partita connection, by who connects: " + transcript);
}

std::string ProofOfListener(const Identity& identity, const std::string& transcript) {
  return ProofOf(identity.token, "partita connection, by who listens: " + transcript);
}

std::string ProofOfDisagreement(const Identity& identity, const std::string& transcript) {
  return ProofOf(identity.token, "partita connection, by who listens and does not agree on TLS: " + transcript);
}

ConnectionSeeds SeedsOf(const Identity& identity, const std::string& transcript) {
  const std::string bytes = ProofOf(identity.token, "partita connection, checksums: " + transcript);
  ConnectionSeeds seeds;
  static_assert(kProofBytes >= 2 * sizeof(uint64_t));
  std::memcpy(&seeds.sent, bytes.data(), sizeof(seeds.sent));
  std::memcpy(&seeds.received, bytes.data() + sizeof(seeds.sent), sizeof(seeds.received));
  if (identity.tls) seeds.tls = ProofOf(identity.token, "partita connection, TLS: " + transcript);
  return seeds;
}

}  // namespace

std::string DisagreementOnTls(int with, int without) {
  return fmt::format("ranks do not agree on TLS: rank {} has it, rank {} has not", with, without);
}

absl::StatusOr<ConnectionSeeds> IntroduceTo(int to, Socket& socket, const Identity& identity, Socket::Time deadline) {
  const std::string nonce = NewNonce();
  Hello hello;
  hello.from = identity.rank;
  hello.to = to;
  hello.ranks = identity.ranks;
  hello.tls = identity.tls ? 1 : 0;
  std::memcpy(hello.world.data(), identity.world.data(), kNonceBytes);
  std::memcpy(hello.nonce.data(), nonce.data(), kNonceBytes);
  RETURN_IF_ERROR(socket.Write({reinterpret_cast<const char*>(&hello), sizeof(hello)}, deadline));
  ASSIGN_OR_RETURN(const std::string other_nonce, socket.Read(kNonceBytes, deadline));
  const std::string transcript = Transcript(identity, identity.rank, to, identity.tls, nonce + other_nonce);
  RETURN_IF_ERROR(socket.Write(ProofOfCaller(identity, transcript), deadline));
  ASSIGN_OR_RETURN(const std::string proof, socket.Read(kProofBytes, deadline));
  if (SameProof(proof, ProofOfListener(identity, transcript))) return SeedsOf(identity, transcript);
  if (!SameProof(proof, ProofOfDisagreement(identity, transcript))) return InvalidArgument("it has another token");
  return absl::FailedPreconditionError(identity.tls ? DisagreementOnTls(identity.rank, to)
                                                    : DisagreementOnTls(to, identity.rank));
}

size_t Admission::bytes_wanted() const { return nonces_.empty() ? sizeof(Hello) : kProofBytes; }

bool Admission::CouldBeginWith(const std::string& bytes) const {
  return !nonces_.empty() || std::memcmp(bytes.data(), &kMagic, std::min(bytes.size(), sizeof(kMagic))) == 0;
}

Admission::Step Admission::Take(const std::string& bytes, std::string& answer) {
  return nonces_.empty() ? TakeHello(bytes, answer) : TakeProof(bytes, answer);
}

Admission::Step Admission::TakeHello(const std::string& bytes, std::string& answer) {
  Hello hello;
  std::memcpy(&hello, bytes.data(), sizeof(hello));
  const bool is_ours = hello.magic == kMagic && hello.to == identity_.rank && hello.ranks == identity_.ranks &&
                       (hello.tls == 0 || hello.tls == 1) && hello.from >= identity_.first_guest &&
                       hello.from < identity_.ranks &&
                       std::memcmp(hello.world.data(), identity_.world.data(), kNonceBytes) == 0;
  if (!is_ours) return Step::kRefused;
  rank_ = hello.from;
  tls_ = hello.tls == 1;
  answer = NewNonce();
  nonces_ = std::string(hello.nonce.data(), kNonceBytes) + answer;
  return Step::kGoesOn;
}

Admission::Step Admission::TakeProof(const std::string& bytes, std::string& answer) {
  const std::string transcript = Transcript(identity_, rank_, identity_.rank, tls_, nonces_);
  if (!SameProof(bytes, ProofOfCaller(identity_, transcript))) {
    answer = std::string(kProofBytes, '\0');
    return Step::kRefused;
  }
  if (tls_ != identity_.tls) {
    answer = ProofOfDisagreement(identity_, transcript);
    return Step::kDisagrees;
  }
  answer = ProofOfListener(identity_, transcript);
  seeds_ = SeedsOf(identity_, transcript);
  std::swap(seeds_.sent, seeds_.received);
  return Step::kAdmitted;
}

}  // namespace partita
