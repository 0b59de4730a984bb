// Parts of a convolution (LocalNode::within): rows and columns of the output, made from rows and columns of the input
// that lie in larger blocks, margins of zeros among them. A part is what the whole has there, and nothing else is
// written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/op_definition.h"
#include "graph/windows.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "tests/ops/host/kernel_case.h"

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

LocalNode RandomConvolution(Random& random, Geometry (&geometry)[2]) {
  int64_t size[2];
  for (int d = 0; d < 2; ++d) {
    Geometry& g = geometry[d];
    g = {random.In(1, 5), random.In(1, 3), random.In(1, 2), random.In(0, 3), random.In(0, 3)};
    size[d] = random.In(g.dilation * (g.kernel - 1) + 1, 14);
  }
  const int64_t groups = random.In(0, 3) == 0 ? 2 : 1;
  const int64_t in = groups * random.In(1, 8), out = groups * random.In(1, 9);
  const auto& [h, w] = geometry;
  const Attributes attributes{{"stride", IntList{h.stride, w.stride}},
                              {"dilation", IntList{h.dilation, w.dilation}},
                              {"padding", IntList{h.before, h.after, w.before, w.after}},
                              {"groups", groups}};
  return WholeNode("conv2d", attributes,
                   {TensorType{DType::kF32, {random.In(1, 3), size[0], size[1], in}},
                    TensorType{DType::kF32, {out, h.kernel, w.kernel, in / groups}}});
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
  node.within = {x_within, node.inputs[1]->box, y_within};
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

// What the memory of y must hold: the whole's values in the part, NaN around it.
Values Expected(const Values& whole, const LocalNode& part) {
  Values values = Cut(whole, part.outputs[0].global, part.within[2]);
  const Box& box = part.within[2];
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

TEST(Parts, AreWhatTheWholeConvolutionHasThere) {
  int run = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    Random random(seed);
    Geometry geometry[2];
    const LocalNode whole = RandomConvolution(random, geometry);
    LocalNode part = whole;
    if (!TakePart(part, geometry, random)) continue;
    ++run;
    const std::vector<Values> inputs = SuitableInputs(whole, seed);
    const Values y = Outputs(InF64(whole), inputs, {.reference_only = true})[0];
    const LocalNode whole_bf16 = InBf16(whole);
    const Values y_bf16 = Outputs(InF64(whole), Stored(whole_bf16, inputs), {.reference_only = true})[0];
    const Values x = Cut(inputs[0], whole.inputs[0]->global, part.within[0]);
    for (const std::string& kernel : HostKernelNames("conv2d")) {
      const std::string family = kernel.substr(0, kernel.find('_'));
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        if (dtype == DType::kF64 && family == "onednn") continue;
        const LocalNode node = dtype == DType::kF32 ? part : InF64(part);
        const int threads = 1 + static_cast<int>(seed % 2);
        const Values found = Outputs(node, {x, inputs[1]}, {.family = family, .threads = threads})[0];
        ASSERT_LE(Distance(found, Expected(y, part)), dtype == DType::kF64 ? 1e-13 : 5e-6)
            << "seed " << seed << " " << kernel << " " << Name(dtype);
      }
      const Values narrow = Outputs(InBf16(part), {x, inputs[1]}, {.family = family})[0];
      ASSERT_LE(Distance(narrow, Expected(y_bf16, part)), 0x1p-8 + 5e-6) << "seed " << seed << " " << kernel;
    }
  }
  EXPECT_GT(run, 50);
}

// So large that threads share it: samples, or the rows of the only one; all columns, or some.
TEST(Parts, AreTheSameOnSeveralThreads) {
  for (const int64_t samples : {1, 2, 5}) {
    const Attributes attributes{{"padding", IntList{1, 1, 1, 1}}};
    const LocalNode whole =
        WholeNode("conv2d", attributes,
                  {TensorType{DType::kF32, {samples, 26, 20, 32}}, TensorType{DType::kF32, {32, 3, 3, 32}}});
    const std::vector<Values> inputs = SuitableInputs(whole, 3);
    const Values y = Outputs(InF64(whole), inputs)[0];
    for (const Range columns : {Range{0, 20}, Range{3, 19}}) {
      LocalNode part = whole;
      part.within = {whole.inputs[0]->box, whole.inputs[1]->box, whole.outputs[0].box};
      Narrow(part.outputs[0], 1, 2, 25);
      Narrow(part.outputs[0], 2, columns.begin, columns.end);
      Narrow(*part.inputs[0], 1, 1, 26);
      Narrow(*part.inputs[0], 2, std::max<int64_t>(0, columns.begin - 1), std::min<int64_t>(20, columns.end + 1));
      for (const std::string& kernel : HostKernelNames("conv2d")) {
        const std::string family = kernel.substr(0, kernel.find('_'));
        if (family == "reference") continue;
        for (const int threads : {1, 2, 3}) {
          const Values found = Outputs(part, inputs, {.family = family, .threads = threads})[0];
          EXPECT_LE(Distance(found, Expected(y, part)), 5e-6) << kernel << " " << samples << " on " << threads;
        }
      }
    }
  }
}

// Other ops are never asked for parts, so their kernels need not look.
TEST(Parts, AreOfConvolutionsAlone) {
  for (const std::string& op : HostKernelOps()) {
    const OpDefinition* const definition = Ops().Find(op);
    ASSERT_NE(definition, nullptr) << op;
    EXPECT_EQ(definition->windowed, op == "conv2d" ? 0 : -1) << op;
  }
}

}  // namespace
}  // namespace partita
