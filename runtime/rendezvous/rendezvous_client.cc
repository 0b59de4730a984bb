#include "runtime/rendezvous/rendezvous_client.h"

#include <fmt/ranges.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/admission/handshake.h"
#include "runtime/admission/socket.h"
#include "runtime/base/status.h"
#include "runtime/comm/peer_status.h"
#include "runtime/rendezvous/identity.h"
#include "runtime/rendezvous/quiet_grpc.h"
#include "runtime/rendezvous/rendezvous.grpc.pb.h"
#include "runtime/rendezvous/tls_relay.h"
#include "runtime/rendezvous/version.h"

namespace partita {
namespace {

using rendezvous::ToRank;
using rendezvous::ToServer;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Time for the server to end the stream after a good-bye.
constexpr milliseconds kFarewell(250);

// Between two looks for a server. Rank 0 may come last; it should not then be noticed late.
constexpr milliseconds kNextTry(50);

// Beyond a barrier's time, which the server keeps: it names the missing.
constexpr milliseconds kAnswerTime(2000);

class Client : public RendezvousClient {
 public:
  explicit Client(const Options& options) : options_(options) {}
  ~Client() override { Leave(); }

  absl::Status Connect() {
    QuietGrpc();
    RETURN_IF_ERROR(BeAdmitted());
    heard_ = Clock::now();
    reader_ = std::thread([this] { Read(); });
    pulse_ = std::thread([this] { Beat(); });
    return WithContext("joining the job", Barrier("join", options_.join_timeout));
  }

  absl::Status Set(const std::string& key, const std::string& value) override {
    ToServer message;
    message.mutable_set()->set_key(key);
    message.mutable_set()->set_value(value);
    return Write(message);
  }

  absl::StatusOr<std::string> Get(const std::string& key, milliseconds timeout) override {
    ToServer message;
    message.mutable_get()->set_key(key);
    RETURN_IF_ERROR(Write(message));
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return values_.count(key) > 0 || !failed_.ok(); });
    if (values_.count(key) > 0) return values_[key];
    RETURN_IF_ERROR(failed_);
    return Unavailable("nobody has said '{}' within {} ms", key, timeout.count());
  }

  absl::Status Barrier(const std::string& name, milliseconds timeout) override {
    ToServer message;
    message.mutable_barrier()->set_name(name);
    message.mutable_barrier()->set_timeout_milliseconds(timeout.count());
    RETURN_IF_ERROR(Write(message));
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout + kAnswerTime, [&] { return barriers_.count(name) > 0 || !failed_.ok(); });
    const auto end = barriers_.find(name);
    if (end == barriers_.end()) return failed_.ok() ? Unavailable("rank 0 does not answer") : failed_;
    const std::vector<int> missing = std::move(end->second);
    barriers_.erase(end);
    if (missing.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(failed_);  // why they did not come
    return Unavailable("rank{} {} did not come within {:.1f} s", missing.size() == 1 ? "" : "s",
                       fmt::join(missing, ", "), static_cast<double>(timeout.count()) / 1000);
  }

  void Fail(const absl::Status& status) override {
    ToServer message;
    message.mutable_failure()->set_code(static_cast<int>(status.code()));
    message.mutable_failure()->set_message(std::string(status.message()));
    Write(message).IgnoreError();  // without a server all ranks end anyhow
  }

  void Leave() override {
    {
      std::lock_guard lock(mutex_);
      if (leaving_) return;
      leaving_ = true;
      changed_.notify_all();
    }
    if (pulse_.joinable()) pulse_.join();
    if (!reader_.joinable()) {
      if (stream_ != nullptr) context_->TryCancel();
      return;
    }
    ToServer message;
    message.mutable_leave();
    Write(message).IgnoreError();
    {
      std::lock_guard write(write_mutex_);
      stream_->WritesDone();
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kFarewell, [&] { return ended_; });
    }
    context_->TryCancel();
    reader_.join();
  }

 private:
  // By the server of this job: that of one that has failed may be there for a moment yet.
  absl::Status BeAdmitted() {
    const Clock::time_point deadline = Clock::now() + options_.join_timeout;
    absl::Status admitted;
    while (true) {
      if (const absl::Status connected = ConnectUntil(deadline); !connected.ok()) {
        return admitted.ok() ? connected : admitted;
      }
      bool too_early = false;
      admitted = SayHello(too_early);
      if (admitted.ok() || !too_early || Clock::now() > deadline) return admitted;
      Disconnect();
      std::this_thread::sleep_for(kNextTry);
    }
  }

  // What gRPC may have: at its other end is the rendezvous, to which this rank has proved who it is.
  absl::StatusOr<Socket> ConnectOnce(Clock::time_point deadline) {
    ASSIGN_OR_RETURN(Socket socket, ConnectTo({options_.address, options_.port}, deadline));
    const Identity identity = RendezvousIdentity(options_.token, options_.rank, options_.tls);
    ASSIGN_OR_RETURN(const ConnectionSeeds seeds, IntroduceTo(0, socket, identity, deadline));
    if (!options_.tls) return socket;
    std::promise<absl::StatusOr<Socket>> found;
    relay_ = std::make_unique<TlsRelay>(TlsSession::Side::kConnects, std::move(socket), seeds.tls, deadline,
                                        [&](absl::StatusOr<Socket> local) { found.set_value(std::move(local)); });
    return found.get_future().get();
  }

  absl::Status ConnectUntil(Clock::time_point deadline) {
    const std::string target = HostAndPort({options_.address, options_.port});
    while (true) {
      absl::StatusOr<Socket> socket = ConnectOnce(deadline);
      if (socket.ok()) {
        channel_ = grpc::CreateInsecureChannelFromFd(target, socket->Release());
        stub_ = rendezvous::Rendezvous::NewStub(channel_);
        context_ = std::make_unique<grpc::ClientContext>();
        stream_ = stub_->Join(context_.get());
        return absl::OkStatus();
      }
      const absl::Status why = socket.status();
      if (absl::IsInvalidArgument(why)) {
        return InvalidArgument("rank {} has another token than the rendezvous at {}", options_.rank, target);
      }
      if (absl::IsFailedPrecondition(why)) return absl::InvalidArgumentError(why.message());
      if (absl::IsResourceExhausted(why)) return why;
      if (Clock::now() + kNextTry > deadline) {
        return Unavailable("rank {}: nobody serves the rendezvous at {}; is rank 0 running? ({})", options_.rank,
                           target, std::string(why.message()));
      }
      std::this_thread::sleep_for(kNextTry);
    }
  }

  void Disconnect() {
    context_->TryCancel();
    stream_ = nullptr;
    context_ = nullptr;
    stub_ = nullptr;
    channel_ = nullptr;
    relay_ = nullptr;
  }

  // `too_early`: the server is of a job that has failed, or just goes.
  absl::Status SayHello(bool& too_early) {
    ToServer message;
    rendezvous::Hello& hello = *message.mutable_hello();
    hello.set_version(kRendezvousVersion);
    hello.set_rank(options_.rank);
    hello.set_ranks(options_.ranks);
    ToRank answer;
    if (!stream_->Write(message) || !stream_->Read(&answer)) {
      too_early = true;
      return Unavailable("rank 0 ended the handshake");
    }
    if (answer.has_welcome()) return absl::OkStatus();
    too_early = answer.has_failure();
    if (too_early) return Unavailable("rank {}: {}", options_.rank, answer.failure().message());
    return InvalidArgument("rank 0 refuses rank {}: {}", options_.rank, answer.refused());
  }

  absl::Status Write(const ToServer& message) {
    {
      std::lock_guard lock(mutex_);
      RETURN_IF_ERROR(failed_);
    }
    {
      std::lock_guard write(write_mutex_);
      if (stream_->Write(message)) return absl::OkStatus();
    }
    // A stream ends for a reason, which the reader is about to hear.
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kAnswerTime, [&] { return leaving_ || !failed_.ok(); });
    return failed_.ok() ? absl::UnavailableError("the control stream to rank 0 ended") : failed_;
  }

  void Read() {
    ToRank message;
    while (stream_->Read(&message)) {
      std::unique_lock lock(mutex_);
      heard_ = Clock::now();
      if (message.has_value()) {
        values_[message.value().key()] = message.value().value();
      } else if (message.has_barrier_end()) {
        const auto& missing = message.barrier_end().missing();
        barriers_[message.barrier_end().name()] = std::vector<int>(missing.begin(), missing.end());
      } else if (message.has_failure()) {
        lock.unlock();
        Failed(PeerStatus(message.failure().code(), message.failure().message()));
        continue;
      }
      changed_.notify_all();
    }
    Failed(absl::UnavailableError("rank 0 is gone: the control stream to it ended"));
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  void Beat() {
    const milliseconds interval = std::min(milliseconds(1000), options_.timeout / 4);
    ToServer message;
    message.mutable_heartbeat();
    std::unique_lock lock(mutex_);
    while (!leaving_ && failed_.ok()) {
      const Clock::time_point heard = heard_;
      lock.unlock();
      Write(message).IgnoreError();  // the reader sees the end of the stream
      if (Clock::now() - heard > options_.timeout) {
        Failed(Unavailable("rank 0 has been silent for {} ms", options_.timeout.count()));
      }
      lock.lock();
      changed_.wait_for(lock, interval, [&] { return leaving_ || !failed_.ok(); });
    }
  }

  void Failed(const absl::Status& status) {
    {
      std::lock_guard lock(mutex_);
      if (leaving_ || !failed_.ok()) return;
      failed_ = status;
      changed_.notify_all();
    }
    options_.on_failure(status);
  }

  const Options options_;
  std::unique_ptr<TlsRelay> relay_;  // null without TLS; its end of the connection goes before
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<rendezvous::Rendezvous::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<ToServer, ToRank>> stream_;
  std::thread reader_, pulse_;
  std::mutex write_mutex_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<int>> barriers_;  // that ended: who was missing
  Clock::time_point heard_;
  absl::Status failed_;
  bool leaving_ = false;
  bool ended_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RendezvousClient>> RendezvousClient::Join(const Options& options) {
  auto client = std::make_unique<Client>(options);
  RETURN_IF_ERROR(client->Connect());
  return client;
}

}  // namespace partita
