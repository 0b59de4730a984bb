// Tables share what is alike: layers, layouts of a value, links. Each entry is bit for bit the one that is made alone.
#include <gtest/gtest.h>

#include <ostream>

#include "ops/registry.h"
#include "partitioner/cluster/cluster_description.h"
#include "partitioner/tables/edge_seconds.h"
#include "partitioner/tables/layer_tables.h"
#include "runtime/base/check.h"
#include "tools/models/models.h"

namespace partita {
namespace {

struct Case {
  std::string model;
  ModelOptions options;
  int ranks = 2;
  bool layers_alike = false;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.model << " on " << one.ranks; }

// GPUs, two to a node: links over some axes are slower.
Cluster Nodes(int ranks) {
  DeviceKind kind{"gpu", BackendKind::kCuda, int64_t{32} << 30, 900e9, {{DType::kF32, 15.7e12}}};
  kind.launch_seconds = 2e-6;
  kind.compute_capability = 70;
  const Link within{Fabric::kNvlink, 120e9, 0.6e-6, 12}, between{Fabric::kNetwork, 12e9, 5e-6, 2};
  auto cluster = MakeCluster(
      {"nodes", {kind}, {{"all", "", 1, "", 0, between, {}}, {"node", "all", ranks / 2, "gpu", 2, within, between}}});
  CHECK(cluster.ok());
  return *std::move(cluster);
}

class FreshTables : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto model = MakeModel(GetParam().model, GetParam().options, Ops());
    ASSERT_TRUE(model.ok()) << model.status();
    auto layers = FindLayers(model->graph, Ops());
    ASSERT_TRUE(layers.ok()) << layers.status();
    layers_ = *std::move(layers);
    cluster_ = Nodes(GetParam().ranks);
  }

  LayerGraph layers_;
  Cluster cluster_;
  const KernelTimes times_;
  const CostBasis basis_{Ops(), cluster_, times_, 3};
  const Mesh mesh_ = PrimeMesh(GetParam().ranks);
};

TEST_P(FreshTables, EntriesAreThoseMadeAlone) {
  LayerCosts costs(layers_, mesh_, basis_);
  const auto made = MakeLayerTables(costs);
  ASSERT_TRUE(made.ok()) << made.status();
  int configs = 0;
  for (size_t i = 0; i < layers_.layers.size(); ++i) {
    LayerCosts alone(layers_, mesh_, basis_);  // no other layer is asked for
    const OpTable& table = made->tables.ops[i];
    configs += static_cast<int>(table.seconds.size());
    for (size_t c = 0; c < table.seconds.size(); ++c) {
      const auto& cost = alone.Of(layers_.layers[i], made->choices[i][c]);
      ASSERT_TRUE(cost.ok()) << cost.status();
      EXPECT_EQ(table.seconds[c], cost->forward + cost->backward + cost->synchronization + cost->update);
      EXPECT_EQ(table.bytes[c], cost->weight_bytes + cost->activation_bytes);
    }
  }
  EXPECT_TRUE(!GetParam().layers_alike || costs.compiled() < configs);
  for (size_t e = 0; e < layers_.edges.size(); ++e) {
    const LayerEdge& edge = layers_.edges[e];
    const auto &from = made->choices[edge.from], &to = made->choices[edge.to];
    for (size_t row = 0; row < from.size(); ++row) {
      for (size_t column = 0; column < to.size(); ++column) {
        MoveSeconds moves(mesh_, cluster_);
        const EdgeEnd before{costs.Of(layers_.layers[edge.from], from[row])->makes[edge.made], {}};
        const EdgeEnd after{costs.Of(layers_.layers[edge.to], to[column])->reads[edge.read], to[column]};
        const TensorType& type = layers_.graph.type(edge.value);
        ASSERT_EQ((*made->tables.edges[e].seconds)[row * to.size() + column],
                  EdgeSeconds(type, {before}, {after}, layers_.wanted[edge.value], mesh_, moves)[0]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, FreshTables,
                         testing::Values(Case{"lenet5", {}, 6}, Case{"mlp", {}, 16}, Case{"mini-inception", {}, 4},
                                         Case{"resnet-50",
                                              {.batch = 4, .image_size = 32, .channel_limit = 8},
                                              4,
                                              /*layers_alike=*/true}));

}  // namespace
}  // namespace partita
