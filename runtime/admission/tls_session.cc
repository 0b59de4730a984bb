#include "runtime/admission/tls_session.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kRecordHeader = 5;  // of which the last two bytes are the length of what follows
constexpr size_t kMostRecord = SSL3_RT_MAX_PLAIN_LENGTH + SSL3_RT_MAX_TLS13_ENCRYPTED_OVERHEAD;

// The only name of a key; which one it is both sides know.
constexpr unsigned char kKeyName[] = "partita";

// OpenSSL's own words for the last error of this thread, of which nothing is left behind.
std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason == nullptr ? "a protocol error" : reason;
  ERR_clear_error();
  return text;
}

}  // namespace

// OpenSSL's ways back to a session.
struct TlsCallbacks {
  static TlsSession& SessionOf(const SSL* ssl) { return *static_cast<TlsSession*>(SSL_get_app_data(ssl)); }
  static TlsSession& SessionOf(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* to, int bytes) {
    std::span<const char>& given = SessionOf(bio).given_;
    BIO_clear_retry_flags(bio);
    if (given.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t count = std::min(given.size(), static_cast<size_t>(bytes));
    std::memcpy(to, given.data(), count);
    given = given.subspan(count);
    return static_cast<int>(count);
  }

  // Where there is room: nothing may be thrown through OpenSSL.
  static int Write(BIO* bio, const char* from, int bytes) {
    if (std::vector<char>* const sealed = SessionOf(bio).sealed_) sealed->insert(sealed->end(), from, from + bytes);
    return bytes;
  }

  static long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  // Who connects offers the key.
  static int Offer(SSL* ssl, const EVP_MD*, const unsigned char** name, size_t* bytes, SSL_SESSION** found) {
    *name = kKeyName;
    *bytes = sizeof(kKeyName);
    *found = NewKey(ssl);
    return *found != nullptr;
  }

  // Who listens takes it by its name alone; whether it is the same key TLS finds out.
  static int Find(SSL* ssl, const unsigned char* name, size_t bytes, SSL_SESSION** found) {
    const bool is_ours = bytes == sizeof(kKeyName) && std::memcmp(name, kKeyName, bytes) == 0;
    *found = is_ours ? NewKey(ssl) : nullptr;
    return !is_ours || *found != nullptr;
  }

  static SSL_SESSION* NewKey(SSL* ssl) {
    const std::string& key = SessionOf(ssl).key_;
    const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    SSL_SESSION* const made = SSL_SESSION_new();
    const bool whole =
        made != nullptr &&
        SSL_SESSION_set1_master_key(made, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1 &&
        SSL_SESSION_set_cipher(made, SSL_CIPHER_find(ssl, aes_128_gcm_sha256)) == 1 &&
        SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1;
    if (whole) return made;
    SSL_SESSION_free(made);
    return nullptr;
  }

  // Of all sessions. Null: this OpenSSL, as the machine configures it, has not what is needed. Never freed.
  static SSL_CTX* Context() {
    static SSL_CTX* const context = [] {
      SSL_CTX* const made = SSL_CTX_new(TLS_method());
      const bool whole = made != nullptr && SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 &&
                         SSL_CTX_set_max_proto_version(made, TLS1_3_VERSION) == 1 &&
                         SSL_CTX_set_ciphersuites(made, "TLS_AES_128_GCM_SHA256") == 1 &&
                         SSL_CTX_set1_groups_list(made, "X25519:P-256") == 1 && SSL_CTX_set_num_tickets(made, 0) == 1;
      if (!whole) {
        SSL_CTX_free(made);
        return static_cast<SSL_CTX*>(nullptr);
      }
      SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
      SSL_CTX_clear_options(made, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
      SSL_CTX_set_psk_use_session_callback(made, Offer);
      SSL_CTX_set_psk_find_session_callback(made, Find);
      return made;
    }();
    return context;
  }

  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "partita");
      if (made == nullptr) return made;
      BIO_meth_set_read(made, Read);
      BIO_meth_set_write(made, Write);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    return method;
  }
};

absl::Status TlsSession::MakeSession(Side side) {
  if (TlsCallbacks::Context() == nullptr || TlsCallbacks::Method() == nullptr) {
    return ResourceExhausted("OpenSSL gives no TLS 1.3 here: {}", LastError());
  }
  ssl_ = SSL_new(TlsCallbacks::Context());
  BIO* const bio = BIO_new(TlsCallbacks::Method());
  if (ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return ResourceExhausted("no memory for TLS");
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
  if (side == Side::kListens) {
    SSL_set_accept_state(ssl_);
    return absl::OkStatus();
  }
  SSL_set_connect_state(ssl_);
  SSL_set_verify(ssl_, SSL_VERIFY_PEER, nullptr);  // no certificate is good enough in place of the key
  return absl::OkStatus();
}

TlsSession::~TlsSession() {
  SSL_free(ssl_);
  OPENSSL_cleanse(key_.data(), key_.size());
}

absl::StatusOr<bool> TlsSession::Advance(std::vector<char>& sealed) {
  ERR_clear_error();
  sealed.reserve(sealed.size() + kMostRecord);
  sealed_ = &sealed;
  const int step = SSL_do_handshake(ssl_);
  sealed_ = nullptr;
  if (step == 1) {
    if (SSL_session_reused(ssl_) != 1) return Unavailable("TLS was agreed upon without the key");
    OPENSSL_cleanse(key_.data(), key_.size());
    return true;
  }
  if (SSL_get_error(ssl_, step) == SSL_ERROR_WANT_READ) return false;
  return Unavailable("no TLS: {}", LastError());
}

absl::StatusOr<std::unique_ptr<TlsSession>> TlsSession::Begin(Side side, std::string key, int64_t records_of_a_key) {
  std::unique_ptr<TlsSession> session(new TlsSession(std::move(key), records_of_a_key));
  RETURN_IF_ERROR(session->MakeSession(side));
  return session;
}

absl::StatusOr<std::unique_ptr<TlsSession>> TlsSession::Agree(Side side, std::string key, Socket& socket,
                                                              Socket::Time deadline, int64_t records_of_a_key) {
  ASSIGN_OR_RETURN(std::unique_ptr<TlsSession> session, Begin(side, std::move(key), records_of_a_key));
  std::string record;
  while (true) {
    std::vector<char> sealed;
    const absl::StatusOr<bool> agreed = session->Advance(sealed);
    const absl::Status sent = socket.Write({sealed.begin(), sealed.end()}, deadline);
    if (!agreed.ok()) return agreed.status();
    RETURN_IF_ERROR(sent);
    if (*agreed) return session;
    ASSIGN_OR_RETURN(record, socket.Read(kRecordHeader, deadline));
    const size_t bytes = static_cast<unsigned char>(record[3]) * size_t{256} + static_cast<unsigned char>(record[4]);
    if (bytes > kMostRecord) return Unavailable("no TLS: a record of {} bytes", bytes);
    ASSIGN_OR_RETURN(const std::string rest, socket.Read(bytes, deadline));
    record += rest;
    session->Give(record);
  }
}

absl::Status TlsSession::Seal(std::span<const char> bytes, std::vector<char>& sealed) {
  ERR_clear_error();
  const size_t records = bytes.size() / SSL3_RT_MAX_PLAIN_LENGTH + 1;
  sealed.reserve(sealed.size() + bytes.size() + (records + 1) * SSL3_RT_MAX_ENCRYPTED_OVERHEAD);  // with a key's end
  sealed_ = &sealed;
  records_ += static_cast<int64_t>(records);
  bool done = true;
  if (records_ > records_of_a_key_) {
    done = SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) == 1;
    records_ = 0;
  }
  size_t written = 0;
  done = done && SSL_write_ex(ssl_, bytes.data(), bytes.size(), &written) == 1;
  sealed_ = nullptr;
  return done ? absl::OkStatus() : Unavailable("TLS cannot seal: {}", LastError());
}

absl::StatusOr<size_t> TlsSession::Open(std::span<char> to) {
  size_t opened = 0;
  while (broken_.ok() && opened < to.size()) {
    ERR_clear_error();
    size_t count = 0;
    const int done = SSL_read_ex(ssl_, to.data() + opened, to.size() - opened, &count);
    opened += count;
    if (done == 1) continue;
    if (SSL_get_error(ssl_, done) == SSL_ERROR_WANT_READ) break;
    broken_ = Unavailable("TLS cannot open what came: {}", LastError());
  }
  if (opened == 0) RETURN_IF_ERROR(broken_);
  return opened;
}

}  // namespace partita
