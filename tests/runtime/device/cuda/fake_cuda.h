// The CUDA runtime without a GPU: the functions of CudaApi on the host's memory, one after the other.
//
// Outside of captures work is done when it is enqueued, or as late as a GPU does it (`at_once`). A capture becomes a
// graph of nodes with the dependencies that streams and events give; a replay runs the nodes in a random order that
// these allow, so that a missing wait shows. A capture that forgets to join a stream is refused, as CUDA refuses it.
// Any call can be made to fail.
#ifndef PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_H_
#define PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cuda/cuda_api.h"

namespace partita {

namespace fake_cuda {
struct State;
}

// One at a time: the functions of a table have no argument for it. Not thread-safe without a thread of its own.
class FakeCuda {
 public:
  // What a launch does: reads the arguments now, and returns what is done when the kernel runs.
  using Kernel = std::function<std::function<void()>(dim3 grid, dim3 block, void** arguments)>;

  FakeCuda();
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;

  const CudaApi& api() const { return api_; }

  int devices = 1;
  std::string model = "Fake GPU";
  int driver = CUDART_VERSION;
  int64_t memory = int64_t{1} << 30;
  bool has_code = true;  // for the fake GPU
  bool lazy = false;     // a function that is neither loaded nor was launched before cannot be captured
  uint64_t seed = 1;     // of the order of nodes

  // False: work runs when a caller waits for it. Streams then run concurrently on the fake's clock, on which a delay
  // kernel takes its microseconds and other work one, and only the awaited work and what precedes it runs. All host
  // functions run on the waiting thread: one that waits for another's hangs, as it may in CUDA.
  bool at_once = true;

  // From now on a thread of the fake does the work, like a GPU, while the callers continue; any thread may call. The
  // fake refuses what the driver refuses: above all, a copy in a capture from or to memory that is not registered.
  // Registering comes before.
  void StartThread();

  // The GPU is lost: work that has not begun is dropped, and all calls return `error`, which is sticky. `why` goes to
  // standard error.
  static void Fault(cudaError_t error, const std::string& why);

  // Launches of `function` do `kernel`; others fail, and so does one for which it returns nothing. The strided copy is
  // there from the beginning.
  void Register(const void* function, Kernel kernel) { kernels[function] = std::move(kernel); }

  // The `call`-th call from now on (1: the next) returns `error`; a sticky one is returned by all later calls too.
  // What frees or destroys does so all the same.
  void FailAt(int64_t call, cudaError_t error);
  bool failed() const;  // that call came

  // Work of a library that enqueues by itself: `run` is done as a kernel is. A graph that it is captured into, and what
  // is instantiated from that, keep `held` until they are destroyed.
  static void Enqueue(cudaStream_t stream, std::function<void()> run, std::shared_ptr<void> held);

  static bool IsCaptured(cudaStream_t stream);
  // What a library does that cannot be captured: true if the stream was.
  static bool BreakCapture(cudaStream_t stream);
  static int CurrentDevice();  // of the calling thread

  // Whether `data` is in an allocation of a device, or of pinned memory of the host.
  bool on_device(const void* data) const;
  bool pinned(const void* data) const;
  // The GPU that has all these bytes; less than 0: none.
  static int OwnerOf(const void* data, int64_t bytes);

  // Of the nodes of the latest replay, by node: the priority of the stream that each was captured on or, where the
  // graph was not instantiated to use those, of the one that it was launched on.
  std::vector<int> priorities;

  // Events for a profiler: a node was added to a graph, was copied with its graph, ran. `begin` and `end` are on the
  // clock of `now`.
  std::function<void(uint64_t node)> on_node_added;
  std::function<void(uint64_t original, uint64_t copy)> on_node_copied;
  std::function<void(uint64_t node, double begin, double end)> on_node_run;
  double now() const;  // one more for each piece of work

  // Calls so far that can fail, by name, in order.
  std::vector<std::string> calls;

  // Memory, streams, events and graphs that were not given back.
  int64_t live() const;

  std::map<const void*, Kernel> kernels;

 private:
  CudaApi api_;
  std::unique_ptr<fake_cuda::State> state_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_DEVICE_CUDA_FAKE_CUDA_H_
