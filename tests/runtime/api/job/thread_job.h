// The processes of a job, played by threads: one rank each, over memory.
#ifndef PARTITA_TESTS_RUNTIME_API_JOB_THREAD_JOB_H_
#define PARTITA_TESTS_RUNTIME_API_JOB_THREAD_JOB_H_

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/api/job/job.h"
#include "runtime/comm/local/local_communicator.h"

namespace partita {

// Where they meet.
struct Meeting {
  explicit Meeting(int ranks)
      : barrier(ranks), said(static_cast<size_t>(ranks)), world(LocalWorld::Create(ranks).value()) {}

  std::barrier<> barrier;
  std::vector<std::string> said;
  std::unique_ptr<LocalWorld> world;
  std::atomic<int> rounds{0};  // of AllGather
};

class ThreadJob : public Job {
 public:
  ThreadJob(int rank, Meeting& meeting) : ranks_({rank}), meeting_(meeting) {}

  const std::vector<int>& ranks() const override { return ranks_; }
  World& world() override { return *meeting_.world; }
  std::chrono::milliseconds join_timeout() const override { return std::chrono::milliseconds(1); }

  absl::StatusOr<std::vector<std::string>> AllGather(const Message& message) override {
    const std::string bytes(message.bytes);
    meeting_.said[static_cast<size_t>(ranks_[0])] = bytes;
    if (ranks_[0] == 0) ++meeting_.rounds;
    meeting_.barrier.arrive_and_wait();
    const std::vector<std::string> all = meeting_.said;
    meeting_.barrier.arrive_and_wait();
    for (const std::string& said : all) gathered_ += static_cast<int64_t>(said.size()) + kGatherHeaderBytes;
    gathered_ -= static_cast<int64_t>(bytes.size()) + kGatherHeaderBytes;
    return all;
  }
  int64_t gathered_bytes() const override { return gathered_; }

 private:
  const std::vector<int> ranks_;
  Meeting& meeting_;
  int64_t gathered_ = 0;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_API_JOB_THREAD_JOB_H_
