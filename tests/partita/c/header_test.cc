// Uses partita.hpp as a program outside the tree: each of its calls, and what callbacks throw. Exit code 0: it holds.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "partita/c/partita.hpp"

namespace {

constexpr char kModel[] = R"(
schema_version: 1 name: "line" loss: "loss" metrics: "right" optimizer { momentum: 0.9 }
learning_rate { schedule: "constant" base: 0.1 }
nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [4, 3] } } }
nodes { name: "label" op: "input" attributes { name: "shape" integers { values: 4 } } attributes { name: "dtype" text: "i32" } }
nodes { name: "w" op: "parameter" attributes { name: "shape" integers { values: [3, 2] } }
  attributes { name: "initializer" text: "glorot_uniform" } }
nodes { name: "y" op: "matmul" inputs: ["x", "w"] }
nodes { name: "loss" op: "softmax_cross_entropy" inputs: ["y", "label"] }
nodes { name: "right" op: "accuracy" inputs: ["y", "label"] }
)";

#define EXPECT(condition) \
  if (!(condition)) std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), std::exit(1)

template <typename T>
T Taken(partita::Result<T> result) {
  if (!result) std::fprintf(stderr, "%s\n", result.error().message.c_str()), std::exit(1);
  return *std::move(result);
}

const std::vector<float> kX = {1, 2, 3, -1, 0, 1, 0.5F, 0.25F, 0, 2, -2, 1};
const std::vector<int32_t> kLabels = {0, 1, 1, 0};

partita::Fields Batch(int64_t rows = 4) {
  using partita::Type;
  return {{"x", {Type::kF32, {rows, 3}, kX.data()}}, {"label", {Type::kI32, {rows}, kLabels.data()}}};
}

partita::Session Started(const char* settings = "dp = 2",
                         std::shared_ptr<const partita::Transport> transport = nullptr) {
  const auto model = Taken(partita::Model::FromText(kModel));
  return Taken(partita::Session::Start(model, {settings, {"y"}, true, std::move(transport)}));
}

double TrainedThreeSteps(partita::Session& session) {
  double loss = 0;
  for (int step = 0; step < 3; ++step) loss = Taken(session.Train(Batch())).loss;
  return loss;
}

void Plans() {
  const auto model = Taken(partita::Model::FromText(kModel));
  const auto plan = Taken(partita::Plan::Make(model, {"dp = 2\ncluster = two_cores\nepochs = 3"}));
  const partita::PlanSummary summary = plan.summary();
  EXPECT(summary.split == "data:2 model:1" && summary.cluster == "two-cores" && summary.ranks == 2);
  EXPECT(summary.batch == 4 && summary.step_seconds > 0 && summary.memory_bytes > 0 && summary.wire_bytes > 0);
  EXPECT(summary.device_used_bytes >= summary.memory_bytes && summary.device_memory_bytes > summary.device_used_bytes);
  const double parts = summary.compute_seconds + summary.exposed_seconds + summary.idle_seconds;
  EXPECT(parts > 0.999 * summary.step_seconds && parts < 1.001 * summary.step_seconds);
  EXPECT(Taken(plan.Json()).find("\"step_seconds\"") != std::string::npos);
  EXPECT(Taken(plan.Page()).find("<!DOCTYPE html>") == 0);
  EXPECT(Taken(plan.StrategyText()).find("size: 2") != std::string::npos);
  const auto large = partita::Plan::Make(model, {"memory = 1B"});
  EXPECT(!large && large.error().code == partita::ErrorCode::kDoesNotFit);
}

void Errors() {
  using partita::ErrorCode;
  const auto missing = partita::Model::FromFile("nowhere.pbtxt");
  EXPECT(!missing && missing.error().code == ErrorCode::kInvalidArgument);
  EXPECT(missing.error().message.find("nowhere.pbtxt") != std::string::npos);
  partita::Session session = Started();
  EXPECT(session.Train(Batch(3)).error().code == ErrorCode::kInvalidArgument);
  EXPECT(session.Read("z").error().message.find("z") != std::string::npos);
  const partita::Session other = std::move(session);
  EXPECT(session.Train(Batch()).error().message == "session is NULL");
}

void Values() {
  const auto model = Taken(partita::Model::FromText(kModel));
  EXPECT(model.fields().size() == 2 && model.fields()[0].name == "x");
  EXPECT(Taken(model.WithBatch(8)).fields()[0].shape == (std::vector<int64_t>{8, 3}));

  partita::Session session = Started();
  const double loss = TrainedThreeSteps(session);
  EXPECT(Taken(session.Evaluate(Batch())).metrics.count("right") == 1);
  EXPECT(Taken(session.Predict({{"x", Batch(3).at("x")}})).at("y").shape == (std::vector<int64_t>{3, 2}));
  EXPECT(Taken(session.States()).size() >= 2);
  EXPECT(!session.Save("saved.safetensors"));
  const double next = Taken(session.Train(Batch())).loss;
  EXPECT(next < loss);

  partita::Session resumed = Started("mp = 2");
  EXPECT(!resumed.Load("saved.safetensors"));
  const partita::Tensor w = Taken(resumed.Read("w"));
  EXPECT(Taken(resumed.Train(Batch())).loss == next);
  EXPECT(!resumed.Write("w", w) && Taken(resumed.Read("w")).bytes == w.bytes);
  EXPECT(!resumed.LoadWeights("saved.safetensors"));
  EXPECT(!Taken(resumed.ImagePreprocessing()));
  resumed.Cancel();
  EXPECT(resumed.Train(Batch()).error().code == partita::ErrorCode::kCancelled);
}

// What a callback throws comes out of Fit, and the session goes on.
void Callbacks() {
  partita::Session session = Started("mock-data = true\nepochs = 2");
  int calls = 0;
  bool thrown = false;
  try {
    const auto throws = [&](const partita::Progress&) -> bool {
      ++calls;
      throw std::runtime_error("enough");
    };
    session.Fit({throws, 1e-9});
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  EXPECT(thrown && calls == 1);
  const partita::FitResult rest = Taken(session.Fit());
  EXPECT(rest.step == 100 && rest.steps < 100);  // 2 epochs of 50 batches
  EXPECT(!rest.stopped && !rest.epochs.empty() && rest.epochs.back().number == 2 && rest.epochs.back().test_loss);

  std::optional<partita::Session> destroyed = Started("mock-data = true\nepochs = 1000000");
  int epochs = 0;
  const auto destroys = [&](const partita::Epoch&) {
    if (++epochs == 2) destroyed.reset();
  };
  const partita::FitResult fitted = Taken(destroyed->Fit({nullptr, 2, destroys}));
  EXPECT(!destroyed && fitted.stopped && fitted.epochs.size() >= 2);
}

void Logs() {
  std::vector<std::string> lines;
  EXPECT(!partita::SetLog([](partita::Level, const std::string&) { std::exit(1); }));
  EXPECT(!partita::SetLog([&](partita::Level, const std::string& line) { lines.push_back(line); }));
  partita::Session session = Started("mock-data = true\nepochs = 1\nsave = logged.safetensors");
  Taken(session.Fit());
  EXPECT(!partita::SetLog(nullptr));
}

// What two ranks of this process send each other.
struct Post {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> letters[2];  // by the rank that receives
  bool closed = false;
  std::map<std::string, std::string> store;
  std::vector<float> inputs[2];  // of a sum, by rank
  int added = 0, taken = 0;

  std::shared_ptr<const partita::Transport> Of(int rank) {
    auto transport = std::make_shared<partita::Transport>();
    transport->rank = rank;
    transport->ranks = 2;
    transport->send = [this](int to, const void* data, size_t bytes) {
      const std::lock_guard<std::mutex> lock(mutex);
      letters[to].emplace_back(static_cast<const char*>(data), bytes);
      changed.notify_all();
      return !closed;
    };
    transport->receive = [this, rank](int, void* data, size_t bytes) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return closed || !letters[rank].empty(); });
      if (letters[rank].empty() || letters[rank].front().size() != bytes) return false;
      std::memcpy(data, letters[rank].front().data(), bytes);
      letters[rank].pop_front();
      return true;
    };
    transport->close = [this](int) {
      const std::lock_guard<std::mutex> lock(mutex);
      closed = true;
      changed.notify_all();
    };
    return transport;
  }

  // Two ranks that find each other by a store, and add by themselves.
  std::shared_ptr<const partita::Transport> StoreOf(int rank) {
    auto transport = std::make_shared<partita::Transport>(*Of(rank));
    transport->send = nullptr;
    transport->receive = nullptr;
    transport->barrier = [] { return true; };
    transport->put = [this](const std::string& key, const std::string& value) {
      const std::lock_guard<std::mutex> lock(mutex);
      store[key] = value;
      changed.notify_all();
      return true;
    };
    transport->get = [this](const std::string& key, int64_t milliseconds) -> std::optional<std::string> {
      std::unique_lock<std::mutex> lock(mutex);
      const auto is_there = [&] { return store.count(key) > 0; };
      if (!changed.wait_for(lock, std::chrono::milliseconds(milliseconds), is_there)) return std::nullopt;
      return store[key];
    };
    transport->all_reduce = [this, rank](const partita::AllReduce& sum) { return Add(rank, sum); };
    return transport;
  }

  bool Add(int rank, const partita::AllReduce& sum) {
    if (sum.type != partita::Type::kF32 || sum.rank_count != 2) return false;
    std::unique_lock<std::mutex> lock(mutex);
    const auto* const input = static_cast<const float*>(sum.input);
    inputs[rank].assign(input, input + sum.count);
    const int mine = ++added;
    changed.notify_all();
    changed.wait(lock, [&] { return closed || added >= mine + mine % 2; });
    if (closed) return false;
    for (size_t i = 0; i < sum.count; ++i) static_cast<float*>(sum.output)[i] = inputs[0][i] + inputs[1][i];
    ++taken;
    changed.notify_all();
    changed.wait(lock, [&] { return closed || taken >= mine + mine % 2; });
    return !closed;
  }
};

void OwnTransport() {
  partita::Session threads = Started();
  const double expected = TrainedThreeSteps(threads);
  Post post;
  double losses[2] = {};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      partita::Session session = Started("dp = 2", post.Of(rank));
      losses[rank] = TrainedThreeSteps(session);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT(losses[0] == expected && losses[1] == expected);

  Post store;
  ranks.clear();
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      partita::Session session = Started("dp = 2", store.StoreOf(rank));
      losses[rank] = TrainedThreeSteps(session);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT(losses[0] == expected && losses[1] == expected);
  EXPECT(store.added >= 6 && store.letters[0].empty());
}

}  // namespace

int main() {
  Plans();
  Errors();
  Values();
  Callbacks();
  Logs();
  OwnTransport();
}
