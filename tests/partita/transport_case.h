// Ranks that are threads of this process, and train a small model over functions of a program.
#ifndef PARTITA_TESTS_PARTITA_TRANSPORT_CASE_H_
#define PARTITA_TESTS_PARTITA_TRANSPORT_CASE_H_

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "partita/partita.h"

namespace partita::api {

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

inline constexpr int64_t kBatch = 10;

inline Description Described() {
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

inline Trained TrainedBy(const std::shared_ptr<const Transport>& transport, const std::string& settings, int steps,
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

inline std::vector<Trained> OfAll(Post& post, int ranks,
                                  const std::function<Trained(int, std::shared_ptr<const Transport>)>& train) {
  std::vector<Trained> trained(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { trained[static_cast<size_t>(rank)] = train(rank, post.Of(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  return trained;
}

}  // namespace partita::api

#endif  // PARTITA_TESTS_PARTITA_TRANSPORT_CASE_H_
