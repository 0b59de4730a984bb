// CUPTI for the graphs of a FakeCuda: calls back for nodes that are added and copied, and keeps a record for each that
// ran, of one of the three kinds in turn. A time of the fake CUDA is a microsecond. Any call can be made to fail.
#ifndef PARTITA_TESTS_RUNTIME_DEVICE_CUDA_TIMELINE_FAKE_CUPTI_H_
#define PARTITA_TESTS_RUNTIME_DEVICE_CUDA_TIMELINE_FAKE_CUPTI_H_

#include <cstdint>
#include <set>
#include <vector>

#include "runtime/device/cuda/timeline/cupti_api.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {

// One at a time, within the life of the FakeCuda. Not thread-safe.
class FakeCupti {
 public:
  explicit FakeCupti(FakeCuda& cuda);
  ~FakeCupti();
  FakeCupti(const FakeCupti&) = delete;

  const CuptiApi& api() const { return api_; }

  // The `call`-th call from now on returns `error`.
  void FailAt(int64_t call, CUptiResult error);
  bool failed() const { return failed_; }

  bool subscribed() const { return callback_ != nullptr; }
  std::set<CUpti_ActivityKind> enabled;

  struct Record {
    uint64_t node = 0, begin = 0, end = 0;
  };

 private:
  friend struct FakeCuptiFunctions;

  CUptiResult Enter();
  void Call(CUpti_CallbackId id, uint64_t original, uint64_t node);

  FakeCuda& cuda_;
  CuptiApi api_;
  CUpti_CallbackFunc callback_ = nullptr;
  void* argument_ = nullptr;
  CUpti_BuffersCallbackRequestFunc wanted_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc full_ = nullptr;
  std::vector<Record> records_;
  int64_t countdown_ = 0;
  CUptiResult error_ = CUPTI_SUCCESS;
  bool failed_ = false;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_DEVICE_CUDA_TIMELINE_FAKE_CUPTI_H_
