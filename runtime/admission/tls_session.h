// One side of a TLS 1.3 connection (RFC 8446, by OpenSSL) without its network: what is to be sent comes out sealed,
// what has come is opened.
//
// Both sides have a key that the preceding handshake made for this one connection (ConnectionSeeds::tls); it replaces
// certificates. They also agree on fresh keys (X25519), so that a later leak of the job's token does not reveal earlier
// traffic. There is one cipher (AES-128-GCM), so no downgrade is possible. Only peers that proved that they know the
// token reach this point.
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

  // The number of records, of at most 16 KiB, after which the key changes. AES-GCM allows 2^24.5 of them (RFC 8446,
  // 5.5).
  static constexpr int64_t kRecordsOfAKey = 1 << 22;

  // Performs the TLS handshake over a socket that does not block, and reads nothing that follows it. `key`:
  // kProofBytes. kUnavailable: the connection ended, the time is over, or the other side has another key.
  // kResourceExhausted: OpenSSL has no TLS 1.3 here.
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
