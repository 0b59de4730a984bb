// Which threads a session adds to the program's, and on which cores they run.
#include <gmock/gmock.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "partita/c/partita.h"

namespace {

constexpr char kModel[] = R"(
schema_version: 1 name: "line" loss: "loss" optimizer {} learning_rate { schedule: "constant" base: 0.1 }
nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [4, 3] } } }
nodes { name: "label" op: "input" attributes { name: "shape" integers { values: 4 } } attributes { name: "dtype" text: "i32" } }
nodes { name: "w" op: "parameter" attributes { name: "shape" integers { values: [3, 2] } }
  attributes { name: "initializer" text: "glorot_uniform" } }
nodes { name: "y" op: "matmul" inputs: ["x", "w"] }
nodes { name: "loss" op: "softmax_cross_entropy" inputs: ["y", "label"] }
)";

using Threads = std::set<pid_t>;

Threads ThreadsOfProcess() {
  Threads threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(std::stoi(task.path().filename()));
  }
  return threads;
}

void Succeed(partita_error* error) {
  EXPECT_STREQ(partita_error_message(error), "");
  partita_error_free(error);
}

// A session that has trained a step, and the threads that came with it.
class Trained {
 public:
  explicit Trained(const char* settings) {
    const Threads before = ThreadsOfProcess();
    partita_model* model = nullptr;
    Succeed(partita_model_from_text(kModel, &model));
    partita_session_options options = {};
    options.size = sizeof(options);
    options.settings = settings;
    Succeed(partita_session_start(model, &options, &session_));
    partita_model_free(model);
    const int64_t shape[] = {4, 3};
    const std::vector<float> x(12, 0.5F);
    const std::vector<int32_t> label = {0, 1, 0, 1};
    const partita_tensor batch[] = {{sizeof(partita_tensor), "x", PARTITA_F32, 2, shape, x.data()},
                                    {sizeof(partita_tensor), "label", PARTITA_I32, 1, shape, label.data()}};
    Succeed(partita_session_train(session_, batch, 2, nullptr));
    threads_ = ThreadsOfProcess();
    for (const pid_t thread : before) threads_.erase(thread);
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;
  ~Trained() { partita_session_free(session_); }

  const Threads& threads() const { return threads_; }

 private:
  partita_session* session_ = nullptr;
  Threads threads_;
};

TEST(Threads, AreThoseOfTheSettingAndEndWithTheSession) {
  const Threads before = ThreadsOfProcess();
  {
    const Trained one("threads = 1");
    EXPECT_EQ(one.threads().size(), 3U) << "for kernels, for collectives, and to watch both";
    const Trained three("threads = 3");
    EXPECT_EQ(three.threads().size(), 5U);
    const Trained ranks("dp = 2\nthreads = 1");
    EXPECT_EQ(ranks.threads().size(), 5U) << "one watches both ranks";
  }
  // OpenMP ends its threads without waiting for them.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ThreadsOfProcess() != before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(ThreadsOfProcess(), before);
}

// A program lends a session some of its cores by the affinity of the thread that starts it.
TEST(Threads, RunOnTheCoresOfTheThreadThatStartsThem) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one core";
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &all)) last = core;
  }
  std::thread([last] {
    cpu_set_t lent;
    CPU_ZERO(&lent);
    CPU_SET(last, &lent);
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(lent), &lent), 0);
    const Trained session("dp = 2");
    EXPECT_EQ(session.threads().size(), 5U) << "the default divides the cores that are lent";
    for (const pid_t thread : session.threads()) {
      cpu_set_t cores;
      ASSERT_EQ(sched_getaffinity(thread, sizeof(cores), &cores), 0);
      EXPECT_TRUE(CPU_EQUAL(&cores, &lent));
    }
  }).join();
}

}  // namespace
