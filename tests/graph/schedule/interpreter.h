// Runs the schedules of all ranks on plain memory, launches in a random order that streams and waits allow.
#ifndef PARTITA_TESTS_GRAPH_SCHEDULE_INTERPRETER_H_
#define PARTITA_TESTS_GRAPH_SCHEDULE_INTERPRETER_H_

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "graph/ir/program.h"
#include "graph/schedule/schedule.h"

namespace partita {

// What a `combine` or `twin` node computes for output o from elements of its inputs: small whole numbers, so that sums
// in floats are exact, and different for every node.
float Combined(const std::string& node, int output, std::span<const float> inputs);

class Interpreter {
 public:
  // Arenas are born with garbage.
  Interpreter(const Program& program, std::vector<Schedule> schedules);

  // One step. False: the ranks hang.
  bool Step(uint64_t seed);

  std::vector<float> Read(int rank, int64_t offset, int64_t elements) const;
  void Write(int rank, int64_t offset, std::span<const float> values);

  // Called after every launch, before any other starts.
  std::function<void(int rank, int launch)> after;

 private:
  struct Run {
    std::vector<bool> done;
    std::vector<int> next;  // by stream: the launch at its head; launches.size(): none
  };

  bool Ready(int rank, int launch) const;
  int ReadyCollective(int rank) const;  // -1: none
  bool GroupReady(int rank, int launch);
  void Execute(int rank, int launch);
  void Finish(int rank, int launch);
  void RunKernel(int rank, const KernelLaunch& kernel);
  float CopiedElement(int rank, const KernelLaunch& kernel, int64_t element);
  void RunCopy(int rank, const CopyLaunch& copy);
  void RunCollective(const std::vector<const CollectiveLaunch*>& calls, const std::vector<int>& ranks);
  float* At(int rank, int64_t offset) { return reinterpret_cast<float*>(arenas_[rank].data() + offset); }

  const Program& program_;
  std::vector<Schedule> schedules_;
  std::vector<std::vector<unsigned char>> arenas_;
  std::vector<Run> runs_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_SCHEDULE_INTERPRETER_H_
