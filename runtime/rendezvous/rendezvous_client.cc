#include "runtime/rendezvous/rendezvous_client.h"

#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/admission/handshake.h"
#include "runtime/admission/socket.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/comm/peer_status.h"
#include "runtime/rendezvous/control_stream.h"
#include "runtime/rendezvous/identity.h"
#include "runtime/rendezvous/rendezvous.pb.h"
#include "runtime/rendezvous/version.h"

namespace partita {
namespace {

using rendezvous::ToRank;
using rendezvous::ToServer;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Time for the server to end the stream after Leave.
constexpr milliseconds kFarewell(250);

// Between two attempts to connect. Short, because rank 0 may be the last to start.
constexpr milliseconds kNextTry(50);

// Beyond a barrier's timeout: the server keeps that timeout and names the missing ranks.
constexpr milliseconds kAnswerTime(2000);

class Client : public RendezvousClient {
 public:
  Client(const Options& options, WakeEvent wake) : options_(options), wake_(std::move(wake)) {}
  ~Client() override { Leave(); }

  absl::Status Connect() {
    RETURN_IF_ERROR(BeAdmitted());
    heard_ = next_beat_ = Clock::now();
    thread_ = std::thread([this] { Run(); });
    return WithContext("joining the job", Barrier("join", options_.join_timeout));
  }

  absl::Status Set(const std::string& key, const std::string& value) override {
    ToServer message;
    message.mutable_set()->set_key(key);
    message.mutable_set()->set_value(value);
    std::unique_lock lock(mutex_);
    return Write(message, lock);
  }

  absl::StatusOr<std::string> Get(const std::string& key, milliseconds timeout) override {
    ToServer message;
    message.mutable_get()->set_key(key);
    std::unique_lock lock(mutex_);
    RETURN_IF_ERROR(Write(message, lock));
    changed_.wait_for(lock, timeout, [&] { return values_.count(key) > 0 || !failed_.ok(); });
    if (values_.count(key) > 0) return values_[key];
    RETURN_IF_ERROR(failed_);
    return Unavailable("no rank has set '{}' within {} ms", key, timeout.count());
  }

  absl::Status Barrier(const std::string& name, milliseconds timeout) override {
    ToServer message;
    message.mutable_barrier()->set_name(name);
    message.mutable_barrier()->set_timeout_milliseconds(timeout.count());
    std::unique_lock lock(mutex_);
    RETURN_IF_ERROR(Write(message, lock));
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
    std::unique_lock lock(mutex_);
    Write(message, lock).IgnoreError();  // without a server all ranks end anyhow
  }

  void Leave() override {
    {
      std::unique_lock lock(mutex_);
      if (leaving_) return;
      ToServer message;
      message.mutable_leave();
      if (thread_.joinable()) Write(message, lock).IgnoreError();
      leaving_ = true;
      farewell_ = Clock::now() + kFarewell;
      changed_.notify_all();
    }
    wake_.Set();
    if (thread_.joinable()) thread_.join();
    stream_ = nullptr;
  }

 private:
  // By the server of this job: that of a job that has failed may still be there for a moment.
  absl::Status BeAdmitted() {
    const Clock::time_point deadline = Clock::now() + options_.join_timeout;
    absl::Status admitted;
    while (true) {
      if (const absl::Status connected = ConnectUntil(deadline); !connected.ok()) {
        return admitted.ok() ? connected : admitted;
      }
      bool too_early = false;
      admitted = SayHello(deadline, too_early);
      if (admitted.ok() || !too_early || Clock::now() > deadline) return admitted;
      stream_ = nullptr;
      std::this_thread::sleep_for(kNextTry);
    }
  }

  absl::Status ConnectOnce(Clock::time_point deadline) {
    ASSIGN_OR_RETURN(Socket socket, ConnectTo({options_.address, options_.port}, deadline));
    const Identity identity = RendezvousIdentity(options_.token, options_.rank, options_.tls);
    ASSIGN_OR_RETURN(const ConnectionSeeds seeds, IntroduceTo(0, socket, identity, deadline));
    auto stream = std::make_unique<ControlStream>(std::move(socket));
    if (options_.tls) RETURN_IF_ERROR(stream->StartTls(TlsSession::Side::kConnects, seeds.tls));
    stream_ = std::move(stream);
    return absl::OkStatus();
  }

  absl::Status ConnectUntil(Clock::time_point deadline) {
    const std::string target = HostAndPort({options_.address, options_.port});
    while (true) {
      const absl::Status why = ConnectOnce(deadline);
      if (why.ok() || absl::IsResourceExhausted(why)) return why;
      if (absl::IsInvalidArgument(why)) {
        return InvalidArgument("rank {} has another token than the rendezvous at {}", options_.rank, target);
      }
      if (absl::IsFailedPrecondition(why)) return absl::InvalidArgumentError(why.message());
      if (Clock::now() + kNextTry > deadline) {
        return Unavailable("rank {}: nobody serves the rendezvous at {}; is rank 0 running? ({})", options_.rank,
                           target, std::string(why.message()));
      }
      std::this_thread::sleep_for(kNextTry);
    }
  }

  // `too_early`: the server belongs to a job that has failed, or is about to end.
  absl::Status SayHello(Clock::time_point deadline, bool& too_early) {
    ToServer message;
    rendezvous::Hello& hello = *message.mutable_hello();
    hello.set_version(kRendezvousVersion);
    hello.set_rank(options_.rank);
    hello.set_ranks(options_.ranks);
    RETURN_IF_ERROR(stream_->Queue(message));
    const absl::StatusOr<ToRank> answer = FirstAnswer(deadline);
    if (!answer.ok()) {
      too_early = true;
      return Unavailable("rank 0 ended the handshake: {}", std::string(answer.status().message()));
    }
    if (answer->has_welcome()) return absl::OkStatus();
    too_early = answer->has_failure();
    if (too_early) return Unavailable("rank {}: {}", options_.rank, answer->failure().message());
    return InvalidArgument("rank 0 refuses rank {}: {}", options_.rank, answer->refused());
  }

  absl::StatusOr<ToRank> FirstAnswer(Clock::time_point deadline) {
    ToRank answer;
    while (true) {
      RETURN_IF_ERROR(stream_->Send());
      const absl::Status received = stream_->Receive();
      ASSIGN_OR_RETURN(const bool has_come, stream_->Next(answer));
      if (has_come) return answer;
      RETURN_IF_ERROR(received);
      const milliseconds left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return absl::UnavailableError("no answer in time");
      pollfd descriptor{stream_->descriptor(), stream_->events(), 0};
      poll(&descriptor, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
    }
  }

  // `lock`: of mutex_.
  absl::Status Write(const ToServer& message, std::unique_lock<std::mutex>& lock) {
    RETURN_IF_ERROR(failed_);
    const absl::Status queued = stream_->Queue(message);
    if (absl::IsInvalidArgument(queued)) return queued;
    if (queued.ok() && stream_->Send().ok()) {
      if (stream_->has_pending()) wake_.Set();
      return absl::OkStatus();
    }
    // A stream ends for a reason, which the client's thread is about to hear.
    wake_.Set();
    changed_.wait_for(lock, kAnswerTime, [&] { return leaving_ || !failed_.ok(); });
    return failed_.ok() ? absl::UnavailableError("the control stream to rank 0 ended") : failed_;
  }

  // On the client's thread, until the stream ends or this rank has left.
  void Run() {
    absl::Status done = OrExhausted("the rendezvous", [this] { return ReceiveUntilTheEnd(); });
    Failed(done.ok() ? absl::UnavailableError("rank 0 is gone: the control stream to it ended") : done);
  }

  absl::Status ReceiveUntilTheEnd() {
    bool finished = false;  // sending
    while (true) {
      Wait();
      std::vector<absl::Status> failures;
      bool ended = false;
      {
        std::lock_guard lock(mutex_);
        ended = !Receive(failures);
        if (!leaving_ && failed_.ok() && failures.empty() && !ended) Beat(failures);
        stream_->Send().IgnoreError();  // Receive finds the end, and what was said before it
        if (leaving_ && !finished && !stream_->has_pending()) {
          stream_->FinishSending();
          finished = true;
        }
        ended |= leaving_ && Clock::now() > farewell_;
      }
      for (const absl::Status& failure : failures) Failed(failure);
      if (ended) return absl::OkStatus();
    }
  }

  // Until something has come, a message can be sent, or it is time for the next heartbeat.
  void Wait() {
    pollfd descriptors[] = {{wake_.descriptor(), POLLIN, 0}, {stream_->descriptor(), 0, 0}};
    Clock::time_point until;
    {
      std::lock_guard lock(mutex_);
      descriptors[1].events = stream_->events();
      until = leaving_ ? farewell_ : next_beat_;
    }
    const milliseconds left = std::chrono::ceil<milliseconds>(until - Clock::now());
    poll(descriptors, 2, static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000)));
    wake_.Clear();
  }

  // False: the stream has ended. Under mutex_.
  bool Receive(std::vector<absl::Status>& failures) {
    const absl::Status received = stream_->Receive();
    ToRank message;
    while (true) {
      const absl::StatusOr<bool> next = stream_->Next(message);
      if (!next.ok()) return false;
      if (!*next) return received.ok();
      heard_ = Clock::now();
      if (message.has_value()) {
        values_[message.value().key()] = message.value().value();
      } else if (message.has_barrier_end()) {
        const auto& missing = message.barrier_end().missing();
        barriers_[message.barrier_end().name()] = std::vector<int>(missing.begin(), missing.end());
      } else if (message.has_failure()) {
        failures.push_back(PeerStatus(message.failure().code(), message.failure().message()));
      }
      changed_.notify_all();
    }
  }

  // Under mutex_, after Receive: what has come counts, however late this thread runs.
  void Beat(std::vector<absl::Status>& failures) {
    const Clock::time_point now = Clock::now();
    if (now < next_beat_) return;
    next_beat_ = now + std::min(milliseconds(1000), options_.timeout / 4);
    if (now - heard_ > options_.timeout) {
      failures.push_back(Unavailable("rank 0 has been silent for {} ms", options_.timeout.count()));
    }
    ToServer message;
    message.mutable_heartbeat();
    stream_->Queue(message).IgnoreError();  // a stream that takes no more is silent, or ends
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
  const WakeEvent wake_;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<ControlStream> stream_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<int>> barriers_;  // that ended: who was missing
  Clock::time_point heard_, next_beat_, farewell_;
  absl::Status failed_;
  bool leaving_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RendezvousClient>> RendezvousClient::Join(const Options& options) {
  ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  auto client = std::make_unique<Client>(options, std::move(wake));
  RETURN_IF_ERROR(client->Connect());
  return client;
}

}  // namespace partita
