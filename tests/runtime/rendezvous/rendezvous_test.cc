// The rendezvous over real connections; ranks are threads here, and processes in tests/tools/commands.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/admission/socket.h"
#include "runtime/admission/token.h"
#include "runtime/rendezvous/rendezvous_client.h"
#include "runtime/rendezvous/rendezvous_server.h"

namespace partita {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds kPatience(60);
using Clients = std::vector<std::unique_ptr<RendezvousClient>>;

bool Says(const absl::Status& status, const std::string& words) {
  return std::string(status.message()).find(words) != std::string::npos;
}

// As it is, and encrypted.
class RendezvousTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr int kRanks = 3;

  void SetUp() override {
    Endpoint rendezvous{"127.0.0.1"};
    reserved_ = *ReservePort(rendezvous);
    RendezvousServer::Options options;
    options.port = rendezvous.port;
    options.ranks = kRanks;
    options.token = "secret";
    options.tls = GetParam();
    options.handshake_timeout = std::chrono::seconds(2);
    server_ = *RendezvousServer::Start(options);
  }

  RendezvousClient::Options Options(int rank) {
    RendezvousClient::Options options;
    options.port = server_->port();
    options.rank = rank;
    options.ranks = kRanks;
    options.token = "secret";
    options.tls = GetParam();
    options.join_timeout = std::chrono::seconds(20);
    options.on_failure = [this](const absl::Status& status) {
      std::lock_guard lock(mutex_);
      failures_.push_back(status);
    };
    return options;
  }

  Clients JoinAll() {
    Clients clients(kRanks);
    OnRanks([&](int rank) { clients[rank] = *RendezvousClient::Join(Options(rank)); });
    return clients;
  }

  // The error of a rank that gives up, once it says `words`: how long it must wait to come that far is the machine's
  // matter, so its patience doubles until it does.
  static absl::Status GivesUpSaying(const std::string& words, RendezvousClient::Options options) {
    for (options.join_timeout = milliseconds(200);; options.join_timeout *= 2) {
      absl::Status status = RendezvousClient::Join(options).status();
      if (Says(status, words) || options.join_timeout > std::chrono::seconds(20)) return status;
    }
  }

  static void OnRanks(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(body, rank);
    for (std::thread& thread : threads) thread.join();
  }

  // Connects and sends `words`; returns whether the server ends the connection.
  bool StrangerIsSentAway(const std::string& words) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience{20, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(send(fd, words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
    char buffer[256];
    ssize_t count = 1;
    while (count > 0) count = recv(fd, buffer, sizeof(buffer), 0);
    const bool ended = count == 0 || errno == ECONNRESET;
    close(fd);
    return ended;
  }

  Socket reserved_;  // keeps the port while no server listens there
  std::unique_ptr<RendezvousServer> server_;
  std::mutex mutex_;
  std::vector<absl::Status> failures_;
};

TEST_P(RendezvousTest, RanksMeetAndTalk) {
  Clients clients = JoinAll();
  OnRanks([&](int rank) {
    const std::string own = std::to_string(rank), next = std::to_string((rank + 1) % kRanks);
    EXPECT_TRUE(clients[rank]->Set("key " + own, "value " + own).ok());
    EXPECT_EQ(*clients[rank]->Get("key " + next, kPatience), "value " + next);
    EXPECT_TRUE(clients[rank]->Barrier("done", kPatience).ok());
  });
  const absl::Status nobody = clients[0]->Get("nothing", milliseconds(50)).status();
  EXPECT_EQ(nobody.code(), absl::StatusCode::kUnavailable);
  clients.clear();
  EXPECT_TRUE(server_->WaitUntilEmpty(kPatience));
  EXPECT_TRUE(failures_.empty());
}

TEST_P(RendezvousTest, ListsTheMissingAtTheDeadline) {
  const absl::Status status = GivesUpSaying("ranks 0, 2 did not come within ", Options(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Says(status, "ranks 0, 2 did not come within ")) << status;
}

TEST_P(RendezvousTest, SaysThatNobodyServes) {
  RendezvousClient::Options options = Options(1);
  server_ = nullptr;
  options.join_timeout = milliseconds(200);
  const auto client = RendezvousClient::Join(options);
  EXPECT_TRUE(Says(client.status(), "nobody serves the rendezvous")) << client.status();
}

TEST_P(RendezvousTest, RefusesWhoDoesNotBelongAndGoesOn) {
  const Clients clients = JoinAll();
  RendezvousClient::Options twice = Options(1), wrong = Options(2), many = Options(2);
  wrong.token = "another";
  many.ranks = 4;
  const auto refused = [](const RendezvousClient::Options& options, const std::string& words) {
    const absl::Status status = RendezvousClient::Join(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(Says(status, words)) << status;
  };
  refused(twice, "there is a rank 1 already");
  refused(wrong, "another token");
  refused(many, "says that the job has 4 ranks, it has 3");
  EXPECT_TRUE(StrangerIsSentAway("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(StrangerIsSentAway(std::string("\x16\x03\x01\x00\xc8\x01", 6) + NewNonce()));  // TLS, and no hello before
  EXPECT_TRUE(StrangerIsSentAway(NewNonce() + NewNonce()));
  EXPECT_TRUE(StrangerIsSentAway(""));  // says nothing until the handshake's time is over
  OnRanks([&](int rank) { EXPECT_TRUE(clients[rank]->Barrier("still here", kPatience).ok()); });
  EXPECT_TRUE(failures_.empty());
}

// As Kubernetes does: each rank by itself, whatever the others do.
TEST_P(RendezvousTest, ARankThatIsStartedAgainWaitsForTheNextJob) {
  Clients clients = JoinAll();
  clients[1]->Fail(absl::UnavailableError("rank 1 is tired"));
  clients[1] = nullptr;
  const absl::Status status = GivesUpSaying("the job that is still there has failed", Options(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Says(status, "the job that is still there has failed")) << status;
  std::thread first([&] { clients[1] = *RendezvousClient::Join(Options(1)); });
  std::this_thread::sleep_for(milliseconds(150));
  RendezvousServer::Options next;
  next.ranks = kRanks;
  next.token = "secret";
  next.tls = GetParam();
  next.port = server_->port();
  clients[0] = nullptr;
  clients[2] = nullptr;
  server_ = nullptr;
  server_ = *RendezvousServer::Start(next);
  std::thread second([&] { clients[2] = *RendezvousClient::Join(Options(2)); });
  clients[0] = *RendezvousClient::Join(Options(0));
  first.join();
  second.join();
  OnRanks([&](int rank) { EXPECT_TRUE(clients[rank]->Barrier("all", kPatience).ok()); });
}

// Whoever comes first: rank 2, or those who agree with rank 0.
TEST_P(RendezvousTest, RanksThatDoNotAgreeOnTlsAreToldSo) {
  const std::string says = GetParam() ? "ranks do not agree on TLS: rank 0 has it, rank 2 has not"
                                      : "ranks do not agree on TLS: rank 2 has it, rank 0 has not";
  std::vector<absl::Status> joined(kRanks);
  OnRanks([&](int rank) {
    RendezvousClient::Options options = Options(rank);
    options.tls = GetParam() != (rank == 2);
    joined[rank] = RendezvousClient::Join(options).status();
  });
  for (const absl::Status& status : joined) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(Says(status, says)) << status;
  }
}

TEST_P(RendezvousTest, AJobThatHasBegunDoesNotEndForOneWhoDoesNotAgreeOnTls) {
  const Clients clients = JoinAll();
  RendezvousClient::Options other = Options(2);
  other.tls = !GetParam();
  EXPECT_TRUE(Says(RendezvousClient::Join(other).status(), "ranks do not agree on TLS"));
  OnRanks([&](int rank) { EXPECT_TRUE(clients[rank]->Barrier("still here", kPatience).ok()); });
  EXPECT_TRUE(failures_.empty());
}

TEST_P(RendezvousTest, AFailureIsToldToAll) {
  const Clients clients = JoinAll();
  clients[1]->Fail(absl::UnavailableError("rank 1 is tired"));
  for (const auto& client : clients) {
    EXPECT_TRUE(Says(client->Barrier("never", kPatience), "rank 1 is tired"));
  }
  while (true) {
    std::this_thread::sleep_for(milliseconds(1));
    std::lock_guard lock(mutex_);
    if (failures_.size() == kRanks) break;
  }
  EXPECT_EQ(failures_, std::vector(kRanks, absl::UnavailableError("rank 1 is tired")));
}

TEST_P(RendezvousTest, TheEndOfTheServerIsTheEndOfRank0) {
  const Clients clients = JoinAll();
  server_ = nullptr;
  for (const auto& client : clients) {
    const absl::Status status = client->Barrier("never", kPatience);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(Says(status, "rank 0") && Says(status, "control stream")) << status;
  }
}

TEST_P(RendezvousTest, AMismatchNamesTheFieldBothRanksAndBothValues) {
  Clients clients = JoinAll();
  std::vector<absl::Status> compared(kRanks);
  OnRanks([&](int rank) {
    std::map<std::string, std::string> fields = {{"the graph", "g"}, {"the seed", rank == 2 ? "7" : "1"}};
    if (rank == 2) fields["flag --batch"] = "8";
    compared[rank] = CompareDigests(*clients[rank], rank, fields, kPatience);
  });
  for (const absl::Status& status : compared) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(Says(status, "ranks do not agree on flag --batch: rank 0 has '', rank 2 has '8'")) << status;
  }
}

TEST_P(RendezvousTest, EqualDigestsPass) {
  Clients clients = JoinAll();
  OnRanks([&](int rank) { EXPECT_TRUE(CompareDigests(*clients[rank], rank, {{"the graph", "g"}}, kPatience).ok()); });
}

TEST_P(RendezvousTest, ATakenPortIsNamed) {
  RendezvousServer::Options options;
  options.port = server_->port();
  const auto second = RendezvousServer::Start(options);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Says(second.status(), std::to_string(server_->port()))) << second.status();
}

// A connection of another program comes from the port, as connect() may choose it.
TEST_P(RendezvousTest, APortThatAConnectionHasIsWaitedFor) {
  Endpoint peer{"127.0.0.1"};
  const Socket listener = *ListenAt(peer);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(connection, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(getsockname(connection, reinterpret_cast<sockaddr*>(&address), &size), 0);
  RendezvousServer::Options options;
  options.port = ntohs(address.sin_port);
  address.sin_port = htons(static_cast<uint16_t>(peer.port));
  ASSERT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&address), size), 0);
  const linger at_once{1, 0};  // it leaves the port when it is closed, not a minute later
  ASSERT_EQ(setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
  std::thread end([&] {
    std::this_thread::sleep_for(milliseconds(200));
    close(connection);
  });
  const auto server = RendezvousServer::Start(options);
  end.join();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->port(), options.port);
}

// Which is no lost peer: to start again would bring the same.
TEST_P(RendezvousTest, AnAddressOfAnotherMachineIsWrong) {
  RendezvousServer::Options options;
  options.address = "240.0.0.1";
  options.port = 29500;
  const absl::Status status = RendezvousServer::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "cannot serve the rendezvous on 240.0.0.1:29500: 240.0.0.1 is no address of this machine");
}

INSTANTIATE_TEST_SUITE_P(All, RendezvousTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "tls" : "plain"; });

}  // namespace
}  // namespace partita
