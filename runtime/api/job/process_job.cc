#include "runtime/api/job/process_job.h"

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/admission/token.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/comm/processes/process_world.h"
#include "runtime/device/host/host_device.h"
#include "runtime/fail_points/fail_point.h"
#include "runtime/flight_recorder/flight_recorder.h"
#include "runtime/rendezvous/rendezvous_client.h"
#include "runtime/rendezvous/rendezvous_server.h"

namespace partita {
namespace {

// Groups of programs count from 0.
constexpr int kExchangeGroup = -1;

// For the rendezvous to say why a connection ended.
constexpr std::chrono::milliseconds kVerdictTime(500);

constexpr char kTokenKey[] = "job/token";

// The first bytes over a channel.
constexpr char kGreeting[] = "partita 1";

class JobOfProcesses : public ProcessJob {
 public:
  explicit JobOfProcesses(const ProcessJobOptions& options) : options_(options), local_ranks_{options.rank} {}

  ~JobOfProcesses() override {
    Pass(FailPoint::kJobLeaving).IgnoreError();
    stream_.reset();
    exchange_.reset();
    bool failed = false;
    {
      std::lock_guard lock(mutex_);
      failed = !failed_.ok();
      connected_ = nullptr;
    }
    world_.reset();
    if (client_ != nullptr) client_->Leave();
    if (server_ != nullptr && !failed) server_->WaitUntilEmpty(options_.timeout);
  }

  absl::Status Connect() {
    const bool meets_by_store = options_.channel != nullptr && !options_.channel->carries();
    if (options_.tls && options_.token.empty() && !meets_by_store) {
      return InvalidArgument("TLS needs a token that all ranks share, and there is none");
    }
    if (options_.channel != nullptr) return ConnectByChannel();
    if (options_.rank == 0) RETURN_IF_ERROR(Serve());
    RETURN_IF_ERROR(Join());
    const absl::Status connected = ConnectWorld();
    if (connected.ok()) return connected;
    const absl::Status cause = CauseOf(connected);
    client_->Fail(cause);
    return cause;
  }

  const std::vector<int>& ranks() const override { return local_ranks_; }
  World& world() override { return *world_; }
  std::chrono::milliseconds join_timeout() const override { return options_.join_timeout; }

  void SetStepWorld(World* world) override {
    std::lock_guard lock(mutex_);
    steps_ = world;
    if (steps_ != nullptr && !failed_.ok()) steps_->Abort(failed_);
  }

  absl::StatusOr<std::vector<std::string>> AllGather(const Message& message) override {
    const auto ranks = static_cast<size_t>(options_.ranks);
    const MessageHeader own{message.kind, messages_++, static_cast<int64_t>(message.bytes.size())};
    std::vector<MessageHeader> headers(ranks);
    RETURN_IF_ERROR(Gather(&own, headers.data(), std::vector<int64_t>(ranks, sizeof(MessageHeader))));
    RETURN_IF_ERROR(CheckHeaders(message, headers));
    std::vector<int64_t> sizes;
    for (const MessageHeader& header : headers) sizes.push_back(header.bytes);
    return OrExhausted("what the ranks say", [&] { return GatherParts(message.bytes, sizes); });
  }

  int64_t gathered_bytes() const override { return exchange_->bytes().wire; }

 private:
  // Who loses a connection closes its own, so that a third rank sees the wrong one go. The rendezvous names the one
  // that went first.
  absl::Status CauseOf(const absl::Status& disconnected) {
    if (!absl::IsUnavailable(disconnected)) return disconnected;
    std::unique_lock lock(mutex_);
    heard_.wait_for(lock, kVerdictTime, [&] { return !failed_.ok(); });
    return failed_.ok() ? disconnected : failed_;
  }

  absl::Status Serve() {
    RendezvousServer::Options server;
    server.address = options_.address;
    server.port = options_.port;
    server.ranks = options_.ranks;
    server.token = options_.token;
    server.tls = options_.tls;
    server.timeout = options_.timeout;
    ASSIGN_OR_RETURN(server_, RendezvousServer::Start(server));
    return absl::OkStatus();
  }

  absl::Status Join() {
    RendezvousClient::Options client;
    client.address = options_.address;
    client.port = server_ != nullptr ? server_->port() : options_.port;
    client.rank = options_.rank;
    client.ranks = options_.ranks;
    client.token = options_.token;
    client.tls = options_.tls;
    client.join_timeout = options_.join_timeout;
    client.timeout = options_.timeout;
    client.on_failure = [this](const absl::Status& status) { Failed(status); };
    ASSIGN_OR_RETURN(client_, RendezvousClient::Join(client));
    return absl::OkStatus();
  }

  absl::Status ConnectWorld() {
    RETURN_IF_ERROR(Pass(FailPoint::kJobJoined));
    RETURN_IF_ERROR(CompareDigests(*client_, options_.rank, options_.digests, options_.join_timeout));
    ProcessWorldOptions world;
    world.address = options_.interface_address;
    world.token = options_.token;
    world.tls = options_.tls;
    world.timeout = options_.timeout;
    ASSIGN_OR_RETURN(world_, ProcessWorld::Connect(options_.rank, options_.ranks, *client_, world));
    return Begin();
  }

  // A process may come much later than another one, and is no lost rank before it has said that it is here.
  absl::Status ConnectByChannel() {
    const PeerChannel& channel = *options_.channel;
    if (channel.barrier && !channel.barrier()) return Unavailable("the program's barrier failed: a rank does not come");
    ProcessWorldOptions world;
    world.timeout = options_.timeout;
    world.channel = options_.channel;
    if (channel.carries()) {
      for (int peer = 0; peer < options_.ranks && !channel.barrier; ++peer) RETURN_IF_ERROR(Greet(peer));
      ASSIGN_OR_RETURN(world_, ProcessWorld::Over(world));
    } else {
      world.address = channel.address;
      world.tls = options_.tls;
      world.connect_timeout = options_.join_timeout;
      ASSIGN_OR_RETURN(world.token, MeetToken(*channel.store));
      ASSIGN_OR_RETURN(world_, ProcessWorld::Connect(options_.rank, options_.ranks, *channel.store, world));
    }
    RETURN_IF_ERROR(Begin());
    PackedValues own;
    for (const auto& [field, value] : options_.digests) {
      own.AddText(field);
      own.AddText(value);
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> all, AllGather({MessageKind::kDigests, own.bytes()}));
    return CompareAll(all);
  }

  // A reader of the store may join: rank 0 draws the token.
  absl::StatusOr<std::string> MeetToken(KeyValueStore& store) {
    if (options_.rank > 0) {
      absl::StatusOr<std::string> token = store.Get(kTokenKey, options_.join_timeout);
      if (!token.ok()) return WithContext("rank 0 does not come", token.status());
      return token;
    }
    const std::string token = NewToken();
    RETURN_IF_ERROR(store.Set(kTokenKey, token));
    return token;
  }

  // Of two ranks the lower one speaks first, so that it does not matter whether the channel keeps what it sends.
  absl::Status Greet(int peer) {
    if (peer == options_.rank) return absl::OkStatus();
    const PeerChannel& channel = *options_.channel;
    std::array<char, sizeof(kGreeting)> heard = {};
    const auto send = [&] { return channel.send(peer, kGreeting, sizeof(kGreeting)); };
    const auto receive = [&] { return channel.receive(peer, heard.data(), heard.size()); };
    if (!(options_.rank < peer ? send() && receive() : receive() && send())) {
      return Unavailable("rank {} does not come: the channel to it has ended", peer);
    }
    if (std::memcmp(heard.data(), kGreeting, sizeof(kGreeting)) == 0) return absl::OkStatus();
    return Unavailable("rank {} does not begin as a rank of Partita does: the channel gives other bytes than were sent",
                       peer);
  }

  // The first disagreement between rank 0 and another one; the same on all ranks.
  static absl::Status CompareAll(const std::vector<std::string>& all) {
    std::map<std::string, std::string> first;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      PackedReader reader(MessageKind::kDigests, rank, all[rank]);
      std::map<std::string, std::string> said;
      while (!reader.AtEnd()) {
        const std::string field = reader.NextText();
        said[field] = reader.NextText();
      }
      RETURN_IF_ERROR(reader.Finish());
      if (rank == 0) first = said;
      std::map<std::string, std::string> fields = first;
      fields.insert(said.begin(), said.end());
      for (const auto& [field, value] : fields) {
        if (first[field] == said[field]) continue;
        return InvalidArgument("ranks do not agree on {}: rank 0 has '{}', rank {} has '{}'", field, first[field], rank,
                               said[field]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Begin() {
    std::vector<int> all(static_cast<size_t>(options_.ranks));
    std::iota(all.begin(), all.end(), 0);
    ASSIGN_OR_RETURN(exchange_, world_->CreateCommunicator(kExchangeGroup, all, options_.rank));
    ASSIGN_OR_RETURN(stream_, device_.CreateStream("exchange"));
    {
      std::lock_guard lock(mutex_);
      connected_ = world_.get();
      if (!failed_.ok()) connected_->Abort(failed_);
      RETURN_IF_ERROR(failed_);
    }
    return Pass(FailPoint::kJobConnected);
  }

  absl::StatusOr<std::vector<std::string>> GatherParts(std::string_view own, const std::vector<int64_t>& sizes) {
    std::string all(static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})), '\0');
    RETURN_IF_ERROR(Gather(own.data(), all.data(), sizes));
    std::vector<std::string> parts;
    size_t begin = 0;
    for (const int64_t part : sizes) {
      parts.push_back(all.substr(begin, static_cast<size_t>(part)));
      begin += static_cast<size_t>(part);
    }
    return parts;
  }

  absl::Status Gather(const void* own, void* all, const std::vector<int64_t>& bytes) {
    const int64_t total = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
    RETURN_IF_ERROR(
        exchange_->AllGather({own, bytes[options_.rank], DType::kU8}, {all, total, DType::kU8}, bytes, *stream_));
    return stream_->Synchronize();
  }

  void Failed(const absl::Status& status) {
    absl::Status whole = status;
    std::vector<FlightRecord> records;
    {
      std::lock_guard lock(mutex_);
      if (connected_ != nullptr) {
        records = connected_->recorder()->Read();
        if (steps_ != nullptr && steps_->recorder() != nullptr) AddRecords(steps_->recorder()->Read(), records);
        whole = absl::Status(status.code(), std::string(status.message()) + connected_->InFlight());
      }
      failed_ = whole;
      heard_.notify_all();
      if (connected_ != nullptr) connected_->Abort(whole);
      if (steps_ != nullptr) steps_->Abort(whole);
    }
    options_.on_failure(whole, records);
  }

  const ProcessJobOptions options_;
  const std::vector<int> local_ranks_;
  std::unique_ptr<RendezvousServer> server_;
  std::mutex mutex_;
  std::condition_variable heard_;  // of a failure
  absl::Status failed_;
  ProcessWorld* connected_ = nullptr;  // as soon as it can be aborted, until it goes
  World* steps_ = nullptr;             // the same
  HostDevice device_;
  std::unique_ptr<RendezvousClient> client_;  // its threads call Failed: gone before what that uses
  std::unique_ptr<ProcessWorld> world_;
  std::unique_ptr<Communicator> exchange_;  // of AllGather
  std::unique_ptr<Stream> stream_;
  uint32_t messages_ = 0;  // sent by AllGather
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProcessJob>> ProcessJob::Start(const ProcessJobOptions& options) {
  return OrExhausted("joining the job", [&]() -> absl::StatusOr<std::unique_ptr<ProcessJob>> {
    auto job = std::make_unique<JobOfProcesses>(options);
    RETURN_IF_ERROR(job->Connect());
    return job;
  });
}

}  // namespace partita
