#include "runtime/rendezvous/rendezvous_server.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/admission/door.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/rendezvous/identity.h"
#include "runtime/rendezvous/quiet_grpc.h"
#include "runtime/rendezvous/rendezvous.grpc.pb.h"
#include "runtime/rendezvous/roster.h"
#include "runtime/rendezvous/tls_relay.h"
#include "runtime/rendezvous/version.h"

namespace partita {
namespace {

using rendezvous::ToRank;
using rendezvous::ToServer;
using Stream = grpc::ServerReaderWriter<ToRank, ToServer>;
using Clock = std::chrono::steady_clock;

// Between two looks at deadlines.
constexpr std::chrono::milliseconds kTick(50);

// Each stream takes a thread; beyond those of the ranks there may be so many that are about to be refused.
constexpr int kRefused = 16;

// The open stream of a rank. The stream is null when it has ended.
struct RankStream {
  std::mutex mutex;
  Stream* stream = nullptr;
  grpc::ServerContext* context = nullptr;
};

class Server : public RendezvousServer, public rendezvous::Rendezvous::Service {
 public:
  explicit Server(const Options& options) : options_(options), roster_(options.ranks, options.timeout) {}

  ~Server() override {
    door_ = nullptr;
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    relays_.clear();
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (ticker_.joinable()) ticker_.join();
  }

  absl::Status Listen() {
    QuietGrpc();
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota;
    quota.SetMaxThreads(2 * options_.ranks + kRefused);
    builder.SetResourceQuota(quota);
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Unavailable("rank 0 cannot serve the rendezvous: gRPC does not start");
    auto door = Door::Open({options_.address, options_.port}, RendezvousIdentity(options_.token, 0, options_.tls),
                           {options_.strangers, options_.handshake_timeout},
                           [this](Guest guest) { TakeOver(std::move(guest)); });
    if (absl::IsResourceExhausted(door.status())) return WithContext("the rendezvous of rank 0", door.status());
    if (!door.ok()) {
      return Unavailable("rank 0 cannot serve the rendezvous on {}; is the port taken? ({})",
                         HostAndPort({options_.address, options_.port}), std::string(door.status().message()));
    }
    door_ = *std::move(door);
    ticker_ = std::thread([this] { Tick(); });
    return absl::OkStatus();
  }

  int port() const override { return door_->endpoint().port; }

  bool WaitUntilEmpty(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return sessions_.empty(); });
  }

  grpc::Status Join(grpc::ServerContext* context, Stream* stream) override {
    const int rank = Admit(*context, *stream);
    if (rank < 0) return grpc::Status::OK;
    ToServer message;
    while (stream->Read(&message)) {
      Roster::Letters letters;
      {
        std::lock_guard lock(mutex_);
        roster_.Receive(rank, message, Clock::now(), letters);
      }
      Deliver(letters);
    }
    End(rank);
    return grpc::Status::OK;
  }

 private:
  // On the door's thread, which must not be held up.
  void TakeOver(Guest guest) {
    if (!guest.socket.valid()) return Disagree(guest.rank);
    if (!options_.tls) return HandOver(std::move(guest.socket));
    relays_.remove_if([](const auto& relay) { return relay->ended(); });
    const auto add = [&] {
      const auto take = [this](absl::StatusOr<Socket> socket) {
        if (socket.ok()) HandOver(*std::move(socket));
      };
      relays_.push_back(std::make_unique<TlsRelay>(TlsSession::Side::kListens, std::move(guest.socket), guest.seeds.tls,
                                                   Clock::now() + options_.handshake_timeout, take));
      return absl::OkStatus();
    };
    OrExhausted("TLS", add).IgnoreError();  // the rank comes again
  }

  void HandOver(Socket socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = socket.Release();
    acceptor_->HandleNewConnection(&connection);
  }

  // A rank that has been told so already.
  void Disagree(int rank) {
    Roster::Letters letters;
    {
      std::lock_guard lock(mutex_);
      roster_.Disagree(rank, options_.tls ? DisagreementOnTls(0, rank) : DisagreementOnTls(rank, 0), letters);
    }
    Deliver(letters);
  }

  // The rank that joined; -1: refused.
  int Admit(grpc::ServerContext& context, Stream& stream) {
    {
      std::lock_guard lock(mutex_);
      mute_[&context] = Clock::now();
    }
    rendezvous::Hello hello;
    const std::string refused = ReadHello(stream, hello);
    std::unique_lock lock(mutex_);
    mute_.erase(&context);
    const std::string why = refused.empty() ? roster_.Join(hello.rank(), hello.ranks(), Clock::now()) : refused;
    ToRank answer;
    if (!why.empty()) {
      const bool again = refused.empty() && roster_.IsStartedAgain(hello.rank());
      lock.unlock();
      if (again) {
        answer.mutable_failure()->set_code(static_cast<int>(absl::StatusCode::kUnavailable));
        answer.mutable_failure()->set_message("the job that is still there has failed");
      } else {
        answer.set_refused(why);
      }
      stream.Write(answer);
      return -1;
    }
    auto session = std::make_shared<RankStream>();
    session->stream = &stream;
    session->context = &context;
    sessions_[hello.rank()] = session;
    lock.unlock();
    answer.mutable_welcome();
    std::lock_guard write(session->mutex);
    stream.Write(answer);
    return hello.rank();
  }

  static std::string ReadHello(Stream& stream, rendezvous::Hello& hello) {
    ToServer message;
    if (!stream.Read(&message) || !message.has_hello()) return "a stream begins with a hello";
    hello = message.hello();
    if (hello.version() == kRendezvousVersion) return "";
    return fmt::format("rank {} speaks version {} of the rendezvous, rank 0 version {}", hello.rank(), hello.version(),
                       kRendezvousVersion);
  }

  void End(int rank) {
    Roster::Letters letters;
    std::shared_ptr<RankStream> session;
    {
      std::lock_guard lock(mutex_);
      session = sessions_[rank];
      roster_.End(rank, letters);
    }
    {
      std::lock_guard write(session->mutex);
      session->stream = nullptr;
    }
    Deliver(letters);
    std::lock_guard lock(mutex_);
    sessions_.erase(rank);
    changed_.notify_all();
  }

  void Deliver(const Roster::Letters& letters) {
    for (const Roster::Letter& letter : letters) {
      std::shared_ptr<RankStream> session;
      {
        std::lock_guard lock(mutex_);
        const auto found = sessions_.find(letter.rank);
        if (found != sessions_.end()) session = found->second;
      }
      if (session == nullptr) continue;
      std::lock_guard write(session->mutex);
      if (session->stream != nullptr) session->stream->Write(letter.message);
    }
  }

  void Tick() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      changed_.wait_for(lock, kTick, [&] { return stopping_; });
      const Clock::time_point now = Clock::now();
      for (const auto& [context, begin] : mute_) {
        if (now - begin > options_.handshake_timeout) context->TryCancel();
      }
      Roster::Letters letters;
      for (const int rank : roster_.Tick(now, letters)) {
        const auto found = sessions_.find(rank);
        if (found != sessions_.end()) found->second->context->TryCancel();
      }
      lock.unlock();
      Deliver(letters);
      lock.lock();
    }
  }

  const Options options_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::list<std::unique_ptr<TlsRelay>> relays_;  // of the connections that are encrypted
  std::unique_ptr<Door> door_;
  std::thread ticker_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Roster roster_;
  std::map<int, std::shared_ptr<RankStream>> sessions_;     // of the ranks that joined
  std::map<grpc::ServerContext*, Clock::time_point> mute_;  // that have not said hello
  bool stopping_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RendezvousServer>> RendezvousServer::Start(const Options& options) {
  auto server = std::make_unique<Server>(options);
  RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace partita
