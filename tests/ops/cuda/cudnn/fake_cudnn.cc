#include "tests/ops/cuda/cudnn/fake_cudnn.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/check.h"
#include "tests/ops/cuda/cudnn/descriptor.h"
#include "tests/ops/cuda/cudnn/graph_rules.h"
#include "tests/ops/cuda/cudnn/plan_work.h"

namespace partita {
namespace {

using fake_cudnn::Descriptor;
using fake_cudnn::Graph;
using fake_cudnn::PlanWork;
using fake_cudnn::Tensor;
using fake_cudnn::Verdict;

constexpr const char* kError = "a fake's error";

FakeCudnn* fake = nullptr;

// What the latest error on this thread is called: a refusal says why.
thread_local std::string latest_error = kError;

// A part that was set stays what it was when its own descriptor is destroyed.
using Shared = std::shared_ptr<Descriptor>;

Shared& Of(cudnnBackendDescriptor_t raw) { return *static_cast<Shared*>(raw); }

cudnnStatus_t Refuse(cudnnStatus_t status, const std::string& why) {
  fake->refusals.push_back(why);
  latest_error = (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ? "not supported: " : "refused: ") + why;
  return status;
}
cudnnStatus_t Refuse(const Verdict& verdict) { return Refuse(verdict.status, verdict.why); }

// With the lock held.
cudnnStatus_t Call() {
  if (++fake->calls != fake->fail_at) return CUDNN_STATUS_SUCCESS;
  latest_error = kError;
  return fake->error;
}

// Not a word in `refusals`: what this GPU has no engine for, as a test wants it.
cudnnStatus_t NoEngine() {
  latest_error = kError;
  return CUDNN_STATUS_NOT_SUPPORTED;
}

#define ENTER()                                        \
  const std::lock_guard<std::mutex> lock(fake->mutex); \
  if (const cudnnStatus_t entered = Call(); entered != CUDNN_STATUS_SUCCESS) return entered

#define FIND(raw)                                                                           \
  if (fake->descriptors.count(raw) == 0) {                                                  \
    return Refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor does not exist, or was destroyed"); \
  }

FakeCudnn::Engine EngineOf(int index) {
  const int first = static_cast<int>(fake->engines.size());
  return index < first ? fake->engines[index] : fake->fallback[index - first];
}

bool IsEngine(int index) {
  return index >= 0 && index < static_cast<int>(fake->engines.size() + fake->fallback.size());
}

cudnnStatus_t Create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  ENTER();
  *out = new Shared(new Descriptor{type});
  fake->descriptors.insert(*out);
  ++fake->live;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Destroy(cudnnBackendDescriptor_t raw) {
  const std::lock_guard<std::mutex> lock(fake->mutex);
  FIND(raw);
  fake->descriptors.erase(raw);
  delete &Of(raw);
  --fake->live;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Set(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  int64_t count, const void* values) {
  ENTER();
  FIND(raw);
  Descriptor& descriptor = *Of(raw);
  if (descriptor.final) return Refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of a final descriptor is set");
  if (const Verdict verdict = fake_cudnn::CheckAttribute(descriptor.type, name, type, count); !verdict.ok())
    return Refuse(verdict);
  if (values == nullptr) return Refuse(CUDNN_STATUS_BAD_PARAM, "an attribute has no value");
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    descriptor.bytes[name] =
        std::string(static_cast<const char*>(values), static_cast<size_t>(count) * fake_cudnn::SizeOfType(type));
    return CUDNN_STATUS_SUCCESS;
  }
  std::vector<std::shared_ptr<const Descriptor>> parts;
  for (int64_t i = 0; i < count; ++i) {
    const cudnnBackendDescriptor_t part = static_cast<const cudnnBackendDescriptor_t*>(values)[i];
    FIND(part);
    parts.push_back(Of(part));
  }
  if (!parts.empty()) descriptor.parts[name] = std::move(parts);
  return CUDNN_STATUS_SUCCESS;
}

// Whether a tensor of the graph may lie at another address than a multiple of 16 bytes.
bool MayLieAnywhere(const Graph& graph) {
  return std::ranges::any_of(graph.tensors, [](const Tensor& tensor) { return tensor.alignment % 16 != 0; });
}

// The engines that the heuristics name: for a tensor that may lie anywhere none that uses tensor cores, like the
// library.
std::vector<int> Named(const Descriptor& heuristics) {
  const auto mode = heuristics.One(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  const bool fallback = mode == CUDNN_HEUR_MODE_FALLBACK;
  const int first = fallback ? static_cast<int>(fake->engines.size()) : 0;
  const int count = static_cast<int>(fallback ? fake->fallback.size() : fake->engines.size());
  const bool anywhere = MayLieAnywhere(*heuristics.graph);
  std::vector<int> named;
  for (int engine = first; engine < first + count; ++engine) {
    const auto notes = EngineOf(engine).notes;
    if (!anywhere || std::ranges::count(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) == 0) named.push_back(engine);
  }
  return named;
}

cudnnStatus_t FinalizeGraph(Descriptor& descriptor) {
  const auto& operations = descriptor.parts.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  auto graph = std::make_shared<Graph>();
  if (const Verdict verdict = GraphOf(operations, graph.get()); !verdict.ok()) return Refuse(verdict);
  if (const Verdict verdict = CheckSupported(*graph, operations); !verdict.ok()) return Refuse(verdict);
  descriptor.graph = std::move(graph);
  return CUDNN_STATUS_SUCCESS;
}

// Of heuristics and plans: what `name` is made from is final, and keeps its graph and engine.
cudnnStatus_t Inherit(Descriptor& descriptor, int name) {
  const Descriptor& part = descriptor.Part(name);
  if (!part.final || part.graph == nullptr) return Refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a part is not final");
  descriptor.graph = part.graph;
  descriptor.engine = part.engine;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t FinalizePlan(Descriptor& descriptor) {
  descriptor.code = std::make_shared<const int>(0);
  if (descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
    auto graph = std::make_shared<Graph>();
    const std::string& text = descriptor.bytes[CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION];
    const bool known = fake->text_is_known && fake_cudnn::Read(text, &descriptor.engine, graph.get());
    if (!known || !IsEngine(descriptor.engine)) return NoEngine();
    descriptor.graph = std::move(graph);
    return CUDNN_STATUS_SUCCESS;
  }
  const cudnnStatus_t status = Inherit(descriptor, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  ++fake->plans_made;
  const FakeCudnn::Engine engine = EngineOf(descriptor.engine);
  const bool takes = engine.works && (engine.epilogues || descriptor.graph->steps.size() == 1);
  return takes ? CUDNN_STATUS_SUCCESS : NoEngine();
}

cudnnStatus_t CheckTarget(const Descriptor& descriptor, int handle, int description) {
  if (descriptor.has(handle) && fake->streams.count(descriptor.One<cudnnHandle_t>(handle, nullptr)) == 0) {
    return Refuse(CUDNN_STATUS_BAD_PARAM, "the handle does not exist, or was destroyed");
  }
  if (!descriptor.has(description)) return CUDNN_STATUS_SUCCESS;
  const Descriptor& gpu = descriptor.Part(description);
  if (!gpu.final) return Refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a GPU's description is not final");
  fake->descriptions.push_back(gpu.bytes.at(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Complete(Descriptor& descriptor) {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (descriptor.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      status = CheckTarget(descriptor, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, -1);
      return status == CUDNN_STATUS_SUCCESS ? FinalizeGraph(descriptor) : status;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      status = CheckTarget(descriptor, -1, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
      return status == CUDNN_STATUS_SUCCESS ? Inherit(descriptor, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) : status;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      status = CheckTarget(descriptor, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
      return status == CUDNN_STATUS_SUCCESS ? FinalizePlan(descriptor) : status;
    default:
      return status;
  }
}

cudnnStatus_t Finalize(cudnnBackendDescriptor_t raw) {
  ENTER();
  FIND(raw);
  Descriptor& descriptor = *Of(raw);
  if (descriptor.final) return Refuse(CUDNN_STATUS_BAD_PARAM, "a final descriptor is finalized");
  if (const Verdict verdict = CheckFinal(descriptor); !verdict.ok()) return Refuse(verdict);
  const cudnnStatus_t status = Complete(descriptor);
  descriptor.final = status == CUDNN_STATUS_SUCCESS;
  return status;
}

// Makes `parts`, which the caller created, what the library says they are.
cudnnStatus_t Fill(cudnnBackendDescriptor_t part, const Descriptor& from, int engine) {
  FIND(part);
  Of(part)->graph = from.graph;
  Of(part)->engine = engine;
  Of(part)->final = true;
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
cudnnStatus_t Answer(const std::vector<T>& all, int64_t count, int64_t* found, void* values) {
  *found = static_cast<int64_t>(all.size());
  std::copy_n(all.begin(), std::min(*found, count), static_cast<T*>(values));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Get(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                  int64_t count, int64_t* found, void* values) {
  ENTER();
  FIND(raw);
  const Descriptor& descriptor = *Of(raw);
  if (!descriptor.final) return Refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor is read that is not final");
  auto* const parts = static_cast<cudnnBackendDescriptor_t*>(values);
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const std::vector<int> named = Named(descriptor);
      *found = static_cast<int64_t>(named.size());
      for (int64_t i = 0; i < std::min(*found, count); ++i) {
        const cudnnStatus_t status = Fill(parts[i], descriptor, named[i]);
        if (status != CUDNN_STATUS_SUCCESS) return status;
      }
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE:
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      *found = 1;
      return Fill(parts[0], descriptor, descriptor.engine);
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      *found = 0;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return Answer<int64_t>({descriptor.engine}, count, found, values);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return Answer(EngineOf(descriptor.engine).notes, count, found, values);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return Answer<int64_t>({EngineOf(descriptor.engine).workspace}, count, found, values);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION: {
      const std::string text = fake_cudnn::Write(descriptor.engine, *descriptor.graph);
      return Answer(std::vector<char>(text.begin(), text.end()), count, found, values);
    }
    default:
      return Refuse(CUDNN_STATUS_BAD_PARAM, "an attribute that cannot be read");
  }
}

cudnnStatus_t ReadWork(cudnnHandle_t handle, cudnnBackendDescriptor_t raw_plan, cudnnBackendDescriptor_t raw_pack,
                       PlanWork* work, cudaStream_t* stream) {
  ENTER();
  const auto found = fake->streams.find(handle);
  if (found == fake->streams.end()) {
    return Refuse(CUDNN_STATUS_BAD_PARAM, "the handle does not exist, or was destroyed");
  }
  // The library would take it, and may enqueue on the other thread's stream: a handle is for one thread at a time.
  if (found->second.set_by != std::thread::id() && found->second.set_by != std::this_thread::get_id()) {
    return Refuse(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "the stream of the handle was set by another thread");
  }
  FIND(raw_plan);
  FIND(raw_pack);
  const Descriptor &plan = *Of(raw_plan), &pack = *Of(raw_pack);
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return Refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "no plan, or no pack, is executed");
  }
  if (!plan.final || !pack.final) return Refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan or a pack is not final");
  if (plan.One<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, nullptr) != handle) {
    return Refuse(CUDNN_STATUS_BAD_PARAM, "the plan is for another handle, or for a description");
  }
  const FakeCudnn::Engine engine = EngineOf(plan.engine);
  *stream = found->second.stream;
  work->graph = plan.graph;
  if (engine.compiled) work->code = plan.code;
  work->workspace_bytes = engine.workspace;
  work->workspace = pack.One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (engine.workspace > 0 && work->workspace == nullptr) {
    return Refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the workspace lies nowhere");
  }
  if (const Verdict verdict = FindData(pack, *plan.graph, &work->data); !verdict.ok()) return Refuse(verdict);
  if (!engine.capturable && fake->breaks_capture && fake->breaks_capture(*stream)) {
    return Refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the engine cannot be captured");
  }
  const bool first = fake->loaded.insert(fake_cudnn::Write(plan.engine, *plan.graph)).second;
  if (first && fake->breaks_capture && fake->breaks_capture(*stream)) {
    return Refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "an engine loads its code in a capture");
  }
  fake->engines_run.push_back(plan.engine);
  fake->operations_run.push_back(static_cast<int>(plan.graph->steps.size()));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  PlanWork work;
  cudaStream_t stream = nullptr;
  const cudnnStatus_t status = ReadWork(handle, plan, pack, &work, &stream);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const auto run = [work] {
    const std::string fault = work.Run(fake->reaches);
    if (fault.empty()) return;
    const std::lock_guard<std::mutex> lock(fake->mutex);
    fake->refusals.push_back(fault);
  };
  if (fake->enqueue) {
    fake->enqueue(stream, run);
  } else {
    run();
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CreateHandle(cudnnHandle_t* handle) {
  ENTER();
  ++fake->live;
  ++fake->handles_made;
  *handle = reinterpret_cast<cudnnHandle_t>(new char());
  fake->streams[*handle] = {};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t DestroyHandle(cudnnHandle_t handle) {
  const std::lock_guard<std::mutex> lock(fake->mutex);
  if (fake->streams.erase(handle) == 0) return Refuse(CUDNN_STATUS_BAD_PARAM, "the handle does not exist");
  delete reinterpret_cast<char*>(handle);
  --fake->live;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetStream(cudnnHandle_t handle, cudaStream_t stream) {
  ENTER();
  const auto found = fake->streams.find(handle);
  if (found == fake->streams.end()) return Refuse(CUDNN_STATUS_BAD_PARAM, "the handle does not exist");
  found->second = {stream, std::this_thread::get_id()};
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

FakeCudnn::FakeCudnn() {
  CHECK(fake == nullptr);
  fake = this;
  api_.cudnnBackendCreateDescriptor = Create;
  api_.cudnnBackendDestroyDescriptor = Destroy;
  api_.cudnnBackendExecute = Execute;
  api_.cudnnBackendFinalize = Finalize;
  api_.cudnnBackendGetAttribute = Get;
  api_.cudnnBackendSetAttribute = Set;
  api_.cudnnCreate = CreateHandle;
  api_.cudnnDestroy = DestroyHandle;
  api_.cudnnGetErrorString = [](cudnnStatus_t) { return latest_error.c_str(); };
  api_.cudnnGetVersion = [] { return size_t{91900}; };
  api_.cudnnSetStream = SetStream;
}

FakeCudnn::~FakeCudnn() { fake = nullptr; }

}  // namespace partita
