#include "tests/mutation/mutate_strategy.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita {
namespace {

using Change = std::string (*)(Subject&, Dice&);

std::string ChangeMesh(Subject& subject, Dice& dice) {
  std::vector<MeshAxis>& axes = subject.strategy.mesh.axes;
  if (axes.empty() || dice.OneIn(8)) {
    axes.push_back({dice.OneIn(3) ? "data" : "more", 2});
  } else if (dice.OneIn(8)) {
    axes.pop_back();
  } else if (dice.OneIn(8)) {
    dice.Pick(axes).name = dice.OneIn(2) ? "modell" : "a b";
  } else {
    const std::vector<int> sizes = {1, 2, 3, 4, 5, 7, 0, -1, 40, 70000};
    dice.Pick(axes).size = dice.Pick(sizes);
  }
  return "mesh " + subject.strategy.mesh.ToString();
}

// Another mesh of ranks of the first one, most often a legal one; or a change of one that is there.
std::string ChangeFurtherMeshes(Subject& subject, Dice& dice) {
  std::vector<Mesh>& meshes = subject.strategy.further_meshes;
  const int size = std::clamp(subject.strategy.mesh.size(), 1, 8);
  if (!meshes.empty() && dice.OneIn(3)) {
    Mesh& mesh = dice.Pick(meshes);
    const std::vector<int> ranks = {0, 1, 2, -1, 7, 70000};
    mesh.ranks.push_back(dice.Pick(ranks));
    if (dice.OneIn(2)) mesh.axes.push_back({dice.OneIn(4) ? "data" : "more", 2});
    return "mesh " + mesh.name + " " + mesh.ToString();
  }
  Mesh mesh;
  mesh.name = dice.OneIn(8) ? "" : fmt::format("mesh{}", meshes.size());
  const int first = static_cast<int>(dice.Below(size)), ranks = 1 + static_cast<int>(dice.Below(size));
  mesh.axes = {{fmt::format("axis{}", meshes.size()), ranks}};
  for (int i = 0; i < ranks && !dice.OneIn(20); ++i) mesh.ranks.push_back((first + i) % size);
  meshes.push_back(mesh);
  for (int entries = 0; entries < 3; ++entries) {
    OpConfig entry{dice.Pick(subject.nodes).name, {}, {}};
    const std::vector<std::string> splits = {"samples", "channels", "output_channels", "height", "replicate", "at"};
    entry.axes[mesh.axes[0].name] = {dice.Pick(splits), 0, {}};
    subject.strategy.ops.insert(subject.strategy.ops.begin(), entry);
  }
  return "another mesh " + mesh.name + " " + mesh.ToString();
}

std::string AddEntry(Subject& subject, Dice& dice) {
  if (subject.strategy.mesh.axes.empty()) return "nothing";
  std::vector<OpConfig>& ops = subject.strategy.ops;
  ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(dice.Below(ops.size() + 1)), DrawEntry(subject, dice));
  return "another entry";
}

std::string RemoveEntry(Subject& subject, Dice& dice) {
  std::vector<OpConfig>& ops = subject.strategy.ops;
  if (ops.empty()) return "nothing";
  const size_t index = dice.Below(ops.size());
  const std::string pattern = ops[index].pattern;
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(index));
  return "without entry " + pattern;
}

std::string ReorderEntries(Subject& subject, Dice& dice) {
  std::vector<OpConfig>& ops = subject.strategy.ops;
  if (ops.size() < 2) return "nothing";
  std::swap(dice.Pick(ops), dice.Pick(ops));
  return "entries in another order";
}

std::string ChangePattern(Subject& subject, Dice& dice) {
  if (subject.strategy.ops.empty()) return "nothing";
  OpConfig& entry = dice.Pick(subject.strategy.ops);
  const std::string name = dice.Pick(subject.nodes).name;
  const std::vector<std::string> patterns = {name,       name,       name, "*",      "*/relu",
                                             "?" + name, name + "*", "",   "nobody", "**"};
  entry.pattern = dice.Pick(patterns);
  return "entry for " + entry.pattern;
}

AxisConfig* PickConfig(Subject& subject, Dice& dice) {
  if (subject.strategy.ops.empty()) return nullptr;
  OpConfig& entry = dice.Pick(subject.strategy.ops);
  auto& said = entry.update.empty() ? entry.axes : entry.update;
  if (said.empty()) return nullptr;
  return &std::next(said.begin(), static_cast<std::ptrdiff_t>(dice.Below(said.size())))->second;
}

std::string ChangeSplit(Subject& subject, Dice& dice) {
  AxisConfig* const config = PickConfig(subject, dice);
  if (config == nullptr) return "nothing";
  const std::vector<std::string> splits = {"samples",         "channels",       "height", "width",
                                           "output_channels", "input_channels", "at",     "dimension0",
                                           "partial",         "replicate",      "sample", ""};
  config->split = dice.Pick(splits);
  return fmt::format("split by '{}'", config->split);
}

std::string ChangeCoordinate(Subject& subject, Dice& dice) {
  AxisConfig* const config = PickConfig(subject, dice);
  if (config == nullptr) return "nothing";
  const std::vector<int> coordinates = {0, 1, 2, 3, -1, 1000000};
  if (dice.OneIn(2)) config->split = "at";
  config->coordinate = dice.Pick(coordinates);
  return fmt::format("{} {}", config->split, config->coordinate);
}

std::string ChangeCuts(Subject& subject, Dice& dice) {
  AxisConfig* const config = PickConfig(subject, dice);
  if (config == nullptr) return "nothing";
  config->cuts = {0};
  const size_t points = dice.OneIn(6)
                            ? dice.Below(5)
                            : std::max(1, subject.strategy.mesh.axes.empty() ? 1 : subject.strategy.mesh.axes[0].size);
  for (size_t i = 0; i < std::min<size_t>(points, 9); ++i) {
    config->cuts.push_back(config->cuts.back() + static_cast<int64_t>(dice.Below(5)) - dice.OneIn(9));
  }
  if (!dice.OneIn(3)) config->cuts.back() = 3 + static_cast<int64_t>(dice.Below(4));
  return fmt::format("cuts {}", fmt::join(config->cuts, ","));
}

std::string MoveToOtherAxis(Subject& subject, Dice& dice) {
  if (subject.strategy.ops.empty() || subject.strategy.mesh.axes.empty()) return "nothing";
  OpConfig& entry = dice.Pick(subject.strategy.ops);
  if (entry.axes.empty()) return "nothing";
  const AxisConfig config = entry.axes.begin()->second;
  const std::string axis = dice.OneIn(6) ? "dataa" : dice.Pick(subject.strategy.mesh.axes).name;
  if (dice.OneIn(2)) entry.axes.clear();
  (dice.OneIn(4) ? entry.update : entry.axes)[axis] = config;
  return fmt::format("entry for {} says something of axis {}", entry.pattern, axis);
}

std::string ChangeBuckets(Subject& subject, Dice& dice) {
  const std::vector<int64_t> bytes = {0, 1, 1000, int64_t{1} << 40, -1, -7};
  subject.strategy.bucket_bytes = dice.Pick(bytes);
  return fmt::format("buckets of {} bytes", subject.strategy.bucket_bytes);
}

}  // namespace

std::string MutateStrategy(Subject& subject, Dice& dice) {
  static const auto& changes = *new std::vector<Change>{
      ChangeMesh,          AddEntry,           AddEntry,         AddEntry,   RemoveEntry,     ReorderEntries,
      ChangePattern,       ChangeSplit,        ChangeCoordinate, ChangeCuts, MoveToOtherAxis, ChangeBuckets,
      ChangeFurtherMeshes, ChangeFurtherMeshes};
  return dice.Pick(changes)(subject, dice);
}

}  // namespace partita
