#include "tests/runtime/device/cuda/timeline/fake_cupti.h"

#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace partita {
namespace {

FakeCupti* current = nullptr;

CUgraphNode HandleOf(uint64_t node) { return reinterpret_cast<CUgraphNode>(node); }

size_t BytesOf(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    default:
      return sizeof(CUpti_ActivityMemset4);
  }
}

template <typename Activity>
size_t Write(CUpti_ActivityKind kind, const FakeCupti::Record& record, uint8_t* to) {
  Activity activity = {};
  activity.kind = kind;
  activity.graphNodeId = record.node;
  activity.start = record.begin;
  activity.end = record.end;
  std::memcpy(to, &activity, sizeof(activity));
  return sizeof(activity);
}

size_t Write(const FakeCupti::Record& record, uint8_t* to) {
  switch (record.node % 3) {
    case 0:
      return Write<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record, to);
    case 1:
      return Write<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, record, to);
    default:
      return Write<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, record, to);
  }
}

}  // namespace

struct FakeCuptiFunctions {
  static CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* argument) {
    if (const CUptiResult error = current->Enter(); error != CUPTI_SUCCESS) return error;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(current);
    current->callback_ = callback;
    current->argument_ = argument;
    return CUPTI_SUCCESS;
  }

  static CUptiResult Unsubscribe(CUpti_SubscriberHandle) {
    current->callback_ = nullptr;
    return CUPTI_SUCCESS;
  }

  static CUptiResult EnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
    return current->Enter();
  }

  static CUptiResult RegisterCallbacks(CUpti_BuffersCallbackRequestFunc wanted,
                                       CUpti_BuffersCallbackCompleteFunc full) {
    if (const CUptiResult error = current->Enter(); error != CUPTI_SUCCESS) return error;
    current->wanted_ = wanted;
    current->full_ = full;
    return CUPTI_SUCCESS;
  }

  static CUptiResult Enable(CUpti_ActivityKind kind) {
    if (const CUptiResult error = current->Enter(); error != CUPTI_SUCCESS) return error;
    current->enabled.insert(kind);
    return CUPTI_SUCCESS;
  }

  static CUptiResult Disable(CUpti_ActivityKind kind) {
    current->enabled.erase(kind);
    return CUPTI_SUCCESS;
  }

  // All records in one buffer.
  static CUptiResult FlushAll(uint32_t) {
    if (const CUptiResult error = current->Enter(); error != CUPTI_SUCCESS) return error;
    const std::vector<FakeCupti::Record> records = std::exchange(current->records_, {});
    if (records.empty() || current->wanted_ == nullptr) return CUPTI_SUCCESS;
    uint8_t* buffer = nullptr;
    size_t size = 0, most = 0, used = 0;
    current->wanted_(&buffer, &size, &most);
    CHECK(buffer != nullptr && size >= records.size() * sizeof(CUpti_ActivityKernel10));
    for (const FakeCupti::Record& record : records) used += Write(record, buffer + used);
    current->full_(nullptr, 0, buffer, size, used);
    return CUPTI_SUCCESS;
  }

  static CUptiResult GetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
    uint8_t* const last = reinterpret_cast<uint8_t*>(*record);
    uint8_t* const next = last == nullptr ? buffer : last + BytesOf(**record);
    if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
  }

  static CUptiResult GetGraphNodeId(CUgraphNode node, uint64_t* id) {
    if (const CUptiResult error = current->Enter(); error != CUPTI_SUCCESS) return error;
    *id = reinterpret_cast<uint64_t>(node);
    return CUPTI_SUCCESS;
  }

  static CUptiResult GetTimestamp(uint64_t* now) {
    if (const CUptiResult error = current->Enter(); error != CUPTI_SUCCESS) return error;
    *now = static_cast<uint64_t>(current->cuda_.now() * 1000);
    return CUPTI_SUCCESS;
  }

  static CUptiResult GetResultString(CUptiResult, const char** text) {
    *text = "a fake error";
    return CUPTI_SUCCESS;
  }
};

FakeCupti::FakeCupti(FakeCuda& cuda) : cuda_(cuda) {
  CHECK(current == nullptr);
  current = this;
  api_.cuptiActivityDisable = FakeCuptiFunctions::Disable;
  api_.cuptiActivityEnable = FakeCuptiFunctions::Enable;
  api_.cuptiActivityFlushAll = FakeCuptiFunctions::FlushAll;
  api_.cuptiActivityGetNextRecord = FakeCuptiFunctions::GetNextRecord;
  api_.cuptiActivityRegisterCallbacks = FakeCuptiFunctions::RegisterCallbacks;
  api_.cuptiEnableCallback = FakeCuptiFunctions::EnableCallback;
  api_.cuptiGetGraphNodeId = FakeCuptiFunctions::GetGraphNodeId;
  api_.cuptiGetResultString = FakeCuptiFunctions::GetResultString;
  api_.cuptiGetTimestamp = FakeCuptiFunctions::GetTimestamp;
  api_.cuptiSubscribe = FakeCuptiFunctions::Subscribe;
  api_.cuptiUnsubscribe = FakeCuptiFunctions::Unsubscribe;
  cuda.on_node_added = [this](uint64_t node) { Call(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 0, node); };
  cuda.on_node_copied = [this](uint64_t original, uint64_t copy) {
    Call(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, original, copy);
  };
  cuda.on_node_run = [this](uint64_t node, double begin, double end) {
    if (enabled.empty()) return;
    records_.push_back({node, static_cast<uint64_t>(begin * 1000), static_cast<uint64_t>(end * 1000)});
  };
}

FakeCupti::~FakeCupti() {
  cuda_.on_node_added = nullptr;
  cuda_.on_node_copied = nullptr;
  cuda_.on_node_run = nullptr;
  current = nullptr;
}

void FakeCupti::FailAt(int64_t call, CUptiResult error) {
  countdown_ = call;
  error_ = error;
  failed_ = false;
}

CUptiResult FakeCupti::Enter() {
  if (countdown_ == 0 || --countdown_ != 0) return CUPTI_SUCCESS;
  failed_ = true;
  return error_;
}

void FakeCupti::Call(CUpti_CallbackId id, uint64_t original, uint64_t node) {
  if (callback_ == nullptr) return;
  CUpti_GraphData graph = {};
  graph.node = HandleOf(node);
  graph.originalNode = HandleOf(original);
  CUpti_ResourceData data = {};
  data.resourceDescriptor = &graph;
  callback_(argument_, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

}  // namespace partita
