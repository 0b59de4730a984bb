// cuDNN's graph without a GPU: descriptors keep what is set, a plan of a convolution and what follows it computes here
// and now on the host's memory what its descriptors say, any call can be made to fail. Engines on tensor cores are
// named only for tensors that lie at multiples of 16 bytes.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_FAKE_CUDNN_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_FAKE_CUDNN_H_

#include <string>
#include <vector>

#include "ops/cuda/cudnn/cudnn_api.h"

namespace partita {

// One at a time: the functions of a table have no argument for it.
class FakeCudnn {
 public:
  struct Engine {
    std::vector<cudnnBackendNumericalNote_t> notes = {};
    bool works = true;      // a plan of it can be finalized
    bool epilogues = true;  // of a graph with more than a convolution too
    int64_t workspace = 256;
  };

  FakeCudnn();
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;

  const CudnnApi& api() const { return api_; }

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
  std::vector<int> operations_run;  // how many the graph had, of the same executions
  bool text_is_known = true;        // a plan's text is taken

 private:
  CudnnApi api_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_FAKE_CUDNN_H_
