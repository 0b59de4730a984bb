#include "tests/ops/cuda/cudnn/descriptor.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace partita::fake_cudnn {
namespace {

using Type = cudnnBackendDescriptorType_t;

enum class Wanted { kRequired, kOptional };

// An attribute that Partita sets.
struct Rule {
  Type type;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t value_type;
  int64_t most;  // values
  Wanted wanted = Wanted::kRequired;
};

constexpr int64_t kMany = 1 << 20, kDims = 8;

constexpr Rule kRules[] = {
    // The library takes a tensor without a type or an id, and gives it the first of each.
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, kDims},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, kDims},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, Wanted::kOptional},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, kDims},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, kDims},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, kDims},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, kDims},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1},
#define PARTITA_CONVOLUTION(type, name, first, second, third)                                            \
  {type, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_##first, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},           \
      {type, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_##second, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},      \
      {type, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_##third, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},       \
      {type, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},     \
      {type, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_ALPHA, CUDNN_TYPE_FLOAT, 1, Wanted::kOptional}, { \
    type, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_BETA, CUDNN_TYPE_FLOAT, 1, Wanted::kOptional         \
  }
    PARTITA_CONVOLUTION(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, FORWARD, X, W, Y),
    PARTITA_CONVOLUTION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, BWD_DATA, DX, W, DY),
    PARTITA_CONVOLUTION(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, BWD_FILTER, X, DW, DY),
#undef PARTITA_CONVOLUTION
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
     1},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
     1, Wanted::kOptional},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
     1},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
     Wanted::kOptional},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMany},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     Wanted::kOptional},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
     Wanted::kOptional},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     Wanted::kOptional},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
     Wanted::kOptional},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, kMany,
     Wanted::kOptional},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kMany},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kMany},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
     Wanted::kOptional},
    {CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, kMany},
};

int64_t BytesOf(cudnnDataType_t type) { return type == CUDNN_DATA_BFLOAT16 || type == CUDNN_DATA_HALF ? 2 : 4; }

Verdict CheckTensor(const Descriptor& d) {
  const auto sizes = d.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), strides = d.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (sizes.size() != strides.size()) return Bad("{} strides of {} dimensions", strides.size(), sizes.size());
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) return Bad("a dimension is negative");
  const int64_t alignment = d.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  const int64_t element = BytesOf(d.One(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (alignment <= 0 || alignment % element != 0) return Bad("elements of {} bytes lie at {}", element, alignment);
  return {};
}

Verdict CheckWindow(const Descriptor& d) {
  const auto dims = static_cast<size_t>(d.One<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
  const std::pair<cudnnBackendAttributeName_t, int64_t> least[] = {{CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0},
                                                                   {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0},
                                                                   {CUDNN_ATTR_CONVOLUTION_DILATIONS, 1},
                                                                   {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1}};
  for (const auto& [name, smallest] : least) {
    const auto values = d.All<int64_t>(name);
    if (values.size() != dims) {
      return Bad("attribute {} has {} values for {} dimensions", static_cast<int>(name), values.size(), dims);
    }
    if (std::ranges::any_of(values, [smallest = smallest](int64_t value) { return value < smallest; })) {
      return Bad("attribute {} is less than {}", static_cast<int>(name), smallest);
    }
  }
  return {};
}

// Whether two elements lie at one place. Like the library's, it does not see strides of 0.
bool Overlaps(const Descriptor& tensor) {
  const auto sizes = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and size
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && strides[i] > 0) dims.emplace_back(strides[i], sizes[i]);
  }
  std::ranges::sort(dims);
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i].first < dims[i - 1].first * dims[i - 1].second) return true;
  }
  return false;
}

// Whether there is a gap, or two elements at one place.
bool IsDense(const Descriptor& tensor) {
  const auto sizes = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  int64_t elements = 1, end = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    elements *= sizes[i];
    end += (sizes[i] - 1) * strides[i];
  }
  return elements == end;
}

Verdict CheckConvolution(const Descriptor& d, const ConvolutionNames& names) {
  for (const int name : {names.x, names.w, names.y, names.window}) {
    if (!d.Part(name).final) return Bad("attribute {} is not final", name);
  }
  if (Overlaps(d.Part(names.x)) || Overlaps(d.Part(names.y))) return Bad("pixels lie on each other");
  if (!IsDense(d.Part(names.w))) return Bad("filters with gaps, or on each other");
  const auto sizes = [&](int name) { return d.Part(name).All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS); };
  const std::vector<int64_t> x = sizes(names.x), w = sizes(names.w), y = sizes(names.y);
  const Descriptor& window = d.Part(names.window);
  const auto of_window = [&](int name) { return window.All<int64_t>(name); };
  const auto before = of_window(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
             after = of_window(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
             stride = of_window(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
             dilation = of_window(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  if (x.size() != before.size() + 2 || w.size() != x.size() || y.size() != x.size()) {
    return Bad("tensors of {}, {} and {} dimensions for a window of {}", x.size(), w.size(), y.size(), before.size());
  }
  if (y[0] != x[0]) return Bad("{} images give {}", x[0], y[0]);
  if (y[1] != w[0]) return Bad("{} filters give {} channels", w[0], y[1]);
  if (w[1] == 0 || x[1] == 0 || x[1] % w[1] != 0) return Bad("filters of {} channels for images of {}", w[1], x[1]);
  if (w[0] % (x[1] / w[1]) != 0) return Bad("{} filters in {} groups", w[0], x[1] / w[1]);
  for (size_t i = 0; i < before.size(); ++i) {
    const int64_t span = (w[2 + i] - 1) * dilation[i] + 1, padded = x[2 + i] + before[i] + after[i];
    const int64_t fits = padded < span ? 0 : (padded - span) / stride[i] + 1;
    if (y[2 + i] != fits) return Bad("dimension {} has {} outputs, the window has {} places", i, y[2 + i], fits);
  }
  return {};
}

Verdict CheckPointwise(const Descriptor& d) {
  const Descriptor& what = d.Part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const bool adds = what.One(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_RELU_FWD) == CUDNN_POINTWISE_ADD;
  if (adds && !d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) return Bad("an addition of one tensor");
  for (const auto& [name, part] : d.parts) {
    if (!part[0]->final) return Bad("attribute {} is not final", name);
  }
  // The library finds these later, when engines are asked.
  const auto sizes = [&](int name) { return d.Part(name).All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS); };
  const std::vector<int64_t> x = sizes(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                             y = sizes(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (x != y) return Bad("an operation on elements changes a shape");
  if (!adds) return {};
  const std::vector<int64_t> b = sizes(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  if (b.size() != y.size()) return Bad("{} dimensions are added to {}", b.size(), y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    if (b[i] != 1 && b[i] != y[i]) return Bad("dimension {} of size {} is added to {}", i, b[i], y[i]);
  }
  return {};
}

Verdict CheckPlan(const Descriptor& d) {
  const auto count = [&](int a, int b) { return (d.has(a) ? 1 : 0) + (d.has(b) ? 1 : 0); };
  if (count(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) != 1) {
    return Bad("a plan is for a handle or for a description");
  }
  if (count(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) != 1) {
    return Bad("a plan is made from a configuration or from a text");
  }
  return {};
}

Verdict CheckPack(const Descriptor& d) {
  const auto ids = d.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const size_t addresses = d.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size();
  if (ids.size() != addresses) return Bad("{} ids of {} addresses", ids.size(), addresses);
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size()) return Bad("an id is there twice");
  return {};
}

}  // namespace

std::optional<ConvolutionNames> NamesOf(Type type) {
#define PARTITA_NAMES(kind, name, x, w, y)                                                                  \
  ConvolutionNames {                                                                                        \
    kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_##x, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_##w,     \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_##y, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_CONV_DESC, \
        CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_##name##_BETA     \
  }
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return PARTITA_NAMES(Kind::kForward, FORWARD, X, W, Y);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return PARTITA_NAMES(Kind::kInputGrad, BWD_DATA, DX, W, DY);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return PARTITA_NAMES(Kind::kWeightGrad, BWD_FILTER, X, DW, DY);
    default:
      return std::nullopt;
  }
#undef PARTITA_NAMES
}

size_t SizeOfType(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
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

Verdict CheckAttribute(Type type, int name, cudnnBackendAttributeType_t value_type, int64_t count) {
  const auto* const rule =
      std::ranges::find_if(kRules, [&](const Rule& r) { return r.type == type && static_cast<int>(r.name) == name; });
  if (rule == std::end(kRules)) return Bad("descriptors of type {} have no attribute {}", static_cast<int>(type), name);
  if (rule->value_type != value_type) {
    return {CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, fmt::format("attribute {} is of another type", name)};
  }
  if (count < 0 || count > rule->most) return Bad("attribute {} is given {} values", name, count);
  return {};
}

Verdict CheckFinal(const Descriptor& descriptor) {
  for (const Rule& rule : kRules) {
    if (rule.type == descriptor.type && rule.wanted == Wanted::kRequired && !descriptor.has(rule.name)) {
      return Bad("attribute {} is not set", static_cast<int>(rule.name));
    }
  }
  if (const std::optional<ConvolutionNames> names = NamesOf(descriptor.type))
    return CheckConvolution(descriptor, *names);
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return CheckTensor(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return CheckWindow(descriptor);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return CheckPointwise(descriptor);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return CheckPlan(descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return CheckPack(descriptor);
    default:
      return {};
  }
}

}  // namespace partita::fake_cudnn
