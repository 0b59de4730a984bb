// The world of FakeCuda: what its functions share.
#ifndef PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_STATE_H_
#define PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_STATE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita::fake_cuda {

struct Graph {
  struct Node {
    std::set<int> after;
    std::function<void()> run;
    uint64_t id = 0;
    int priority = 0;  // of the stream that it was captured on
  };
  std::vector<Node> nodes;
  std::vector<std::shared_ptr<void>> held;  // for as long as the graph, or a copy of it, lives
  bool uses_priorities = false;             // of an instantiated one
  bool capturing = true;
};

// A record of an event outside of captures.
struct Mark {
  bool reached = false;
  double at = 0;
};

// What a stream has before it, unless work is done at once.
struct Work {
  std::function<void()> run;
  double lasts = 0;
  std::shared_ptr<Mark> waits, marks;  // comes after the one, and reaches the other
};

struct FakeStream {
  Graph* graph = nullptr;  // that it is captured into
  std::set<int> frontier;  // nodes that the next one comes after
  int priority = 0;
  std::deque<Work> queue;
  double free_at = 0;  // when the work is done that left the queue
};

struct FakeEvent {
  Graph* graph = nullptr;      // of the latest record; null: outside of captures
  std::shared_ptr<Mark> mark;  // of that record; null: reached
  std::set<int> frontier;
  double time = 0;
};

struct State {
  FakeCuda* fake = nullptr;
  int64_t countdown = 0;  // to the call that fails; 0: none does
  cudaError_t error = cudaSuccess;
  bool failed = false;
  std::map<void*, int64_t> memory;  // device allocations
  std::set<void*> host_memory;
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<Graph*> graphs;
  std::map<Graph*, Graph*> executables;
  FakeStream default_stream;
  double clock = 0;
  uint64_t replays = 0;
  uint64_t last_node = 0;
};

// Of the FakeCuda that lives now.
extern State* current;

// Outside of captures it is done now, or queued.
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> run, double lasts = 1);

// Does what streams have before them, in the order of the clock, until `done`.
void RunUntil(const std::function<bool()>& done);

// What the call is to return before it does anything.
cudaError_t Enter(const char* name);

#define ENTER(name)                                                      \
  if (const cudaError_t entered = Enter(name); entered != cudaSuccess) { \
    return entered;                                                      \
  }

inline FakeStream& StreamOf(cudaStream_t stream) {
  return stream == nullptr ? current->default_stream : *reinterpret_cast<FakeStream*>(stream);
}
inline FakeEvent& EventOf(cudaEvent_t event) { return *reinterpret_cast<FakeEvent*>(event); }

// Capture into graphs and their replay.
void FillGraphFunctions(CudaApi& api);

}  // namespace partita::fake_cuda

#endif  // PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_STATE_H_
