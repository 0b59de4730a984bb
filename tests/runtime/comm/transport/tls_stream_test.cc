// Streams by TLS over connections of the loopback interface. What links make of them is in tests/conformance.
#include "runtime/comm/transport/tls_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/admission/token.h"
#include "runtime/comm/transport/peer_link.h"
#include "tests/runtime/admission/stranger.h"

namespace partita {
namespace {

std::pair<Socket, Socket> Connected() {
  Endpoint endpoint{"127.0.0.1", 0};
  const Socket listener = *ListenAt(endpoint);
  Socket near = *ConnectTo(endpoint, Soon()), far;
  while (!far.valid()) far = AcceptFrom(listener);
  return {std::move(near), std::move(far)};
}

// `listening`: another end of the same connection, or of one that somebody carries on.
std::pair<std::unique_ptr<TlsStream>, std::unique_ptr<TlsStream>> Streams(Socket connecting, Socket listening) {
  const std::string key = NewNonce();
  absl::StatusOr<std::unique_ptr<TlsSession>> connects = nullptr;
  std::thread other(
      [&] { connects = TlsSession::Agree(TlsSession::Side::kConnects, key, connecting, Soon(), /*records=*/100); });
  auto listens = TlsSession::Agree(TlsSession::Side::kListens, key, listening, Soon(), /*records=*/100);
  other.join();
  EXPECT_TRUE(connects.ok() && listens.ok()) << connects.status() << listens.status();
  EXPECT_TRUE(connecting.MakeStream().ok() && listening.MakeStream().ok());
  return {std::make_unique<TlsStream>(std::move(connecting), *std::move(connects)),
          std::make_unique<TlsStream>(std::move(listening), *std::move(listens))};
}

constexpr size_t kBytes = 6 << 20;  // each way
constexpr size_t kHead = 40;

char ByteAt(size_t place) { return static_cast<char>(place * 2654435761u >> 13); }

// Each side writes and reads at the same time, far more than the network holds, and changes its key on the way.
TEST(TlsStream, BothWaysAtOnce) {
  auto [near, far] = Connected();
  const auto streams = Streams(std::move(near), std::move(far));
  std::atomic<int> whole{0};
  std::vector<std::thread> threads;
  for (TlsStream* const stream : {streams.first.get(), streams.second.get()}) {
    threads.emplace_back([stream] {
      std::vector<char> bytes(kBytes);
      for (size_t b = 0; b < kBytes; ++b) bytes[b] = ByteAt(b);
      std::span<const char> left = bytes;
      for (size_t part = kHead; !left.empty(); part = part * 3 % 300'007 + kHead) {
        const std::span<const char> now = left.first(std::min(left.size(), part));
        const size_t head = std::min(now.size(), kHead);
        EXPECT_TRUE(stream->Write(now.first(head), now.subspan(head)));
        left = left.subspan(now.size());
      }
    });
    threads.emplace_back([stream, &whole] {
      std::vector<char> bytes(kBytes);
      std::span<char> left = bytes;
      for (size_t part = 1; !left.empty(); part = part * 5 % 400'009 + 1) {
        const std::span<char> now = left.first(std::min(left.size(), part));
        ASSERT_TRUE(stream->Read(now));
        left = left.subspan(now.size());
      }
      for (size_t b = 0; b < kBytes; ++b) ASSERT_EQ(bytes[b], ByteAt(b)) << b;
      ++whole;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, 2);
}

TEST(TlsStream, ClosingEndsWhoWaits) {
  auto [near, far] = Connected();
  const auto streams = Streams(std::move(near), std::move(far));
  char byte = 0;
  std::thread waits([&] { EXPECT_FALSE(streams.first->Read({&byte, 1})); });
  std::thread writes([&] {
    const std::vector<char> much(1 << 20);
    while (streams.first->Write(much, {})) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  streams.first->Close();
  waits.join();
  writes.join();
  EXPECT_EQ(streams.first->flaw(), "");
}

// Somebody carries the connection, and after a while changes a bit of what goes by: the link ends, and says why.
TEST(TlsStream, ALinkSaysWhatWasDoneToIt) {
  auto [near, middle_near] = Connected();
  auto [middle_far, far] = Connected();
  constexpr int kUntouched = 4000;
  const auto carry = [](Socket& from, Socket& to, bool changes) {
    absl::StatusOr<std::string> byte = from.Read(1, Soon());
    for (int count = 0; byte.ok(); ++count) {
      if (changes && count == kUntouched) (*byte)[0] = static_cast<char>((*byte)[0] ^ 1);
      if (!to.Write(*byte, Soon()).ok()) return;
      byte = from.Read(1, Soon());
    }
  };
  std::thread there([&] { carry(middle_near, middle_far, true); });
  std::thread back([&] { carry(middle_far, middle_near, false); });
  {
    auto streams = Streams(std::move(near), std::move(far));
    PeerLink sends(std::move(streams.first), {1, 2}), receives(std::move(streams.second), {2, 1});
    std::string flaw;
    std::atomic<bool> ended{false};
    sends.Start({[](std::span<const char>) { return true; }, [&](const std::string&) { sends.Close(); }});
    receives.Start({[](std::span<const char>) { return true; },
                    [&](const std::string& why) {
                      flaw = why;
                      receives.Close();
                      ended = true;
                      ended.notify_all();
                    }});
    std::vector<char> block(10'000), received(10'000);
    Passage send(1, block.data(), 10'000, false), receive(0, received.data(), 10'000, false);
    receives.Receive(receive, 1);
    sends.Send(send, 1);
    EXPECT_FALSE(receive.Await());
    ended.wait(false);
    EXPECT_NE(flaw.find("TLS cannot open what came: "), std::string::npos) << flaw;
    sends.Stop();
    receives.Stop();
  }
  there.join();
  back.join();
}

}  // namespace
}  // namespace partita
