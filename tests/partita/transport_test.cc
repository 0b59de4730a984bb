// Ranks that reach each other by functions of the program train to the bits of threads, and hear of a rank that is
// gone.
#include <gmock/gmock.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "partita/partita.h"

namespace partita::api {
namespace {

using ::testing::HasSubstr;

// What ranks of one process send each other, as a program would do it by MPI.
class Post {
 public:
  explicit Post(int ranks) : ranks_(ranks) {}

  std::shared_ptr<const Transport> Of(int rank) {
    auto transport = std::make_shared<Transport>();
    transport->rank = rank;
    transport->ranks = ranks_;
    transport->send = [this, rank](int to, const void* data, size_t bytes) { return Send({rank, to}, data, bytes); };
    transport->receive = [this, rank](int from, void* data, size_t bytes) {
      return Receive({from, rank}, data, bytes);
    };
    transport->close = [this, rank](int other) {
      const std::lock_guard lock(mutex_);
      closed_[{rank, other}] = closed_[{other, rank}] = true;
      changed_.notify_all();
    };
    return transport;
  }
  int64_t sent() const { return sent_; }

 private:
  using Way = std::pair<int, int>;

  bool Send(Way way, const void* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (closed_[way]) return false;
    const auto* const begin = static_cast<const char*>(data);
    letters_[way].emplace_back(begin, begin + bytes);
    sent_ += static_cast<int64_t>(bytes);
    changed_.notify_all();
    return true;
  }
  bool Receive(Way way, void* data, size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !letters_[way].empty() || closed_[way]; });
    if (letters_[way].empty()) return false;
    const std::string letter = letters_[way].front();
    letters_[way].pop_front();
    EXPECT_EQ(letter.size(), bytes) << "a receive asks for the bytes of one send";
    std::memcpy(data, letter.data(), std::min(letter.size(), bytes));
    return letter.size() == bytes;
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Way, std::deque<std::string>> letters_;
  std::map<Way, bool> closed_;
  int64_t sent_ = 0;
};

constexpr int64_t kBatch = 10;

Description Described() {
  Description model{.name = "two layers", .loss = "loss", .optimizer = "adam", .learning_rate = 0.01};
  const auto parameter = [](std::vector<int64_t> shape) {
    return Attributes{{"shape", std::move(shape)}, {"initializer", std::string("he_normal")}};
  };
  model.nodes = {
      {"x", "input", {}, {{"shape", std::vector<int64_t>{kBatch, 6}}}},
      {"label", "input", {}, {{"shape", std::vector<int64_t>{kBatch}}, {"dtype", std::string("i32")}}},
      {"w1", "parameter", {}, parameter({6, 9})},
      {"hidden", "matmul", {"x", "w1"}, {}},
      {"active", "relu", {"hidden"}, {}},
      {"w2", "parameter", {}, parameter({9, 4})},
      {"scores", "matmul", {"active", "w2"}, {}},
      {"loss", "softmax_cross_entropy", {"scores", "label"}, {}},
  };
  return model;
}

struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<std::byte>> states;
  std::string error;
};

Trained TrainedBy(const std::shared_ptr<const Transport>& transport, const std::string& settings, int steps,
                  bool reads = true) {
  Trained trained;
  auto session = Session::Start(*Model::FromDescription(Described()), {.settings = settings, .transport = transport});
  if (!session) return {{}, {}, session.error().message};
  for (int step = 0; step < steps; ++step) {
    std::array<float, kBatch * 6> x;
    std::array<int32_t, kBatch> label;
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((i * 7 + static_cast<size_t>(step)) % 13) / 13 - 0.5F;
    for (size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int32_t>((i + static_cast<size_t>(step)) % 4);
    const auto result =
        session->Train({{"x", {Type::kF32, {kBatch, 6}, x.data()}}, {"label", {Type::kI32, {kBatch}, label.data()}}});
    if (!result) return {trained.losses, {}, result.error().message};
    trained.losses.push_back(result->loss);
  }
  if (!reads) return trained;  // reading a state is a call of all ranks
  for (const std::string& state : session->states()) {
    const auto read = session->Read(state);
    if (!read) return {trained.losses, {}, read.error().message};
    trained.states[state] = read->bytes;
  }
  return trained;
}

std::vector<Trained> OfAll(Post& post, int ranks,
                           const std::function<Trained(int, std::shared_ptr<const Transport>)>& train) {
  std::vector<Trained> trained(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { trained[static_cast<size_t>(rank)] = train(rank, post.Of(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  return trained;
}

TEST(Transport, TrainsToTheBitsOfThreads) {
  for (const std::string settings : {"dp = 4", "dp = 2\nmp = 2", "mp = 3", "dp = 3\nmicro-batches = 2"}) {
    SCOPED_TRACE(settings);
    const int ranks = settings.starts_with("dp = 2") || settings == "dp = 4" ? 4 : 3;
    const Trained threads = TrainedBy(nullptr, settings + "\nthreads = 1", 5);
    ASSERT_EQ(threads.error, "");
    Post post(ranks);
    for (const Trained& rank : OfAll(post, ranks, [&](int, const auto& transport) {
           return TrainedBy(transport, settings + "\nthreads = 1", 5);
         })) {
      EXPECT_EQ(rank.error, "");
      EXPECT_EQ(rank.losses, threads.losses);
      EXPECT_EQ(rank.states, threads.states);
    }
    EXPECT_GT(post.sent(), 1000);
  }
}

TEST(Transport, RanksThatDoNotAgreeAreRefused) {
  Post post(2);
  for (const Trained& rank : OfAll(post, 2, [&](int number, const auto&transport) {
         return TrainedBy(transport, "dp = 2\nseed = " + std::to_string(number), 1);
       })) {
    EXPECT_THAT(rank.error, HasSubstr("ranks do not agree on"));
    EXPECT_THAT(rank.error, HasSubstr("rank 0 has '0', rank 1 has '1'"));
  }
}

TEST(Transport, ARankThatGoesIsNamed) {
  Post post(3);
  const std::vector<Trained> trained = OfAll(post, 3, [&](int rank, const auto& transport) {
    return TrainedBy(transport, "dp = 3", rank == 2 ? 2 : 50, /*reads=*/false);
  });
  EXPECT_EQ(trained[2].losses.size(), 2U);
  for (size_t rank : {0, 1}) {
    EXPECT_GE(trained[rank].losses.size(), 2U);
    EXPECT_LT(trained[rank].losses.size(), 50U);
    EXPECT_THAT(trained[rank].error, HasSubstr("rank 2"));
  }
}

TEST(Transport, WhatIsWrongIsSaid) {
  Post post(2);
  EXPECT_THAT(TrainedBy(post.Of(0), "dp = 3", 1).error, HasSubstr("the job has 2 processes by the program's channel"));
  EXPECT_THAT(TrainedBy(post.Of(2), "dp = 2", 1).error, HasSubstr("the transport is of rank 2 of 2"));
  auto lacking = std::make_shared<Transport>(*post.Of(0));
  lacking->close = nullptr;
  EXPECT_THAT(TrainedBy(lacking, "dp = 2", 1).error, HasSubstr("the transport lacks a function"));
  auto silent = std::make_shared<Transport>(*post.Of(0));
  silent->receive = [](int, void*, size_t) { return false; };
  EXPECT_THAT(TrainedBy(silent, "dp = 2", 1).error, HasSubstr("rank 1 does not come"));
  auto strange = std::make_shared<Transport>(*post.Of(0));
  strange->receive = [](int, void* data, size_t bytes) { return std::memset(data, 0, bytes) != nullptr; };
  EXPECT_THAT(TrainedBy(strange, "dp = 2", 1).error, HasSubstr("other bytes than were sent"));
}

}  // namespace
}  // namespace partita::api
