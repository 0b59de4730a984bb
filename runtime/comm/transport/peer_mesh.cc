#include "runtime/comm/transport/peer_mesh.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/admission/handshake.h"
#include "runtime/admission/token.h"
#include "runtime/base/status.h"
#include "runtime/comm/transport/shared_memory_stream.h"
#include "runtime/comm/transport/tcp_stream.h"
#include "runtime/comm/transport/tls_stream.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kWorldKey[] = "mesh/world";

// Between two attempts to get in, where strangers stand in the way.
constexpr milliseconds kNextTry(20);

std::string EndpointKey(int rank) { return fmt::format("mesh/{}", rank); }

// The name of this world, which rank 0 draws.
absl::StatusOr<std::string> MeetWorld(int rank, KeyValueStore& store, milliseconds timeout) {
  if (rank > 0) {
    absl::StatusOr<std::string> world = store.Get(kWorldKey, timeout);
    if (!world.ok()) return WithContext("rank 0 does not come", world.status());
    return world;
  }
  const std::string world = NewNonce();
  RETURN_IF_ERROR(store.Set(kWorldKey, world));
  return world;
}

// The ranks above this one, as they come in.
class Arrivals {
 public:
  void Add(Guest guest) {
    std::lock_guard lock(mutex_);
    const int rank = guest.rank;
    guests_.insert_or_assign(rank, std::move(guest));
    changed_.notify_all();
  }

  absl::StatusOr<Guest> Await(int rank, Socket::Time deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return guests_.contains(rank); })) {
      return Unavailable("no connection from rank {}", rank);
    }
    return std::move(guests_.extract(rank).mapped());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Guest> guests_;
};

absl::StatusOr<Guest> TryConnection(const Endpoint& endpoint, int rank, const Identity& identity,
                                    Socket::Time deadline) {
  ASSIGN_OR_RETURN(Socket socket, ConnectTo(endpoint, deadline));
  ASSIGN_OR_RETURN(const ConnectionSeeds seeds, IntroduceTo(rank, socket, identity, deadline));
  return Guest{rank, std::move(socket), seeds};
}

absl::StatusOr<Guest> ConnectToRank(int rank, const Endpoint& endpoint, const Identity& identity,
                                    Socket::Time deadline) {
  while (true) {
    absl::StatusOr<Guest> found = TryConnection(endpoint, rank, identity, deadline);
    if (found.ok()) return found;
    if (absl::IsFailedPrecondition(found.status())) return absl::InvalidArgumentError(found.status().message());
    if (!absl::IsUnavailable(found.status()) || Clock::now() + kNextTry > deadline) {
      return WithContext(fmt::format("no connection to rank {}", rank), found.status());
    }
    std::this_thread::sleep_for(kNextTry);
  }
}

// Of two ranks the lower one listens, and offers memory. What is said of memory is no secret, and leads nowhere if
// somebody between the two has changed it (shared_memory.h), so TLS begins behind it, where it is needed.
absl::StatusOr<std::unique_ptr<ByteStream>> MakeStream(Guest guest, bool is_lower, int ranks,
                                                       const PeerMeshOptions& options, Socket::Time deadline) {
  std::unique_ptr<SharedMemory> memory;
  if (is_lower) {
    ASSIGN_OR_RETURN(memory, OfferSharedMemory(guest.socket, options.shared_memory, deadline));
  } else {
    ASSIGN_OR_RETURN(memory, AcceptSharedMemory(guest.socket, options.shared_memory, deadline));
  }
  std::unique_ptr<TlsSession> tls;
  if (memory == nullptr && options.tls) {
    const auto side = is_lower ? TlsSession::Side::kListens : TlsSession::Side::kConnects;
    ASSIGN_OR_RETURN(tls, TlsSession::Agree(side, guest.seeds.tls, guest.socket, deadline));
  }
  RETURN_IF_ERROR(guest.socket.MakeStream());
  if (memory != nullptr) {
    return std::make_unique<SharedMemoryStream>(std::move(guest.socket), std::move(memory), is_lower,
                                                SharedRing::UsedBytes(ranks));
  }
  if (tls != nullptr) return std::make_unique<TlsStream>(std::move(guest.socket), std::move(tls));
  return std::make_unique<TcpStream>(std::move(guest.socket));
}

// The connection to one rank of a channel.
class ChannelStream : public ByteStream {
 public:
  ChannelStream(std::shared_ptr<const PeerChannel> channel, int rank) : channel_(std::move(channel)), rank_(rank) {}

  bool Write(std::span<const char> head, std::span<const char> body) override { return Send(head) && Send(body); }
  bool Read(std::span<char> to) override { return to.empty() || channel_->receive(rank_, to.data(), to.size()); }
  void Close() override { channel_->close(rank_); }
  bool may_damage() const override { return false; }

 private:
  bool Send(std::span<const char> bytes) const {
    return bytes.empty() || channel_->send(rank_, bytes.data(), bytes.size());
  }

  const std::shared_ptr<const PeerChannel> channel_;
  const int rank_;
};

}  // namespace

std::unique_ptr<PeerMesh> PeerMesh::Over(std::shared_ptr<const PeerChannel> channel) {
  std::unique_ptr<PeerMesh> mesh(new PeerMesh(channel->rank));
  for (int peer = 0; peer < channel->ranks; ++peer) {
    mesh->links_.push_back(
        peer == channel->rank
            ? nullptr
            : std::make_unique<PeerLink>(std::make_unique<ChannelStream>(channel, peer), ConnectionSeeds()));
  }
  return mesh;
}

absl::StatusOr<std::unique_ptr<PeerMesh>> PeerMesh::Connect(int rank, int size, KeyValueStore& store,
                                                            const PeerMeshOptions& options) {
  std::unique_ptr<PeerMesh> mesh(new PeerMesh(rank));
  RETURN_IF_ERROR(mesh->ConnectAll(size, store, options));
  return mesh;
}

// What hears of one rank may use the connection to any other.
PeerMesh::~PeerMesh() {
  for (const auto& link : links_) {
    if (link != nullptr) link->Stop();
  }
}

absl::Status PeerMesh::ConnectAll(int size, KeyValueStore& store, const PeerMeshOptions& options) {
  links_.resize(static_cast<size_t>(size));
  if (size == 1) return absl::OkStatus();
  Identity identity{options.token, "", rank_, size, rank_ + 1, options.tls};
  ASSIGN_OR_RETURN(identity.world, MeetWorld(rank_, store, options.timeout));
  if (identity.world.size() != kNonceBytes) {
    return Unavailable("rank 0 names its world by {} bytes", identity.world.size());
  }
  Arrivals arrivals;
  const auto door =
      Door::Open({options.address, 0}, identity, options.door, [&](Guest guest) { arrivals.Add(std::move(guest)); });
  if (!door.ok()) {
    return WithContext(fmt::format("rank {}: cannot listen on {}", rank_, options.address), door.status());
  }
  RETURN_IF_ERROR(store.Set(EndpointKey(rank_), ToText((*door)->endpoint())));
  std::vector<Endpoint> endpoints(links_.size());
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank_) continue;
    const absl::StatusOr<std::string> found = store.Get(EndpointKey(peer), options.timeout);
    if (!found.ok()) return WithContext(fmt::format("rank {} does not come", peer), found.status());
    ASSIGN_OR_RETURN(endpoints[peer], EndpointOf(*found));
  }
  const Clock::time_point deadline = Clock::now() + options.timeout;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank_) continue;
    absl::StatusOr<Guest> guest =
        peer < rank_ ? ConnectToRank(peer, endpoints[peer], identity, deadline) : arrivals.Await(peer, deadline);
    if (!guest.ok()) return guest.status();
    if (!guest->socket.valid()) {
      return InvalidArgument("{}", options.tls ? DisagreementOnTls(rank_, peer) : DisagreementOnTls(peer, rank_));
    }
    const ConnectionSeeds seeds = guest->seeds;
    absl::StatusOr<std::unique_ptr<ByteStream>> stream =
        MakeStream(*std::move(guest), rank_ < peer, size, options, deadline);
    if (!stream.ok()) return WithContext(fmt::format("no connection to rank {}", peer), stream.status());
    links_[peer] = std::make_unique<PeerLink>(*std::move(stream), seeds);
  }
  return absl::OkStatus();
}

void PeerMesh::Start(const std::function<PeerEvents(int rank)>& events) {
  for (int rank = 0; rank < size(); ++rank) {
    if (links_[rank] != nullptr) links_[rank]->Start(events(rank));
  }
}

void PeerMesh::SayToAll(std::span<const char> message) {
  for (const auto& link : links_) {
    if (link != nullptr) link->Say(message);
  }
}

void PeerMesh::Flush(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  for (const auto& link : links_) {
    if (link != nullptr) link->Flush(std::chrono::duration_cast<milliseconds>(deadline - Clock::now()));
  }
}

void PeerMesh::Close() {
  for (const auto& link : links_) {
    if (link != nullptr) link->Close();
  }
}

}  // namespace partita
