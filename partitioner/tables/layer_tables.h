// The tables of a model for searches that choose a config for each layer: layer by layer (Jia et al.), or of a grid's
// modes (Gholami et al., Joo and Youn).
#ifndef PARTITA_PARTITIONER_TABLES_LAYER_TABLES_H_
#define PARTITA_PARTITIONER_TABLES_LAYER_TABLES_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/elimination/cost_tables.h"
#include "partitioner/tables/choice.h"
#include "partitioner/tables/layer_cost.h"
#include "partitioner/tables/layers.h"

namespace partita {

// The ops are the layers; then the shared parameters, whose choices split their own dimensions; then a hub for each
// value that several layers read, whose configs are the ways in which they do. From a hub each of them has what it
// reads for nothing if it reads it so: it is gathered once for all, and their gradients are added up before they go
// back.
struct LayerTables {
  Mesh mesh;
  CostTables tables;
  std::vector<std::vector<Choice>> choices;          // by op but hubs, by config
  std::vector<std::vector<double>> synchronization;  // likewise: of `tables`, the seconds of adding up gradients
  int matrices = 0;                                  // made; other edges share them
};

// Which of the choices a layer is given; it gets those that are possible.
using ChoiceFilter = std::function<bool(const OpLayer&, const Choice&)>;

// Jia's tables if the costs are for a PrimeMesh and no choice is omitted: degrees (n, c, h, w) over prime axes.
// kInvalidArgument: a layer has no choice, not even to be whole on every rank.
absl::StatusOr<LayerTables> MakeLayerTables(LayerCosts& costs, const ChoiceFilter& filter = nullptr);

// The first half of making them, by itself: asks for the costs of all choices of all layers, which are most of the
// work. Tables of these costs are then made of edges alone.
absl::Status PrepareLayers(LayerCosts& costs, const ChoiceFilter& filter = nullptr);

// Over a GroupMesh: a grid's columns are `data`, its rows `model`. Data always splits samples; model splits each
// layer's channels, rows, samples, a dimension that it sums over, or nothing. `of_groups`: convolutions share samples,
// dense layers channels of one side (Joo and Youn).
absl::StatusOr<LayerTables> GridModeTables(LayerCosts& costs, bool of_groups);

// Those modes.
ChoiceFilter GridModes(const LayerCosts& costs, bool of_groups);

// The same without these seconds: as if computing hid them. What it hides depends on the whole plan, so no table knows.
CostTables WithHiddenSums(const LayerTables& tables);

// The choices that configs stand for, by layer and then by shared parameter.
std::vector<Choice> ChoicesOf(const LayerTables& tables, const std::vector<int>& configs);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_LAYER_TABLES_H_
