// cuBLASLt without a GPU: its functions as a table. Products are computed on the host's memory, at once or when a
// stream comes to them, and what the library refuses is refused (matmul_rules.h). Any call can be made to fail.
#ifndef PARTITA_TESTS_OPS_CUDA_CUBLASLT_FAKE_CUBLASLT_H_
#define PARTITA_TESTS_OPS_CUDA_CUBLASLT_FAKE_CUBLASLT_H_

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "ops/cuda/cublaslt/cublaslt_api.h"

namespace partita {

// One at a time: the functions of a table have no argument for it. The functions are thread-safe; a test reads and sets
// the members while no other thread calls them.
class FakeCublasLt {
 public:
  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;

  const CublasLtApi& api() const { return api_; }

  // Enqueues on `stream` what a call is to compute; empty: it is computed inside the call. Called without a lock.
  std::function<void(cudaStream_t stream, std::function<void()> run)> enqueue;
  // Whether the GPU reaches these bytes when the work comes to them; if not, nothing is computed, for `reaches` to say.
  // Empty: it reaches all. Called without a lock.
  std::function<bool(const void* data, int64_t bytes)> reaches;

  // Whether `stream` is being captured; then the capture is invalid from now on, since an algorithm that had never run
  // loaded its code. Empty: no stream is captured.
  std::function<bool(cudaStream_t stream)> breaks_capture;

  int fail_at = 0;  // the call that answers `error`, the first is 1; 0: none
  cublasStatus_t error = CUBLAS_STATUS_INTERNAL_ERROR;
  int calls = 0;                                   // that can fail
  int live = 0;                                    // handles and descriptors that were not given back
  int algorithms = 2;                              // that the heuristics name; the first one is unavailable
  bool algorithms_are_known = true;                // of those that were kept
  int searches = 0;                                // questions to the heuristics
  std::vector<uint32_t> alignments;                // asked for, of A
  std::vector<uint32_t> sums;                      // how parts of a sum may be added up, in each question
  std::vector<uint64_t> algorithms_run;            // by alignment
  std::vector<uint64_t> places_run;                // in the heuristics' list
  std::vector<cublasComputeType_t> compute_types;  // of products that were run
  bool unaligned = true;                           // operands off multiples of 16 bytes have algorithms
  bool epilogues = true;                           // are known to the heuristics
  bool masks = true;                               // and so are those with masks of a relu
  std::vector<cublasLtEpilogue_t> epilogues_run;
  std::vector<int32_t> batches_run;   // how many products a call computed
  std::vector<std::string> refusals;  // why calls were refused that broke a rule of the library

  // Of the table's functions.
  std::mutex mutex;
  std::set<const void*> handles, operations, matrices, preferences;  // that live
  std::set<std::string> loaded;                                      // algorithms that have run

 private:
  CublasLtApi api_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUBLASLT_FAKE_CUBLASLT_H_
