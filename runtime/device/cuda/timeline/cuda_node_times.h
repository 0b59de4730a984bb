// The times of the nodes of captured steps, from CUPTI, which adds no node to the graph.
//
// While a step is captured CUPTI calls back for each node that is added to its graph, and for the copy of each when the
// graph is instantiated; every activity record of a replay carries the number of such a copy (CUPTI's user guide,
// section on CUDA graphs). So a record leads to the tag under which its node was captured, whether our kernels,
// libraries or NCCL enqueued it.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_TIMELINE_CUDA_NODE_TIMES_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_TIMELINE_CUDA_NODE_TIMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/cuda/timeline/cupti_api.h"

namespace partita {

// Nanoseconds of CUPTI's clock: from the start of a tag's first node to the end of its last.
struct NodeTimes {
  uint64_t begin = 0, end = 0;
};

// Thread-compatible; CUPTI's own threads are dealt with. One at a time in a process, as CUPTI wants it.
class CudaNodeTimes {
 public:
  // Before the first capture. kUnavailable: another profiler is at work, or the user may not profile.
  // kFailedPrecondition: this process has one already.
  static absl::StatusOr<std::unique_ptr<CudaNodeTimes>> Start(const CuptiApi& api);
  ~CudaNodeTimes();
  CudaNodeTimes(const CudaNodeTimes&) = delete;

  // Nodes that are added to a graph from now on belong to this tag of this capture; between EndTag and BeginTag they
  // belong to none.
  void BeginTag(uint64_t capture, int32_t tag);
  void EndTag();
  // The capture's graphs are gone.
  void Forget(uint64_t capture);

  // Now, on the clock of the records.
  absl::StatusOr<uint64_t> Now();

  // Begins a replay that is to be timed: earlier records of the capture no longer count.
  void Expect(uint64_t capture);
  // After its work has ended: the times by tag, for tags with a record.
  absl::StatusOr<std::map<int32_t, NodeTimes>> Take(uint64_t capture);

 private:
  struct Owner {
    uint64_t capture = 0;
    int32_t tag = -1;
  };

  explicit CudaNodeTimes(const CuptiApi& api) : api_(api) {}
  absl::Status Subscribe();

  static void CUPTIAPI OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  static void CUPTIAPI OnBufferWanted(uint8_t** buffer, size_t* size, size_t* most_records);
  static void CUPTIAPI OnBufferFull(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

  void AddNode(CUgraphNode node);
  void CopyNode(CUgraphNode original, CUgraphNode copy);
  absl::StatusOr<uint64_t> IdOf(CUgraphNode node) const;
  void Read(uint8_t* buffer, size_t valid);
  void AddTimes(uint64_t node, uint64_t begin, uint64_t end);

  const CuptiApi& api_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;
  absl::Status failed_;                                               // the first error inside a callback
  Owner owner_;                                                       // of nodes that are added now
  std::unordered_map<uint64_t, Owner> owners_;                        // by node
  std::unordered_map<uint64_t, std::map<int32_t, NodeTimes>> times_;  // by capture
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_TIMELINE_CUDA_NODE_TIMES_H_
