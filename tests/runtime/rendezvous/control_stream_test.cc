// Messages over a connection of two local sockets, as they are and encrypted.
#include "runtime/rendezvous/control_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/admission/token.h"
#include "runtime/rendezvous/rendezvous.pb.h"

namespace partita {
namespace {

using rendezvous::ToServer;

std::pair<Socket, Socket> Connected() {
  int both[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both), 0);
  return {Socket(both[0]), Socket(both[1])};
}

ToServer MessageOf(size_t bytes) {
  ToServer message;
  message.mutable_set()->set_key("key");
  message.mutable_set()->set_value(std::string(bytes, 'v'));
  return message;
}

// What one who knows the wire format would write.
std::string Framed(const std::string& bytes, uint32_t length) {
  std::string framed(sizeof(length), '\0');
  std::memcpy(framed.data(), &length, sizeof(length));
  return framed + bytes;
}

class ControlStreamTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto [one, other] = Connected();
    one_ = std::make_unique<ControlStream>(std::move(one));
    other_ = std::make_unique<ControlStream>(std::move(other));
    if (!GetParam()) return;
    const std::string key(kProofBytes, 'k');
    ASSERT_TRUE(one_->StartTls(TlsSession::Side::kConnects, key).ok());
    ASSERT_TRUE(other_->StartTls(TlsSession::Side::kListens, key).ok());
  }

  // Until `to` has as many messages.
  std::vector<ToServer> Exchange(ControlStream& from, ControlStream& to, size_t count) {
    std::vector<ToServer> messages;
    while (messages.size() < count && !testing::Test::HasFailure()) {
      EXPECT_TRUE(from.Send().ok() && to.Send().ok() && from.Receive().ok());
      EXPECT_TRUE(to.Receive().ok());
      ToServer message;
      while (*to.Next(message)) messages.push_back(message);
    }
    return messages;
  }

  std::unique_ptr<ControlStream> one_, other_;
};

TEST_P(ControlStreamTest, CarriesMessagesOfAllSizesInOrderBothWays) {
  const size_t most = ControlStream::kMostMessageBytes - 16;  // beside key and tags
  const std::vector<size_t> sizes = {0, 1, 3, 65531, 65536, most, 2, 70000};
  for (const size_t size : sizes) ASSERT_TRUE(one_->Queue(MessageOf(size)).ok());
  ToServer beat;
  beat.mutable_heartbeat();
  ASSERT_TRUE(other_->Queue(beat).ok());
  const std::vector<ToServer> came = Exchange(*one_, *other_, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(came[i].SerializeAsString(), MessageOf(sizes[i]).SerializeAsString());
  EXPECT_TRUE(Exchange(*other_, *one_, 1)[0].has_heartbeat());
  EXPECT_FALSE(one_->has_pending());
}

TEST_P(ControlStreamTest, RefusesAMessageThatIsTooLongAndGoesOn) {
  EXPECT_EQ(one_->Queue(MessageOf(ControlStream::kMostMessageBytes)).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(one_->Queue(MessageOf(5)).ok());
  EXPECT_EQ(Exchange(*one_, *other_, 1)[0].set().value(), "vvvvv");
}

TEST_P(ControlStreamTest, ReportsAPeerThatDoesNotRead) {
  absl::Status status;
  for (int i = 0; status.ok() && i < 100; ++i) {
    status = one_->Queue(MessageOf(1 << 20));
    if (status.ok()) status = one_->Send();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_P(ControlStreamTest, ReturnsWhatCameBeforeTheEnd) {
  ASSERT_TRUE(one_->Queue(MessageOf(1)).ok());
  if (GetParam()) Exchange(*one_, *other_, 1);
  ASSERT_TRUE(one_->Queue(MessageOf(7)).ok());
  ASSERT_TRUE(one_->Send().ok());
  one_ = nullptr;
  EXPECT_EQ(other_->Receive().code(), absl::StatusCode::kUnavailable);
  ToServer message, last;
  while (*other_->Next(message)) last = message;
  EXPECT_EQ(last.set().value(), "vvvvvvv");
}

INSTANTIATE_TEST_SUITE_P(All, ControlStreamTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "tls" : "plain"; });

TEST(ControlStream, RefusesWhatIsNoMessage) {
  for (const std::string& bytes : {Framed("", ControlStream::kMostMessageBytes + 1), Framed("\xff\xff", 2),
                                   std::string("PRI * HTTP/2.0\r\n\r\n"), std::string(8, '\xff')}) {
    auto [stranger, socket] = Connected();
    ControlStream stream(std::move(socket));
    ASSERT_TRUE(stranger.Write(bytes, Socket::Time::max()).ok());
    ASSERT_TRUE(stream.Receive().ok());
    ToServer message;
    EXPECT_EQ(stream.Next(message).status().code(), absl::StatusCode::kUnavailable);
  }
}

TEST(ControlStream, ReadsAMessageByteByByte) {
  auto [peer, socket] = Connected();
  ControlStream stream(std::move(socket));
  const std::string bytes = MessageOf(40).SerializeAsString();
  ToServer message;
  for (const char byte : Framed(bytes, static_cast<uint32_t>(bytes.size()))) {
    ASSERT_FALSE(*stream.Next(message));
    ASSERT_TRUE(peer.Write(std::string(1, byte), Socket::Time::max()).ok());
    ASSERT_TRUE(stream.Receive().ok());
  }
  ASSERT_TRUE(*stream.Next(message));
  EXPECT_EQ(message.SerializeAsString(), bytes);
}

TEST(ControlStream, RefusesAnotherKey) {
  auto [one, other] = Connected();
  ControlStream connects(std::move(one)), listens(std::move(other));
  ASSERT_TRUE(connects.StartTls(TlsSession::Side::kConnects, std::string(kProofBytes, 'a')).ok());
  ASSERT_TRUE(listens.StartTls(TlsSession::Side::kListens, std::string(kProofBytes, 'b')).ok());
  ASSERT_TRUE(connects.Send().ok());
  EXPECT_EQ(listens.Receive().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace partita
