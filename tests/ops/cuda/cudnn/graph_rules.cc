#include "tests/ops/cuda/cudnn/graph_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

namespace partita::fake_cudnn {
namespace {

std::array<int64_t, 2> Pair(const Descriptor& window, int name) {
  const auto values = window.All<int64_t>(name);
  return {values[0], values[1]};
}

// Adds the operations one after the other.
class GraphMaker {
 public:
  explicit GraphMaker(Graph& graph) : graph_(graph) {}

  Verdict Add(const Descriptor& d) {
    Step step;
    if (const std::optional<ConvolutionNames> names = NamesOf(d.type)) {
      step.kind = names->kind;
      step.x = Index(d.Part(names->x));
      step.w = Index(d.Part(names->w));
      step.y = Index(d.Part(names->y));
      step.alpha = d.One(names->alpha, 1.0f);
      step.beta = d.One(names->beta, 0.0f);
      const Descriptor& window = d.Part(names->window);
      if (window.All<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS).size() != 2) {
        return NotSupported("an image that is not of two dimensions");
      }
      step.before = Pair(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
      step.after = Pair(window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
      step.stride = Pair(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
      step.dilation = Pair(window, CUDNN_ATTR_CONVOLUTION_DILATIONS);
    } else {
      const bool adds = d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
      step.kind = adds ? Kind::kAdd : Kind::kRelu;
      step.x = Index(d.Part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
      step.w = adds ? Index(d.Part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) : step.x;
      step.y = Index(d.Part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    }
    if (!verdict_.ok()) return verdict_;
    for (const int input : {step.x, step.w, step.y}) {
      const Tensor& tensor = graph_.tensors[static_cast<size_t>(input)];
      if (input != step.output() && tensor.is_virtual && written_.count(input) == 0) {
        return Bad("virtual tensor {} is read before it is written", tensor.id);
      }
    }
    if (!written_.insert(step.output()).second) {
      return Bad("tensor {} is written twice", graph_.tensors[static_cast<size_t>(step.output())].id);
    }
    graph_.steps.push_back(step);
    return {};
  }

 private:
  int Index(const Descriptor& d) {
    Tensor tensor;
    tensor.id = d.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    tensor.narrow = d.One(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT) == CUDNN_DATA_BFLOAT16;
    tensor.is_virtual = d.One<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) != 0;
    tensor.alignment = d.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
    const auto sizes = d.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
               strides = d.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    if (sizes.size() != 4) verdict_ = NotSupported("tensor {} has {} dimensions", tensor.id, sizes.size());
    std::copy_n(sizes.begin(), std::min<size_t>(4, sizes.size()), tensor.size.begin());
    std::copy_n(strides.begin(), std::min<size_t>(4, strides.size()), tensor.stride.begin());
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (graph_.tensors[i].id != tensor.id) continue;
      // The library would take it.
      if (!(graph_.tensors[i] == tensor)) verdict_ = Bad("id {} names two tensors", tensor.id);
      return static_cast<int>(i);
    }
    graph_.tensors.push_back(tensor);
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  Graph& graph_;
  Verdict verdict_;
  std::set<int> written_;
};

bool IsFloat(const Descriptor& d, int name) { return d.One(name, CUDNN_DATA_DOUBLE) == CUDNN_DATA_FLOAT; }

}  // namespace

Verdict GraphOf(const Operations& operations, Graph* graph) {
  if (operations.empty()) return Bad("a graph without operations");
  GraphMaker maker(*graph);
  for (const std::shared_ptr<const Descriptor>& operation : operations) {
    if (!operation->final) return Bad("an operation is not final");
    if (Verdict verdict = maker.Add(*operation); !verdict.ok()) return verdict;
  }
  return {};
}

Verdict CheckSupported(const Graph& graph, const Operations& operations) {
  for (const std::shared_ptr<const Descriptor>& operation : operations) {
    for (const auto& [name, parts] : operation->parts) {
      const Descriptor& part = *parts[0];
      if (part.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
        const auto type = part.One(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_DOUBLE);
        if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_BFLOAT16) return NotSupported("elements of another type");
      } else if (part.type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
        const auto mode = part.One(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION);
        if (mode != CUDNN_CROSS_CORRELATION) return NotSupported("a window that is turned round");
        if (!IsFloat(part, CUDNN_ATTR_CONVOLUTION_COMP_TYPE)) return NotSupported("sums that are not f32");
      } else if (part.type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR) {
        const auto mode = part.One(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_MUL);
        const bool adds = operation->has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
        const bool known = mode == CUDNN_POINTWISE_RELU_FWD ? !adds : mode == CUDNN_POINTWISE_ADD && adds;
        if (!known) return NotSupported("operation {} on elements", static_cast<int>(mode));
        if (!IsFloat(part, CUDNN_ATTR_POINTWISE_MATH_PREC)) return NotSupported("elements computed in another type");
      }
    }
  }
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.stride[1] != 1) return NotSupported("the channels of tensor {} lie apart", tensor.id);
    const bool in_order = tensor.stride[3] >= tensor.size[1] && tensor.stride[2] >= tensor.size[3] * tensor.stride[3] &&
                          tensor.stride[0] >= tensor.size[2] * tensor.stride[2];
    if (!in_order) return NotSupported("tensor {} does not lie as n,h,w,c", tensor.id);
    if (tensor.is_virtual && tensor.narrow) return NotSupported("virtual tensor {} is bf16", tensor.id);
    if (std::ranges::count(tensor.size, 0) > 0) return NotSupported("tensor {} is empty", tensor.id);
  }
  // Operands of a convolution are of one type, its result too unless it is virtual.
  for (const Step& step : graph.steps) {
    const auto narrow = [&](int i) { return graph.tensors[static_cast<size_t>(i)].narrow; };
    const auto is_virtual = [&](int i) { return graph.tensors[static_cast<size_t>(i)].is_virtual; };
    if (!step.convolves()) continue;
    if (narrow(step.x) != narrow(step.w) || (!is_virtual(step.y) && narrow(step.y) != narrow(step.x))) {
      return NotSupported("a convolution of two types");
    }
  }
  if (graph.tensors[static_cast<size_t>(graph.steps.back().output())].is_virtual) {
    return NotSupported("the graph ends in a virtual tensor");
  }
  return {};
}

std::string Write(int engine, const Graph& graph) {
  std::ostringstream out;
  out << "engine " << engine << " " << graph.tensors.size() << " " << graph.steps.size();
  for (const Tensor& t : graph.tensors) {
    out << " " << t.id << " " << t.narrow << " " << t.is_virtual << " " << t.alignment;
    for (size_t i = 0; i < 4; ++i) out << " " << t.size[i] << " " << t.stride[i];
  }
  for (const Step& s : graph.steps) {
    out << " " << static_cast<int>(s.kind) << " " << s.x << " " << s.w << " " << s.y << " " << s.alpha << " " << s.beta;
    for (size_t i = 0; i < 2; ++i) {
      out << " " << s.before[i] << " " << s.after[i] << " " << s.stride[i] << " " << s.dilation[i];
    }
  }
  return out.str();
}

bool Read(const std::string& text, int* engine, Graph* graph) {
  std::istringstream in(text);
  std::string word;
  size_t tensors = 0, steps = 0;
  if (!(in >> word >> *engine >> tensors >> steps) || word != "engine" || tensors > 99 || steps > 99) return false;
  graph->tensors.resize(tensors);
  graph->steps.resize(steps);
  for (Tensor& t : graph->tensors) {
    in >> t.id >> t.narrow >> t.is_virtual >> t.alignment;
    for (size_t i = 0; i < 4; ++i) in >> t.size[i] >> t.stride[i];
  }
  for (Step& s : graph->steps) {
    int kind = 0;
    in >> kind >> s.x >> s.w >> s.y >> s.alpha >> s.beta;
    s.kind = static_cast<Kind>(kind);
    for (size_t i = 0; i < 2; ++i) in >> s.before[i] >> s.after[i] >> s.stride[i] >> s.dilation[i];
  }
  if (in.fail() || graph->steps.empty()) return false;
  return std::ranges::all_of(graph->steps, [&](const Step& s) {
    const auto is_tensor = [&](int i) { return i >= 0 && i < static_cast<int>(graph->tensors.size()); };
    return s.kind >= Kind::kForward && s.kind <= Kind::kRelu && is_tensor(s.x) && is_tensor(s.w) && is_tensor(s.y);
  });
}

}  // namespace partita::fake_cudnn
