// The world of FakeCuda: what its functions share.
#ifndef PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_STATE_H_
#define PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_STATE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/device/cuda/cuda_error.h"
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
  std::vector<std::shared_ptr<void>> held;  // kept while the graph or a copy of it exists
  bool uses_priorities = false;             // of an instantiated one
  bool capturing = true;
  bool invalid = false;  // a call on a stream that it is captured from has failed
  int running = 0;       // launches of an instantiated one that have not ended
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
  bool replays = false;                // `run` performs the nodes of a graph
};

struct FakeStream {
  Graph* graph = nullptr;  // that it is captured into
  std::set<int> frontier;  // nodes that the next one comes after
  int priority = 0;
  int device = 0;
  std::deque<Work> queue;
  double free_at = 0;  // when the work is done that left the queue
  bool busy = false;   // with work that has left the queue
  bool idle() const { return queue.empty() && !busy; }
};

struct FakeEvent {
  Graph* graph = nullptr;      // of the latest record; null: outside of captures
  std::shared_ptr<Mark> mark;  // of that record; null: reached
  std::set<int> frontier;
  int device = 0;
  bool timed = true;
  bool recorded_by_graph = false;  // at its replays, which set `time`
  double time = 0;
};

inline constexpr int kPinned = -1, kUnknown = -2;

struct Allocation {
  int64_t bytes = 0;
  int owner = 0;  // the GPU's index, or kPinned
};

struct State {
  FakeCuda* fake = nullptr;
  int64_t countdown = 0;  // to the call that fails; 0: none does
  cudaError_t error = cudaSuccess;
  bool failed = false;
  bool dead() const { return failed && IsSticky(error); }
  std::set<std::pair<int, const void*>> loaded;  // functions, by GPU
  std::map<char*, Allocation> memory;
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<Graph*> graphs;
  std::map<Graph*, Graph*> executables;
  FakeStream default_stream;
  double clock = 0;
  uint64_t replays = 0;
  uint64_t last_node = 0;

  // With a thread of its own, `mutex` guards everything here.
  bool has_thread = false, ending = false;
  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
};

// Of the FakeCuda that lives now.
extern State* current;

// The GPU of the calling thread, and whether a host function runs on it.
extern thread_local int device_of_thread;
extern thread_local bool inside_host_function;

// The right to read and change the state until it goes out of scope; nothing where the fake has no thread.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  std::unique_lock<std::mutex>* const outer_;
};

// Of all bytes of the range: a GPU's index, kPinned, or kUnknown.
int OwnerOf(const void* data, int64_t bytes);
bool IsKnown(const void* data, size_t bytes);

// Outside of captures it is done now, or queued.
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> run, double lasts = 1);

// Does what streams have before them, in the order of the clock, until `done`; waits until the fake's thread has.
void RunUntil(const std::function<bool()>& done);
bool AllIdle();

// What the fake's thread does.
void DoWork();

// Does a piece of work, in whose time others have their turn.
void Perform(const std::function<void()>& run);

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

// What every function of the table does around its own: an error is kept for cudaGetLastError, and one of a call on a
// stream that is being captured makes the capture invalid, until it is ended.
cudaError_t Keep(cudaError_t error);
void Invalidate(cudaStream_t stream);

template <typename T>
bool IsInvalid(const T&) {
  return false;
}
inline bool IsInvalid(cudaStream_t stream) {
  return stream != nullptr && StreamOf(stream).graph != nullptr && StreamOf(stream).graph->invalid;
}
template <typename T>
void InvalidateAny(const T& argument) {
  if constexpr (std::is_same_v<T, cudaStream_t>) Invalidate(argument);
}

template <auto kFunction>
struct Called;
template <typename... P, cudaError_t (*kFunction)(P...)>
struct Called<kFunction> {
  static cudaError_t At(P... arguments) {
    const Turn turn;
    if ((IsInvalid(arguments) || ...)) return Keep(cudaErrorStreamCaptureInvalidated);
    const cudaError_t error = kFunction(arguments...);
    if (error != cudaSuccess && error != cudaErrorNotReady) (InvalidateAny(arguments), ...);
    return Keep(error);
  }
};
template <auto kFunction>
inline constexpr auto* Call = &Called<kFunction>::At;

// Streams and events; capture into graphs and their replay.
void FillStreamFunctions(CudaApi& api);
void FillGraphFunctions(CudaApi& api);

}  // namespace partita::fake_cuda

#endif  // PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_STATE_H_
