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

void AddModel(const std::string& name, const ModelOptions& options, Table& table) {
  const absl::StatusOr<Model> model = MakeModel(name, options, Ops());
  ASSERT_TRUE(model.ok()) << name << ": " << model.status();
  for (const Node& node : model->graph.nodes()) {
    if (node.op->name != "conv2d") continue;
    Add(table, {model->graph.type(node.inputs[0]).shape, model->graph.type(node.inputs[1]).shape, node.attributes});
  }
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
  for (const char* name : {"lenet5", "mlp", "mini-inception"}) AddModel(name, {}, table);
  AddModel("inception-v3", {.auxiliary_head = true}, table);
  std::vector<ModelConvolution> convolutions;
  for (const auto& [name, sizes] : table) AddDirections(name, sizes, convolutions);
  return convolutions;
}

}  // namespace partita
