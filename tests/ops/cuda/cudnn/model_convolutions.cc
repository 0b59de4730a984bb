#include "tests/ops/cuda/cudnn/model_convolutions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"
#include "ops/registry.h"
#include "tests/ops/host/kernel_case.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Sizes {
  Shape x, w;
  Attributes attributes;
};

// By the name of x and w and the window: each once.
using Table = std::map<std::string, Sizes>;

void Add(Table& table, Sizes sizes) {
  const Attributes& a = sizes.attributes;
  const std::string name = fmt::format("{} w {} stride {} padding {}", ToString(sizes.x), ToString(sizes.w),
                                       ToString(a.Ints("stride")), ToString(a.Ints("padding")));
  table.emplace(name, std::move(sizes));
}

void AddShippedModels(Table& table) {
  for (const std::string& name : ModelNames()) {
    const absl::StatusOr<Model> model = MakeModel(name, {}, Ops());
    ASSERT_TRUE(model.ok()) << name << ": " << model.status();
    for (const Node& node : model->graph.nodes()) {
      if (node.op->name != "conv2d") continue;
      Add(table, {model->graph.type(node.inputs[0]).shape, model->graph.type(node.inputs[1]).shape, node.attributes});
    }
  }
}

// Szegedy et al. 2015, at 299 x 299: pixels of the input, channels in and out, kernel, stride, padding.
void AddInceptionV3(Table& table) {
  const auto add = [&](int64_t pixels, int64_t in, int64_t out, int64_t h, int64_t w, int64_t stride, bool same) {
    const int64_t rows = same ? h / 2 : 0, columns = same ? w / 2 : 0;
    Add(table, {{64, pixels, pixels, in},
                {out, h, w, in},
                {{"stride", IntList{stride, stride}}, {"padding", IntList{rows, rows, columns, columns}}}});
  };
  const auto one = [&](int64_t pixels, int64_t in, int64_t out) { add(pixels, in, out, 1, 1, 1, true); };
  const auto window = [&](int64_t pixels, int64_t in, int64_t out, int64_t h, int64_t w) {
    add(pixels, in, out, h, w, 1, true);
  };
  add(299, 3, 32, 3, 3, 2, false);
  add(149, 32, 32, 3, 3, 1, false);
  window(147, 32, 64, 3, 3);
  one(73, 64, 80);
  add(73, 80, 192, 3, 3, 1, false);
  for (const int64_t in : {192, 256, 288}) {  // blocks 5b, 5c, 5d
    for (const int64_t out : {64, 48, 32}) one(35, in, out);
  }
  window(35, 48, 64, 5, 5);
  window(35, 64, 96, 3, 3);
  window(35, 96, 96, 3, 3);
  add(35, 288, 384, 3, 3, 2, false);  // 6a
  add(35, 96, 96, 3, 3, 2, false);
  one(17, 768, 192);  // 6b to 6e
  for (const int64_t n : {128, 160, 192}) {
    one(17, 768, n);
    window(17, n, n, 1, 7);
    window(17, n, n, 7, 1);
    window(17, n, 192, 7, 1);
    window(17, n, 192, 1, 7);
  }
  one(5, 768, 128);  // the second classifier
  add(5, 128, 768, 5, 5, 1, false);
  add(17, 192, 320, 3, 3, 2, false);  // 7a
  add(17, 192, 192, 3, 3, 2, false);
  for (const int64_t in : {1280, 2048}) {  // 7b, 7c
    for (const int64_t out : {320, 384, 448, 192}) one(8, in, out);
  }
  window(8, 384, 384, 1, 3);
  window(8, 384, 384, 3, 1);
  window(8, 448, 384, 3, 3);
}

void AddDirections(const std::string& name, const Sizes& s, std::vector<ModelConvolution>& convolutions) {
  const auto f32 = [](const Shape& shape) { return TensorType{DType::kF32, shape}; };
  const auto add = [&](const LocalNode& node) { convolutions.push_back({name + " " + node.op->name, node}); };
  const LocalNode forward = WholeNode("conv2d", s.attributes, {f32(s.x), f32(s.w)});
  const Shape y = forward.outputs[0].global;
  add(forward);
  Attributes attributes = s.attributes;
  attributes.Set("shape", s.x);
  add(WholeNode("conv2d_input_grad", attributes, {f32(y), f32(s.w)}));
  attributes.Set("shape", s.w);
  add(WholeNode("conv2d_weight_grad", attributes, {f32(s.x), f32(y)}));
}

}  // namespace

std::vector<ModelConvolution> ModelConvolutions() {
  Table table;
  AddShippedModels(table);
  AddInceptionV3(table);
  std::vector<ModelConvolution> convolutions;
  for (const auto& [name, sizes] : table) AddDirections(name, sizes, convolutions);
  return convolutions;
}

}  // namespace partita
