// One side of a TLS 1.3 connection (RFC 8446, by OpenSSL) without its network: what is to be sent comes out sealed,
// what has come is opened.
//
// Both sides have a key that the handshake before has made for this one connection (ConnectionSeeds::tls): it stands
// for certificates, of which there are none. Fresh keys are agreed upon beside it (X25519), so that who learns the
// job's token some day cannot read what was sent before. One cipher (AES-128-GCM): there is nothing to be bargained
// down. Nobody who has not proved that he knows the token comes as far as this.
#ifndef PARTITA_RUNTIME_ADMISSION_TLS_SESSION_H_
#define PARTITA_RUNTIME_ADMISSION_TLS_SESSION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/admission/socket.h"

struct ssl_st;

namespace partita {

// Thread-compatible: Seal and Open not at the same time.
class TlsSession {
 public:
  enum class Side { kConnects, kListens };

  // A key seals so many records, of at most 16 KiB, and then comes the next one. AES-GCM bears 2^24.5 of them (RFC
  // 8446, 5.5).
  static constexpr int64_t kRecordsOfAKey = 1 << 22;

  // Agrees with the other side, over a socket that does not block, of which nothing is read that comes behind it.
  // `key`: kProofBytes. kUnavailable: the connection ended, the time is over, or the other side has another key.
  // kResourceExhausted: OpenSSL gives no TLS 1.3 here.
  static absl::StatusOr<std::unique_ptr<TlsSession>> Agree(Side side, std::string key, Socket& socket,
                                                           Socket::Time deadline,
                                                           int64_t records_of_a_key = kRecordsOfAKey);

  // A session whose caller carries the handshake's bytes itself: it calls Advance, and again after each Give, until
  // both sides agree.
  static absl::StatusOr<std::unique_ptr<TlsSession>> Begin(Side side, std::string key,
                                                           int64_t records_of_a_key = kRecordsOfAKey);
  ~TlsSession();

  // Takes the handshake as far as the given bytes allow, and appends what must be sent to `sealed`, even if it fails.
  // Returns whether both sides agree; only then may Seal and Open be called. kUnavailable: the other side has another
  // key.
  absl::StatusOr<bool> Advance(std::vector<char>& sealed);

  // Appends what is to be sent in place of `bytes`.
  absl::Status Seal(std::span<const char> bytes, std::vector<char>& sealed);

  // What has come from the other side, in any parts. It must stay where it is until it is opened.
  void Give(std::span<const char> sealed) { given_ = sealed; }

  // The next bytes of what was given, at most to.size(). 0: all of it is opened; the rest may be no whole record yet.
  // kUnavailable: it is not what the other side has sealed; so it is from then on.
  absl::StatusOr<size_t> Open(std::span<char> to);

 private:
  friend struct TlsCallbacks;

  TlsSession(std::string key, int64_t records_of_a_key) : key_(std::move(key)), records_of_a_key_(records_of_a_key) {}
  absl::Status MakeSession(Side side);

  std::string key_;  // until both have agreed
  const int64_t records_of_a_key_;
  int64_t records_ = 0;  // sealed by the present key
  ssl_st* ssl_ = nullptr;
  std::span<const char> given_;          // and not read yet
  std::vector<char>* sealed_ = nullptr;  // where to write; null: nothing belongs there
  absl::Status broken_;                  // nothing can be opened any more
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_ADMISSION_TLS_SESSION_H_
