#include "runtime/device/cuda/timeline/cuda_node_times.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_CallbackId kCallbacks[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr std::align_val_t kBufferAlignment{8};

// CUPTI's buffer callbacks have no argument for it.
std::atomic<CudaNodeTimes*> the_one{nullptr};

void FreeBuffer(uint8_t* buffer) { ::operator delete(buffer, kBufferAlignment); }

}  // namespace

absl::StatusOr<std::unique_ptr<CudaNodeTimes>> CudaNodeTimes::Start(const CuptiApi& api) {
  std::unique_ptr<CudaNodeTimes> times(new CudaNodeTimes(api));
  CudaNodeTimes* none = nullptr;
  if (!the_one.compare_exchange_strong(none, times.get())) {
    return absl::FailedPreconditionError("CUPTI is in use by another device of this process");
  }
  RETURN_IF_ERROR(times->Subscribe());
  return times;
}

absl::Status CudaNodeTimes::Subscribe() {
  RETURN_IF_CUPTI_ERROR(api_, cuptiSubscribe, &subscriber_, &CudaNodeTimes::OnCallback, this);
  for (const CUpti_CallbackId callback : kCallbacks) {
    RETURN_IF_CUPTI_ERROR(api_, cuptiEnableCallback, 1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, callback);
  }
  RETURN_IF_CUPTI_ERROR(api_, cuptiActivityRegisterCallbacks, &OnBufferWanted, &OnBufferFull);
  for (const CUpti_ActivityKind kind : kKinds) RETURN_IF_CUPTI_ERROR(api_, cuptiActivityEnable, kind);
  return absl::OkStatus();
}

CudaNodeTimes::~CudaNodeTimes() {
  CudaNodeTimes* self = this;
  if (!the_one.compare_exchange_strong(self, nullptr)) return;  // Start refused
  if (subscriber_ == nullptr) return;
  for (const CUpti_ActivityKind kind : kKinds) api_.cuptiActivityDisable(kind);
  api_.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  api_.cuptiUnsubscribe(subscriber_);
}

void CudaNodeTimes::BeginTag(uint64_t capture, int32_t tag) {
  const std::lock_guard lock(mutex_);
  owner_ = {capture, tag};
}

void CudaNodeTimes::EndTag() {
  const std::lock_guard lock(mutex_);
  owner_ = {};
}

void CudaNodeTimes::Forget(uint64_t capture) {
  const std::lock_guard lock(mutex_);
  std::erase_if(owners_, [capture](const auto& node) { return node.second.capture == capture; });
  times_.erase(capture);
}

absl::StatusOr<uint64_t> CudaNodeTimes::Now() {
  uint64_t now = 0;
  RETURN_IF_CUPTI_ERROR(api_, cuptiGetTimestamp, &now);
  return now;
}

void CudaNodeTimes::Expect(uint64_t capture) {
  const std::lock_guard lock(mutex_);
  times_[capture].clear();
}

absl::StatusOr<std::map<int32_t, NodeTimes>> CudaNodeTimes::Take(uint64_t capture) {
  RETURN_IF_CUPTI_ERROR(api_, cuptiActivityFlushAll, 0);  // ends in OnBufferFull
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(failed_);
  return std::exchange(times_[capture], {});
}

void CudaNodeTimes::OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
  const auto& graph =
      *static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
  auto& times = *static_cast<CudaNodeTimes*>(self);
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) times.AddNode(graph.node);
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) times.CopyNode(graph.originalNode, graph.node);
}

absl::StatusOr<uint64_t> CudaNodeTimes::IdOf(CUgraphNode node) const {
  uint64_t id = 0;
  RETURN_IF_CUPTI_ERROR(api_, cuptiGetGraphNodeId, node, &id);
  return id;
}

void CudaNodeTimes::AddNode(CUgraphNode node) {
  const absl::StatusOr<uint64_t> id = IdOf(node);
  const std::lock_guard lock(mutex_);
  failed_.Update(id.status());
  if (id.ok() && owner_.tag >= 0) owners_[*id] = owner_;
}

void CudaNodeTimes::CopyNode(CUgraphNode original, CUgraphNode copy) {
  const absl::StatusOr<uint64_t> from = IdOf(original), to = IdOf(copy);
  const std::lock_guard lock(mutex_);
  failed_.Update(from.status());
  failed_.Update(to.status());
  if (!from.ok() || !to.ok()) return;
  if (const auto owner = owners_.find(*from); owner != owners_.end()) owners_[*to] = Owner(owner->second);
}

void CudaNodeTimes::OnBufferWanted(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(::operator new(kBufferBytes, kBufferAlignment, std::nothrow));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void CudaNodeTimes::OnBufferFull(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  if (CudaNodeTimes* const times = the_one.load(); times != nullptr) times->Read(buffer, valid);
  FreeBuffer(buffer);
}

void CudaNodeTimes::Read(uint8_t* buffer, size_t valid) {
  const std::lock_guard lock(mutex_);
  CUpti_Activity* record = nullptr;
  while (api_.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      AddTimes(kernel.graphNodeId, kernel.start, kernel.end);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto& copy = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
      AddTimes(copy.graphNodeId, copy.start, copy.end);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& zeros = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      AddTimes(zeros.graphNodeId, zeros.start, zeros.end);
    }
  }
}

void CudaNodeTimes::AddTimes(uint64_t node, uint64_t begin, uint64_t end) {
  const auto owner = owners_.find(node);
  if (owner == owners_.end()) return;
  const auto [at, first] = times_[owner->second.capture].try_emplace(owner->second.tag, NodeTimes{begin, end});
  if (first) return;
  at->second.begin = std::min(at->second.begin, begin);
  at->second.end = std::max(at->second.end, end);
}

}  // namespace partita
