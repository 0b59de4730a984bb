// A choice of how each axis of a mesh splits a layer: along a dimension of its output, as in Jia et al. (1802.04924),
// or along a dimension that it sums over.
#ifndef PARTITA_PARTITIONER_TABLES_CHOICE_H_
#define PARTITA_PARTITIONER_TABLES_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/graph.h"
#include "graph/ir/op_definition.h"

namespace partita {

// kSummed: the layer's first node is split along a dimension that its output lacks (input channels, the rows of an
// embedding table, the classes of a loss), so each rank computes a summand; the nodes behind it are replicated.
// kScattered: the same, but the nodes behind it are split by rows or positions, those of [n,c] by samples, so the sum
// is scattered (Korthikanti et al., 2205.05198). kWhole: every rank of the axis computes all of the layer. kFirst: only
// the first rank does.
enum class Cut : uint8_t { kSamples, kHeight, kWidth, kChannels, kSummed, kScattered, kWhole, kFirst };
// Those that split a dimension of the output.
inline constexpr Cut kCuts[] = {Cut::kSamples, Cut::kHeight, Cut::kWidth, Cut::kChannels};

// Whether every rank of the axis reads a whole value of another layer and computes its whole gradient.
inline bool ReadsWhole(Cut cut) { return cut == Cut::kWhole || cut == Cut::kSummed; }

// By axis of the mesh.
using Choice = std::vector<Cut>;

// A mesh of this number of ranks along prime axes, the largest first: "a0:3 a1:2 a2:2". One rank: one axis of size 1.
Mesh PrimeMesh(int ranks);

// A mesh of `data` worker groups of `model` ranks each: "data:2 model:4".
Mesh GroupMesh(int data, int model);

// All degrees (n, h, w, k, c) whose product divides the ranks, k of the summed dimension; of axes of one size, k takes
// none where h or w do. Samples take the outermost axes, channels the innermost; between them lie rows, columns, the
// axes that split nothing, and the summed dimension. So each combination of degrees is one choice, but for k, whose
// sums are whole or scattered.
std::vector<Choice> AllChoices(const Mesh& mesh);

// Joins neighbouring axes that every layer splits alike: one collective over the joint axis takes the place of several.
void JoinAxes(Mesh& mesh, std::vector<Choice>& choices);

int DegreeOf(const Choice& choice, const Mesh& mesh, Cut cut);

// "n4 c2"; "whole" where nothing is split.
std::string ToString(const Choice& choice, const Mesh& mesh);

// What a cut is for one node of a layer, whose first output has this number of dimensions; `leads`: it is the first.
Cut CutOfNode(Cut cut, bool leads, size_t rank);

// The dimension of a value with this number of dimensions; -1: it has no such dimension.
int DimensionOf(Cut cut, size_t rank);

// The splits that a strategy can name of a node: its rules, and before them the split of its decomposition.
std::vector<Rule> SplitsOf(const Graph& graph, const Node& node);

// Of these splits the one that cuts the first output so; of a scalar, kSamples cuts the samples of its first input.
// nullptr: there is none.
const Rule* FindSplit(const std::vector<Rule>& splits, const Shape& output, Cut cut);

// How many elements that split has to divide.
int64_t ElementsAlong(const Graph& graph, const Node& node, const Rule& split);

// What a strategy says of a node with these splits and this first output; nullopt: it cannot be split so. `leads`: it
// is the first of its layer. Pieces of a user's node ("bn@running") say nothing of an axis over which they have no such
// split, as in graph/derive/partition.h.
std::optional<std::vector<std::optional<AxisConfig>>> AxesOf(const std::vector<Rule>& splits, const Value& output,
                                                             bool leads, const Choice& choice);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_CHOICE_H_
