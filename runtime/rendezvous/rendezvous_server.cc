#include "runtime/rendezvous/rendezvous_server.h"

#include <poll.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/admission/door.h"
#include "runtime/admission/socket.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/rendezvous/control_stream.h"
#include "runtime/rendezvous/identity.h"
#include "runtime/rendezvous/roster.h"
#include "runtime/rendezvous/version.h"

namespace partita {
namespace {

using rendezvous::ToRank;
using rendezvous::ToServer;
using Clock = std::chrono::steady_clock;

// Between two checks of deadlines.
constexpr std::chrono::milliseconds kTick(50);

// For connections of other programs to leave the port: Linux keeps an ended one for a minute.
constexpr std::chrono::seconds kConnectionsOfOthers(70);
constexpr std::chrono::milliseconds kBetweenTries(100);

// One thread serves all ranks. The door's thread only hands over who has proved that it knows the token.
class Server : public RendezvousServer {
 public:
  Server(const Options& options, WakeEvent wake)
      : options_(options), wake_(std::move(wake)), roster_(options.ranks, options.timeout) {}

  ~Server() override {
    door_ = nullptr;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.Set();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen() {
    auto door = OpenDoor();
    if (absl::IsResourceExhausted(door.status())) return WithContext("the rendezvous", door.status());
    const std::string place = HostAndPort({options_.address, options_.port});
    if (absl::IsInvalidArgument(door.status())) {
      return WithContext("cannot serve the rendezvous on " + place, door.status());
    }
    if (absl::IsAlreadyExists(door.status())) {
      return ResourceExhausted("cannot serve the rendezvous on {}: the port is taken; choose another", place);
    }
    if (!door.ok()) {
      return Unavailable("cannot serve the rendezvous on {}: {}", place, std::string(door.status().message()));
    }
    door_ = *std::move(door);
    thread_ = std::thread([this] {
      OrExhausted("the rendezvous", [this] { return Serve(); }).IgnoreError();
      connections_.clear();  // without a server all ranks end
      std::lock_guard lock(mutex_);
      joined_ = 0;
      emptied_.notify_all();
    });
    return absl::OkStatus();
  }

  int port() const override { return door_->endpoint().port; }

  bool WaitUntilEmpty(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    return emptied_.wait_for(lock, timeout, [&] { return joined_ == 0; });
  }

 private:
  // Waits where no process listens at the port, but another program's connection comes from it. So it may be under
  // torchrun, whose ranks meet at the port after a free one: connect() assigns these ports.
  absl::StatusOr<std::unique_ptr<Door>> OpenDoor() {
    const Endpoint here{options_.address, options_.port};
    const Clock::time_point end = Clock::now() + kConnectionsOfOthers;
    while (true) {
      auto door = Door::Open(here, RendezvousIdentity(options_.token, 0, options_.tls),
                             {options_.strangers, options_.handshake_timeout},
                             [this](Guest guest) { TakeOver(std::move(guest)); });
      if (!absl::IsAlreadyExists(door.status()) || Clock::now() > end) return door;
      if (ConnectTo(here, Clock::now() + std::chrono::seconds(1)).ok()) return door;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }

  // One that knows the token. Its rank counts once it has joined.
  struct Connection {
    Connection(Socket socket, Clock::time_point deadline) : stream(std::move(socket)), deadline(deadline) {}
    ControlStream stream;
    int rank = -1;
    Clock::time_point deadline;  // to say hello; of a refused one, to leave
    bool refused = false;
    bool broken = false;  // nothing can be written any more
    bool ended = false;
  };

  // On the door's thread.
  void TakeOver(Guest guest) {
    {
      std::lock_guard lock(mutex_);
      guests_.push_back(std::move(guest));
    }
    wake_.Set();
  }

  absl::Status Serve() {
    while (true) {
      std::list<Guest> guests;
      {
        std::lock_guard lock(mutex_);
        joined_ = std::ranges::count_if(connections_, [](const Connection& one) { return one.rank >= 0; });
        if (joined_ == 0) emptied_.notify_all();
        if (stopping_) return absl::OkStatus();
        guests.swap(guests_);
      }
      for (Guest& guest : guests) Receive(std::move(guest));
      WaitForNews();
      for (Connection& connection : connections_) Hear(connection);
      CheckDeadlines();
      for (Connection& connection : connections_) {
        if (!connection.ended && (connection.broken || !connection.stream.Send().ok())) End(connection);
      }
      connections_.remove_if([](const Connection& connection) { return connection.ended; });
    }
  }

  void WaitForNews() {
    std::vector<pollfd> descriptors = {{wake_.descriptor(), POLLIN, 0}};
    for (const Connection& connection : connections_) {
      descriptors.push_back({connection.stream.descriptor(), connection.stream.events(), 0});
    }
    poll(descriptors.data(), descriptors.size(), static_cast<int>(kTick.count()));
    wake_.Clear();
  }

  void Receive(Guest guest) {
    if (!guest.socket.valid()) {  // the door has told it so already
      Roster::Letters letters;
      roster_.Disagree(guest.rank, options_.tls ? DisagreementOnTls(0, guest.rank) : DisagreementOnTls(guest.rank, 0),
                       letters);
      return Deliver(letters);
    }
    Connection& connection =
        connections_.emplace_back(std::move(guest.socket), Clock::now() + options_.handshake_timeout);
    if (options_.tls && !connection.stream.StartTls(TlsSession::Side::kListens, guest.seeds.tls).ok()) {
      connections_.pop_back();  // the rank tries again
    }
  }

  // What came before the end of a stream counts.
  void Hear(Connection& connection) {
    if (connection.ended) return;
    const absl::Status received = connection.stream.Receive();
    ToServer message;
    while (!connection.refused && !connection.ended) {
      const absl::StatusOr<bool> next = connection.stream.Next(message);
      if (!next.ok()) return End(connection);
      if (!*next) break;
      if (connection.rank < 0) {
        Admit(connection, message);
        continue;
      }
      Roster::Letters letters;
      roster_.Receive(connection.rank, message, Clock::now(), letters);
      Deliver(letters);
    }
    if (!received.ok()) End(connection);
  }

  void Admit(Connection& connection, const ToServer& message) {
    const rendezvous::Hello& hello = message.hello();
    std::string refusal = RefusalOf(message);
    const bool is_hello = refusal.empty();
    if (is_hello) refusal = roster_.Join(hello.rank(), hello.ranks(), Clock::now());
    ToRank answer;
    if (refusal.empty()) {
      connection.rank = hello.rank();
      answer.mutable_welcome();
    } else {
      connection.refused = true;
      connection.deadline = Clock::now() + options_.handshake_timeout;
      if (is_hello && roster_.IsStartedAgain(hello.rank())) {
        answer.mutable_failure()->set_code(static_cast<int>(absl::StatusCode::kUnavailable));
        answer.mutable_failure()->set_message("the job that is still there has failed");
      } else {
        answer.set_refused(refusal);
      }
    }
    Write(connection, answer);
  }

  static std::string RefusalOf(const ToServer& message) {
    if (!message.has_hello()) return "a stream begins with a hello";
    if (message.hello().version() == kRendezvousVersion) return "";
    return fmt::format("rank {} speaks version {} of the rendezvous, rank 0 version {}", message.hello().rank(),
                       message.hello().version(), kRendezvousVersion);
  }

  void End(Connection& connection) {
    connection.ended = true;
    if (connection.rank < 0) return;
    Roster::Letters letters;
    roster_.End(connection.rank, letters);
    Deliver(letters);
  }

  // In order: each letter is with the system before the next one is written.
  void Deliver(const Roster::Letters& letters) {
    for (const Roster::Letter& letter : letters) {
      for (Connection& connection : connections_) {
        if (connection.rank == letter.rank && !connection.ended) Write(connection, letter.message);
      }
    }
  }

  // Does not end the connection itself: End delivers letters, and is what may have called this.
  static void Write(Connection& connection, const ToRank& message) {
    if (!connection.stream.Queue(message).ok() || !connection.stream.Send().ok()) connection.broken = true;
  }

  void CheckDeadlines() {
    const Clock::time_point now = Clock::now();
    for (Connection& connection : connections_) {
      if (connection.rank < 0 && now > connection.deadline) connection.ended = true;
    }
    Roster::Letters letters;
    for (const int rank : roster_.Tick(now, letters)) {
      for (Connection& connection : connections_) connection.ended |= connection.rank == rank;
    }
    Deliver(letters);
  }

  const Options options_;
  const WakeEvent wake_;

  // Of the server's thread.
  Roster roster_;
  std::list<Connection> connections_;

  std::mutex mutex_;
  std::condition_variable emptied_;
  std::list<Guest> guests_;  // that the door has let in since
  int64_t joined_ = 0;
  bool stopping_ = false;

  std::unique_ptr<Door> door_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RendezvousServer>> RendezvousServer::Start(const Options& options) {
  ASSIGN_OR_RETURN(WakeEvent wake, WakeEvent::Create());
  auto server = std::make_unique<Server>(options, std::move(wake));
  RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace partita
