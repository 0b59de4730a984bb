// cuBLASLt without a GPU: descriptors are kept, products are computed here and now on the host's memory, any call can
// be made to fail. As strict as the library: a workspace that does not lie on 256 bytes is refused, and what a mask of
// a relu has behind its rows is overwritten.
#ifndef PARTITA_TESTS_OPS_CUDA_CUBLASLT_FAKE_CUBLASLT_H_
#define PARTITA_TESTS_OPS_CUDA_CUBLASLT_FAKE_CUBLASLT_H_

#include <string>
#include <vector>

#include "ops/cuda/cublaslt/cublaslt_api.h"

namespace partita {

// One at a time: the functions of a table have no argument for it.
class FakeCublasLt {
 public:
  FakeCublasLt();
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;

  const CublasLtApi& api() const { return api_; }

  int fail_at = 0;  // the call that answers `error`, the first is 1; 0: none
  cublasStatus_t error = CUBLAS_STATUS_INTERNAL_ERROR;
  int calls = 0;                                   // that can fail
  int live = 0;                                    // handles and descriptors that were not given back
  int algorithms = 2;                              // that the heuristics name, the first of which is not to be had
  bool algorithms_are_known = true;                // of those that were kept
  int searches = 0;                                // questions to the heuristics
  std::vector<uint32_t> alignments;                // asked for, of A
  std::vector<uint32_t> sums;                      // how parts of a sum may be added up, in each question
  std::vector<uint64_t> algorithms_run;            // by alignment
  std::vector<uint64_t> places_run;                // in the heuristics' list
  std::vector<cublasComputeType_t> compute_types;  // of products that were run
  bool epilogues = true;                           // are known to the heuristics
  bool masks = true;                               // and so are those with masks of a relu
  std::vector<cublasLtEpilogue_t> epilogues_run;

 private:
  CublasLtApi api_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_CUBLASLT_FAKE_CUBLASLT_H_
