#include "tests/ops/cuda/cudnn/fake_cudnn.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "runtime/base/bf16.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

FakeCudnn* fake = nullptr;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, std::string> bytes;  // of an attribute's values
  bool final = false;
  int engine = -1;                       // of engines, configurations and plans
  std::map<int64_t, Descriptor> copies;  // the parts that were set, by attribute
  std::vector<Descriptor> operations;    // of a graph, in its order; of what is made from one: the graph's

  template <typename T>
  std::vector<T> All(int name) const {
    const auto found = bytes.find(name);
    CHECK(found != bytes.end());
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), found->second.size());
    return values;
  }
};

Descriptor& Of(cudnnBackendDescriptor_t raw) { return *static_cast<Descriptor*>(raw); }

cudnnStatus_t Call() { return ++fake->calls == fake->fail_at ? fake->error : CUDNN_STATUS_SUCCESS; }

size_t SizeOfType(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    default:
      return 4;
  }
}

FakeCudnn::Engine EngineOf(int index) {
  const int first = static_cast<int>(fake->engines.size());
  return index < first ? fake->engines[index] : fake->fallback[index - first];
}

cudnnStatus_t Create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  if (const cudnnStatus_t status = Call(); status != CUDNN_STATUS_SUCCESS) return status;
  Descriptor* const descriptor = new Descriptor();
  descriptor->type = type;
  *out = descriptor;
  ++fake->live;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Destroy(cudnnBackendDescriptor_t raw) {
  delete &Of(raw);
  --fake->live;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Set(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  int64_t count, const void* values) {
  if (const cudnnStatus_t status = Call(); status != CUDNN_STATUS_SUCCESS) return status;
  Descriptor& descriptor = Of(raw);
  CHECK(!descriptor.final);
  descriptor.bytes[name] = std::string(static_cast<const char*>(values), static_cast<size_t>(count) * SizeOfType(type));
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) return CUDNN_STATUS_SUCCESS;
  // A part is copied when it is set: the library too keeps what its descriptors say after they are destroyed.
  const auto* const parts = static_cast<const cudnnBackendDescriptor_t*>(values);
  const Descriptor& part = Of(parts[0]);
  if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS) {
    for (int64_t i = 0; i < count; ++i) descriptor.operations.push_back(Of(parts[i]));
  } else if (name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH || name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
    descriptor.operations = part.operations;
    descriptor.engine = part.engine;
  } else {
    descriptor.copies[name] = part;
  }
  return CUDNN_STATUS_SUCCESS;
}

// Whether a tensor of the graph may lie at another address than a multiple of 16 bytes.
bool MayLieAnywhere(const std::vector<Descriptor>& operations) {
  for (const Descriptor& operation : operations) {
    for (const auto& [name, part] : operation.copies) {
      if (part.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
      if (part.All<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)[0] % 16 != 0) return true;
    }
  }
  return false;
}

// The engines that the heuristics name: for a tensor that may lie anywhere none that uses tensor cores, like the
// library.
std::vector<int> Named(const Descriptor& heuristics) {
  const bool fallback =
      heuristics.All<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE)[0] == CUDNN_HEUR_MODE_FALLBACK;
  const int first = fallback ? static_cast<int>(fake->engines.size()) : 0;
  const int count = static_cast<int>(fallback ? fake->fallback.size() : fake->engines.size());
  const bool anywhere = MayLieAnywhere(heuristics.operations);
  std::vector<int> named;
  for (int engine = first; engine < first + count; ++engine) {
    const auto notes = EngineOf(engine).notes;
    if (!anywhere || std::ranges::count(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) == 0) named.push_back(engine);
  }
  return named;
}

// What a plan read from text computes: the graph that was planned last.
std::vector<Descriptor>& LastGraph() {
  static auto& graph = *new std::vector<Descriptor>();
  return graph;
}

cudnnStatus_t Finalize(cudnnBackendDescriptor_t raw) {
  if (const cudnnStatus_t status = Call(); status != CUDNN_STATUS_SUCCESS) return status;
  Descriptor& descriptor = Of(raw);
  descriptor.final = true;
  const auto description = descriptor.copies.find(descriptor.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR
                                                      ? CUDNN_ATTR_ENGINEHEUR_DEVICEPROP
                                                      : CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  const size_t by_description = description == descriptor.copies.end() ? 0 : 1;
  if (by_description > 0) {
    CHECK(description->second.final);
    fake->descriptions.push_back(description->second.bytes.at(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
  }
  if (descriptor.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) LastGraph() = descriptor.operations;
  if (descriptor.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) return CUDNN_STATUS_SUCCESS;
  CHECK(descriptor.bytes.count(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) + by_description == 1);
  if (descriptor.bytes.count(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) > 0) {
    const std::string& text = descriptor.bytes[CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION];
    if (!fake->text_is_known || text.rfind("engine ", 0) != 0) return CUDNN_STATUS_NOT_SUPPORTED;
    descriptor.engine = std::stoi(text.substr(7));
    descriptor.operations = LastGraph();
    return CUDNN_STATUS_SUCCESS;
  }
  ++fake->plans_made;
  const FakeCudnn::Engine engine = EngineOf(descriptor.engine);
  const bool takes = engine.works && (engine.epilogues || descriptor.operations.size() == 1);
  return takes ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t Get(cudnnBackendDescriptor_t raw, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                  int64_t count, int64_t* found, void* values) {
  if (const cudnnStatus_t status = Call(); status != CUDNN_STATUS_SUCCESS) return status;
  const Descriptor& descriptor = Of(raw);
  auto* const parts = static_cast<cudnnBackendDescriptor_t*>(values);
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    const std::vector<int> named = Named(descriptor);
    *found = static_cast<int64_t>(named.size());
    for (int64_t i = 0; i < std::min(*found, count); ++i) {
      Of(parts[i]).engine = named[i];
      Of(parts[i]).operations = descriptor.operations;
    }
  } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE || name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
    *found = 1;
    Of(parts[0]).engine = descriptor.engine;
  } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) {
    *found = 1;
    *static_cast<int64_t*>(values) = descriptor.engine;
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    const auto notes = EngineOf(descriptor.engine).notes;
    *found = static_cast<int64_t>(notes.size());
    std::copy(notes.begin(), notes.end(), static_cast<cudnnBackendNumericalNote_t*>(values));
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *found = 1;
    *static_cast<int64_t*>(values) = EngineOf(descriptor.engine).workspace;
  } else {
    CHECK(name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    const std::string text = "engine " + std::to_string(descriptor.engine);
    *found = static_cast<int64_t>(text.size());
    if (count > 0) std::memcpy(values, text.data(), static_cast<size_t>(std::min(*found, count)));
  }
  return CUDNN_STATUS_SUCCESS;
}

// Of virtual tensors, by id: f32, which lies nowhere else.
using VirtualMemory = std::map<int64_t, std::vector<float>>;

// A tensor as its descriptor says: dimensions n,c,h,w with strides.
struct Tensor {
  Tensor(const Descriptor& d, const Descriptor& pack, VirtualMemory& memory)
      : size(d.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)), stride(d.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)) {
    const cudnnDataType_t type = d.All<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)[0];
    CHECK(d.final && (type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_BFLOAT16));
    narrow = type == CUDNN_DATA_BFLOAT16;
    if (d.bytes.count(CUDNN_ATTR_TENSOR_IS_VIRTUAL) > 0 && d.All<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)[0] != 0) {
      std::vector<float>& own = memory[d.All<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]];
      own.resize(static_cast<size_t>(size[0] * stride[0]));
      CHECK(!narrow);
      data = own.data();
      return;
    }
    const auto ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto addresses = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == d.All<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]) data = addresses[i];
    }
    CHECK(data != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(data) % d.All<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)[0] == 0);
  }
  int64_t At(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
  }
  double Get(int64_t i) const {
    return narrow ? static_cast<double>(static_cast<const Bf16*>(data)[i]) : static_cast<const float*>(data)[i];
  }
  void Set(int64_t i, double value) const {
    if (narrow) {
      static_cast<Bf16*>(data)[i] = Bf16(value);
    } else {
      static_cast<float*>(data)[i] = static_cast<float>(value);
    }
  }
  std::vector<int64_t> size, stride;
  bool narrow = false;  // bf16, else f32
  void* data = nullptr;
};

// What is added up for a tensor that is computed.
class SumsOf {
 public:
  explicit SumsOf(const Tensor& t) : tensor_(t) {
    for (int64_t a = 0; a < t.size[0]; ++a) {
      for (int64_t b = 0; b < t.size[1]; ++b) {
        for (int64_t c = 0; c < t.size[2]; ++c) {
          for (int64_t d = 0; d < t.size[3]; ++d) sums_[t.At(a, b, c, d)] = 0;
        }
      }
    }
  }
  ~SumsOf() {
    for (const auto& [at, sum] : sums_) tensor_.Set(at, sum);
  }
  void Add(int64_t i, double value) { sums_.at(i) += value; }

 private:
  const Tensor& tensor_;
  std::unordered_map<int64_t, double> sums_;  // by place: the tensor may be a block of a larger one
};

// Calls f(index in x, index in w, index in y) for every product of y = x * w.
template <typename F>
void ForEveryProduct(const Tensor& x, const Tensor& w, const Tensor& y, const Descriptor& window, const F& f) {
  const auto before = window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto after = window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  const auto stride = window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto dilation = window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  CHECK(window.All<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE)[0] == CUDNN_CROSS_CORRELATION);
  CHECK(window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)[0] == 2);
  for (int d = 0; d < 2; ++d) {
    const int64_t span = (w.size[2 + d] - 1) * dilation[d] + 1;
    CHECK(y.size[2 + d] == (x.size[2 + d] + before[d] + after[d] - span) / stride[d] + 1);
  }
  const int64_t groups = x.size[1] / w.size[1], outs = w.size[0] / groups;
  for (int64_t n = 0; n < y.size[0]; ++n) {
    for (int64_t o = 0; o < w.size[0]; ++o) {
      for (int64_t i = 0; i < y.size[2] * y.size[3]; ++i) {
        for (int64_t p = 0; p < w.size[2] * w.size[3]; ++p) {
          const int64_t row = i / y.size[3] * stride[0] + p / w.size[3] * dilation[0] - before[0];
          const int64_t column = i % y.size[3] * stride[1] + p % w.size[3] * dilation[1] - before[1];
          if (row < 0 || row >= x.size[2] || column < 0 || column >= x.size[3]) continue;
          for (int64_t k = 0; k < w.size[1]; ++k) {
            f(x.At(n, o / outs * w.size[1] + k, row, column), w.At(o, k, p / w.size[3], p % w.size[3]),
              y.At(n, o, i / y.size[3], i % y.size[3]));
          }
        }
      }
    }
  }
}

// y = relu(x), or y = x + b where dimensions of size 1 of b are for all.
void ComputePointwise(const Descriptor& operation, const Descriptor& pack, VirtualMemory& memory) {
  const Descriptor& what = operation.copies.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = what.All<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)[0];
  CHECK(what.final && what.All<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC)[0] == CUDNN_DATA_FLOAT);
  CHECK(mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_RELU_FWD);
  const bool adds = mode == CUDNN_POINTWISE_ADD;
  CHECK(operation.copies.count(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) == (adds ? 1 : 0));
  const Tensor x(operation.copies.at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), pack, memory);
  const Tensor y(operation.copies.at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), pack, memory);
  std::optional<Tensor> b;
  if (adds) b.emplace(operation.copies.at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC), pack, memory);
  CHECK(x.size == y.size);
  std::array<int64_t, 4> at{};
  for (int64_t e = 0; e < y.size[0] * y.size[1] * y.size[2] * y.size[3]; ++e) {
    for (int64_t d = 3, rest = e; d >= 0; rest /= y.size[d--]) at[d] = rest % y.size[d];
    double value = x.Get(x.At(at[0], at[1], at[2], at[3]));
    if (adds) {
      for (int d = 0; d < 4; ++d) CHECK(b->size[d] == 1 || b->size[d] == y.size[d]);
      const auto of_b = [&](int d) { return b->size[d] == 1 ? 0 : at[d]; };
      value += b->Get(b->At(of_b(0), of_b(1), of_b(2), of_b(3)));
    } else {
      value = value < 0 ? 0 : value;
    }
    y.Set(y.At(at[0], at[1], at[2], at[3]), value);
  }
}

void ComputeConvolution(const Descriptor& operation, const Descriptor& pack, VirtualMemory& memory) {
  const auto part = [&](int name) -> const Descriptor& { return operation.copies.at(name); };
  if (operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    const Tensor x(part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X), pack, memory);
    const Tensor w(part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W), pack, memory);
    const Tensor y(part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y), pack, memory);
    CHECK(operation.All<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA)[0] == 1);
    CHECK(operation.All<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA)[0] == 0);
    SumsOf sums(y);
    ForEveryProduct(x, w, y, part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
                    [&](int64_t a, int64_t b, int64_t c) { sums.Add(c, x.Get(a) * w.Get(b)); });
  } else if (operation.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    const Tensor dx(part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX), pack, memory);
    const Tensor w(part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W), pack, memory);
    const Tensor dy(part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY), pack, memory);
    SumsOf sums(dx);
    ForEveryProduct(dx, w, dy, part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
                    [&](int64_t a, int64_t b, int64_t c) { sums.Add(a, dy.Get(c) * w.Get(b)); });
  } else {
    const Tensor x(part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X), pack, memory);
    const Tensor dw(part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW), pack, memory);
    const Tensor dy(part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY), pack, memory);
    SumsOf sums(dw);
    ForEveryProduct(x, dw, dy, part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
                    [&](int64_t a, int64_t b, int64_t c) { sums.Add(b, x.Get(a) * dy.Get(c)); });
  }
}

cudnnStatus_t Execute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack_raw) {
  if (const cudnnStatus_t status = Call(); status != CUDNN_STATUS_SUCCESS) return status;
  const Descriptor& pack = Of(pack_raw);
  CHECK(Of(plan).final && pack.final);
  fake->engines_run.push_back(Of(plan).engine);
  fake->operations_run.push_back(static_cast<int>(Of(plan).operations.size()));
  std::memset(pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)[0], 0xFF, EngineOf(Of(plan).engine).workspace);
  VirtualMemory memory;
  for (const Descriptor& operation : Of(plan).operations) {
    CHECK(operation.final);
    const bool pointwise = operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    (pointwise ? ComputePointwise : ComputeConvolution)(operation, pack, memory);
  }
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
  api_.cudnnCreate = [](cudnnHandle_t* handle) {
    if (const cudnnStatus_t status = Call(); status != CUDNN_STATUS_SUCCESS) return status;
    ++fake->live;
    ++fake->handles_made;
    *handle = reinterpret_cast<cudnnHandle_t>(fake);
    return CUDNN_STATUS_SUCCESS;
  };
  api_.cudnnDestroy = [](cudnnHandle_t) {
    --fake->live;
    return CUDNN_STATUS_SUCCESS;
  };
  api_.cudnnGetErrorString = [](cudnnStatus_t) { return "a fake's error"; };
  api_.cudnnGetVersion = [] { return size_t{91900}; };
  api_.cudnnSetStream = [](cudnnHandle_t, cudaStream_t) { return Call(); };
}

FakeCudnn::~FakeCudnn() { fake = nullptr; }

}  // namespace partita
