// How a layer lies over the axes of a mesh, in the words of Jia et al. (1802.04924): which dimension of what it makes
// each axis splits.
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

// kWhole: every rank of the axis has all of it and does the same; kFirst: the first rank alone.
enum class Cut : uint8_t { kSamples, kHeight, kWidth, kChannels, kWhole, kFirst };
inline constexpr Cut kCuts[] = {Cut::kSamples, Cut::kHeight, Cut::kWidth, Cut::kChannels};

// By axis of the mesh.
using Choice = std::vector<Cut>;

// A mesh of so many ranks along prime axes, the largest first: "a0:3 a1:2 a2:2". One rank: one axis of size 1.
Mesh PrimeMesh(int ranks);

// A mesh of `data` worker groups of `model` ranks each: "data:2 model:4".
Mesh GroupMesh(int data, int model);

// All degrees (n, h, w, c) whose product divides the ranks. Samples take the outermost axes, channels the innermost;
// between them lie rows, columns, and the axes that split nothing. So each has one choice.
std::vector<Choice> AllChoices(const Mesh& mesh);

int DegreeOf(const Choice& choice, const Mesh& mesh, Cut cut);

// "n4 c2"; "whole" where nothing is split.
std::string ToString(const Choice& choice, const Mesh& mesh);

// The dimension of a value of so many dimensions; -1: it has none such.
int DimensionOf(Cut cut, size_t rank);

// What a strategy calls the split by which a node makes its first output so; of a scalar the samples of what it reads.
std::optional<std::string> SplitName(const std::vector<Rule>& rules, const Shape& output, Cut cut);

// What a strategy says of a node with these rules and this first output; nullopt: it cannot be split so. Pieces of a
// user's node ("bn@running") say nothing of an axis over which they have no such split, as in graph/derive/partition.h.
std::optional<std::vector<std::optional<AxisConfig>>> AxesOf(const std::vector<Rule>& rules, const Value& output,
                                                             const Choice& choice);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_TABLES_CHOICE_H_
