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
  // Seconds from each config of the layer that makes the value to one of the layer that reads it.
  std::vector<double> Alone(const LayerTables& made, LayerCosts& costs, const LayerEdge& edge, size_t column) {
    const OpLayer &from = layers_.layers[edge.from], &to = layers_.layers[edge.to];
    const Choice& reading = made.choices[edge.to][column];
    EdgeEnd after{costs.Of(to, reading)->reads[edge.read]};
    for (size_t a = 0; a < reading.size(); ++a) {
      after.idle |= after.layout[a].replicated() && ReadsWhole(reading[a]) ? 1U << a : 0;
    }
    std::vector<double> seconds;
    for (const Choice& making : made.choices[edge.from]) {
      MoveSeconds moves(mesh_, cluster_);
      const EdgeEnd before{costs.Of(from, making)->makes[edge.made]};
      const TensorType& type = layers_.graph.type(edge.value);
      seconds.push_back(EdgeSeconds(type, {before}, {after}, layers_.wanted[edge.value], mesh_, moves)[0]);
    }
    return seconds;
  }

  static std::vector<double> Column(const CostTables& tables, const EdgeTable& edge, size_t column) {
    std::vector<double> seconds;
    const auto columns = static_cast<size_t>(tables.configs(edge.to));
    for (size_t i = column; i < edge.seconds->size(); i += columns) seconds.push_back((*edge.seconds)[i]);
    return seconds;
  }

  // Straight from one layer to the other, or to one of the configs of a hub from which the reader has it for nothing.
  void ExpectEdge(const LayerTables& made, LayerCosts& costs, const LayerEdge& edge) {
    const CostTables& tables = made.tables;
    for (const EdgeTable& first : tables.edges) {
      const bool of_value = first.to == edge.to || tables.ops[first.to].op == layers_.graph.value(edge.value).name;
      if (first.from != edge.from || !of_value) continue;
      for (const EdgeTable& second : tables.edges) {
        if (first.to != edge.to && (second.from != first.to || second.to != edge.to)) continue;
        for (size_t column = 0; column < made.choices[edge.to].size(); ++column) {
          const std::vector<double> alone = Alone(made, costs, edge, column);
          bool found = first.to == edge.to && Column(tables, first, column) == alone;
          for (int way = 0; first.to != edge.to && way < tables.configs(first.to); ++way) {
            const double rest = (*second.seconds)[way * tables.configs(edge.to) + column];
            found = found || (rest == 0 && Column(tables, first, way) == alone);
          }
          ASSERT_TRUE(found) << tables.ops[edge.from].op << " -> " << tables.ops[edge.to].op << " " << column;
        }
        return;
      }
    }
    ADD_FAILURE() << "no edge from " << tables.ops[edge.from].op << " to " << tables.ops[edge.to].op;
  }

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
  for (const LayerEdge& edge : layers_.edges) ExpectEdge(*made, costs, edge);
}

INSTANTIATE_TEST_SUITE_P(Models, FreshTables,
                         testing::Values(Case{"lenet5", {}, 6}, Case{"mlp", {}, 16}, Case{"mini-inception", {}, 4},
                                         Case{"resnet-50",
                                              {.batch = 4, .image_size = 32, .channel_limit = 8},
                                              4,
                                              /*layers_alike=*/true}));

}  // namespace
}  // namespace partita
