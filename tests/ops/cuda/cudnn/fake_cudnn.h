// cuDNN's graph without a GPU: its functions as a table. Plans of a convolution and what follows it are computed on the
// host's memory, at once or when a stream comes to them, and what the library refuses is refused (descriptor.h,
// graph_rules.h). Any call can be made to fail. Engines on tensor cores are named only for tensors that lie at
// multiples of 16 bytes.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_FAKE_CUDNN_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_FAKE_CUDNN_H_

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ops/cuda/cudnn/cudnn_api.h"

namespace partita {

// One at a time: the functions of a table have no argument for it. The functions are thread-safe; a test reads and sets
// the members while no other thread calls them.
class FakeCudnn {
 public:
  struct Engine {
    std::vector<cudnnBackendNumericalNote_t> notes = {};
    bool works = true;       // a plan of it can be finalized
    bool epilogues = true;   // of a graph with more than a convolution too
    bool capturable = true;  // a stream that is captured takes its work
    bool compiled = false;   // at run time: when its plan is destroyed its code goes, also from under captured graphs
    int64_t workspace = 256;
  };

  FakeCudnn();
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;

  const CudnnApi& api() const { return api_; }

  // Enqueues on `stream` what a call is to compute; empty: it is computed inside the call. Called without a lock.
  std::function<void(cudaStream_t stream, std::function<void()> run)> enqueue;
  // Whether the GPU reaches these bytes when the work comes to them; if not, nothing is computed, for `reaches` to say.
  // Empty: it reaches all. Called without a lock.
  std::function<bool(const void* data, int64_t bytes)> reaches;
  // Whether `stream` is being captured; then the capture is invalid from now on, since an engine that is not
  // `capturable` made a call that a capture forbids, or one that had never run loaded its code. Empty: no stream is
  // captured.
  std::function<bool(cudaStream_t stream)> breaks_capture;

  std::vector<Engine> engines = {{}};   // of heuristics modes A and B
  std::vector<Engine> fallback = {{}};  // of the fallback mode; numbered after those
  int fail_at = 0;                      // the call that answers `error`, the first is 1; 0: none
  cudnnStatus_t error = CUDNN_STATUS_INTERNAL_ERROR;
  int calls = 0;  // that can fail
  int live = 0;   // handles and descriptors that were not given back
  int handles_made = 0;
  int plans_made = 0;                     // from configurations
  std::vector<std::string> descriptions;  // of the GPUs by which heuristics and plans were asked in place of a handle
  std::vector<int> engines_run;
  std::vector<int> operations_run;    // how many the graph had, of the same executions
  bool text_is_known = true;          // a plan's text is taken
  std::vector<std::string> refusals;  // why calls were refused that broke a rule of the library

  // Of the table's functions.
  std::mutex mutex;
  struct Stream {
    cudaStream_t stream = nullptr;
    std::thread::id set_by = {};
  };
  std::map<cudnnHandle_t, Stream> streams;         // by handle that lives
  std::set<cudnnBackendDescriptor_t> descriptors;  // that live
  std::set<std::string> loaded;                    // texts of plans that have run

 private:
  CudnnApi api_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_FAKE_CUDNN_H_
