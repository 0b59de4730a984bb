#include "tests/graph/two_layers.h"

#include "graph/text/text.h"
#include "ops/registry.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kForward[] = R"(state %w
state %v
%x = input() f32[8,6]
%t = input() i32[8]
%w = parameter() initializer=he_normal f32[6,5]
%h = matmul(%x, %w) f32[8,5]
%a = relu(%h) f32[8,5]
%v = parameter() initializer=he_normal f32[5,3]
%z = matmul(%a, %v) f32[8,3]
%l = softmax_cross_entropy(%z, %t, _) f32[]
loss %l
)";

}  // namespace

Model TwoLayers() { return {"two layers", *ParseText(kForward, Ops()), {}, {}}; }

absl::StatusOr<Graph> TrainTwoLayers(const Strategy& strategy) {
  ASSIGN_OR_RETURN(Program program, MakeProgram(TwoLayers(), strategy, Ops(),
                                                {.fuse = false, .bucket_bytes = 0, .verify_passes = true}));
  return std::move(program.graph(kTrainEntry));
}

std::string LayoutOf(const Graph& graph, const std::string& value) {
  const Layout& layout = graph.layout(graph.Find(value));
  return ToString(layout, graph.mesh(layout));
}

}  // namespace partita
