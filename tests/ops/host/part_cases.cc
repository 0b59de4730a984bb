#include "tests/ops/host/part_cases.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/ir/op_definition.h"
#include "graph/value/windows.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t In(int64_t least, int64_t most) {  // both included
    return least + static_cast<int64_t>(engine_() % static_cast<uint64_t>(most - least + 1));
  }
  // A run in `all` that contains `inner`.
  Range Around(const Range& inner, const Range& all) { return {In(all.begin, inner.begin), In(inner.end, all.end)}; }
  Range PartOf(const Range& all) {
    const int64_t begin = In(all.begin, all.end - 1);
    return {begin, In(begin + 1, all.end)};
  }

 private:
  std::mt19937_64 engine_;
};

struct Geometry {
  int64_t kernel, stride, dilation, before, after;
};

// Every third one has an epilogue: bias and relu, or bias alone.
LocalNode RandomConvolution(uint64_t seed, Random& random, Geometry (&geometry)[2]) {
  int64_t size[2];
  for (int d = 0; d < 2; ++d) {
    Geometry& g = geometry[d];
    g = {random.In(1, 5), random.In(1, 3), random.In(1, 2), random.In(0, 3), random.In(0, 3)};
    size[d] = random.In(g.dilation * (g.kernel - 1) + 1, 14);
  }
  const int64_t kind = random.In(0, 4);
  const bool depthwise = kind == 0;
  const int64_t groups = depthwise ? random.In(2, 40) : kind == 1 ? 2 : 1;
  const int64_t in = groups * (depthwise ? 1 : random.In(1, 8)), out = groups * (depthwise ? 1 : random.In(1, 9));
  const auto& [h, w] = geometry;
  Attributes attributes{{"stride", IntList{h.stride, w.stride}},
                        {"dilation", IntList{h.dilation, w.dilation}},
                        {"padding", IntList{h.before, h.after, w.before, w.after}},
                        {"groups", groups}};
  const TensorType x{DType::kF32, {random.In(1, 3), size[0], size[1], in}};
  const TensorType weights{DType::kF32, {out, h.kernel, w.kernel, in / groups}};
  if (seed % 3 != 0) return WholeNode("conv2d", attributes, {x, weights});
  attributes.Set("activation", seed % 2 == 0 ? "relu" : "");
  return WholeNode("conv2d_epilogue", attributes, {x, weights, TensorType{DType::kF32, {out}}});
}

Range Along(const Box& box, int d) { return {box.offset[d], box.offset[d] + box.size[d]}; }
void SetAlong(Box& box, int d, const Range& range) {
  box.offset[d] = range.begin;
  box.size[d] = range.size();
}

// Makes a node a part of itself: of each direction all outputs or some, from an input with or without margin. False if
// its windows see padding alone.
bool TakePart(LocalNode& node, const Geometry (&geometry)[2], Random& random) {
  LocalTensor &x = *node.inputs[0], &y = node.outputs[0];
  Box x_within = x.box, y_within = y.box;
  for (int d = 1; d <= 2; ++d) {
    const Geometry& g = geometry[d - 1];
    const Range all = Along(y.box, d), image{0, x.global[d]};
    const Windows windows{all.size(), g.dilation * (g.kernel - 1) + 1, g.stride, g.before};
    const Range outputs = random.In(0, 3) == 0 ? all : random.PartOf(all);
    Range read = SpanOf(windows, outputs), most = SpanOf(windows, all);
    if (random.In(0, 1) == 0) {  // without margin
      read = Overlap(read, image);
      most = image;
    }
    if (read.empty()) return false;
    most = {std::min(most.begin, read.begin), std::max(most.end, read.end)};
    SetAlong(y.box, d, outputs);
    SetAlong(y_within, d, random.Around(outputs, all));
    SetAlong(x.box, d, read);
    SetAlong(x_within, d, random.Around(read, most));
  }
  node.within = {x_within};
  for (size_t i = 1; i < node.inputs.size(); ++i) node.within.push_back(node.inputs[i]->box);
  node.within.push_back(y_within);
  return true;
}

// The values in a box of a tensor; beyond the tensor they are zero.
Values Cut(const Values& whole, const Shape& shape, const Box& box) {
  Values values;
  for (int64_t i = 0; i < box.elements(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    bool inside = true;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t index = box.offset[d] + rest % box.size[d];
      inside = inside && index >= 0 && index < shape[d];
      at += index * stride;
      rest /= box.size[d];
      stride *= shape[d];
    }
    values.push_back(inside ? whole[at] : 0);
  }
  return values;
}

// How the op splits channels: between groups.
Rule SplitOfGroups(const LocalNode& node) {
  std::vector<TensorType> types;
  for (const auto& input : node.inputs) types.push_back({input->dtype, input->global});
  NodeView view{node.attributes, {}, {{node.outputs[0].dtype, node.outputs[0].global}}};
  for (const TensorType& type : types) view.inputs.push_back(&type);
  for (Rule& rule : node.op->rules(view)) {
    if (rule.name == "output_channels") return std::move(rule);
  }
  CHECK(false);
}

PartCase PartOfGroups(const KernelCase& c, const Range& groups) {
  const Rule split = SplitOfGroups(c.node);
  const auto narrow = [&](const Pattern& pattern, LocalTensor& tensor) {
    Narrow(tensor, pattern.dimension, groups.begin * pattern.unit, groups.end * pattern.unit);
  };
  PartCase part{static_cast<uint64_t>(groups.begin), c.node, c.node, c.inputs, {}};
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    narrow(split.inputs[i], *part.part.inputs[i]);
    part.part_inputs.push_back(Part(c.inputs[i], *part.part.inputs[i]));
  }
  narrow(split.outputs[0], part.part.outputs[0]);
  return part;
}

}  // namespace

std::vector<PartCase> PartsOfGroups() {
  std::vector<PartCase> parts;
  for (const KernelCase& c : AllCases()) {
    const int64_t groups = c.node.attributes.Has("groups") ? c.node.attributes.Int("groups") : 1;
    const bool absent = std::ranges::any_of(c.node.inputs, [](const auto& input) { return !input.has_value(); });
    if (groups == 1 || absent) continue;
    for (const Range& some : {Range{0, groups - 1}, Range{1, groups}, Range{groups / 2, groups / 2 + 1}}) {
      parts.push_back(PartOfGroups(c, some));
    }
  }
  return parts;
}

std::vector<PartCase> RandomParts(uint64_t seeds) {
  std::vector<PartCase> cases;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    Geometry geometry[2];
    PartCase c;
    c.seed = seed;
    c.whole = c.part = RandomConvolution(seed, random, geometry);
    if (!TakePart(c.part, geometry, random)) continue;
    c.inputs = SuitableInputs(c.whole, seed);
    c.part_inputs = c.inputs;
    c.part_inputs[0] = Cut(c.inputs[0], c.whole.inputs[0]->global, c.part.within[0]);
    cases.push_back(std::move(c));
  }
  return cases;
}

Values ExpectedOfPart(const Values& whole, const LocalNode& part) {
  Values values = Cut(whole, part.outputs[0].global, part.within.back());
  const Box& box = part.within.back();
  for (int64_t i = 0; i < box.elements(); ++i) {
    int64_t rest = i;
    bool inside = true;
    for (size_t d = box.size.size(); d-- > 0;) {
      const int64_t index = box.offset[d] + rest % box.size[d];
      const Range own = Along(part.outputs[0].box, static_cast<int>(d));
      inside = inside && index >= own.begin && index < own.end;
      rest /= box.size[d];
    }
    if (!inside) values[i] = NAN;
  }
  return values;
}

}  // namespace partita
