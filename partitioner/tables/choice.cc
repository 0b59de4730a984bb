#include "partitioner/tables/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/generated_name.h"

namespace partita {
namespace {

std::vector<int> PrimesOf(int number) {
  std::vector<int> primes;
  for (int p = 2; number > 1; ++p) {
    for (; number % p == 0; number /= p) primes.insert(primes.begin(), p);
  }
  return primes;
}

// How many axes of one size each cut takes; the rest of them split nothing. `summed`: what k axes do.
Choice ChoiceOf(int axes, int n, int h, int w, int k, int c, Cut summed) {
  Choice choice(static_cast<size_t>(axes), Cut::kWhole);
  std::fill_n(choice.begin(), n, Cut::kSamples);
  std::fill_n(choice.begin() + n, h, Cut::kHeight);
  std::fill_n(choice.begin() + n + h, w, Cut::kWidth);
  std::fill_n(choice.rbegin(), c, Cut::kChannels);
  std::fill_n(choice.rbegin() + c, k, summed);
  return choice;
}

std::vector<Choice> ChoicesOfEqualAxes(int axes) {
  std::vector<Choice> choices;
  for (int n = axes; n >= 0; --n) {
    for (int h = axes - n; h >= 0; --h) {
      for (int w = axes - n - h; w >= 0; --w) {
        for (int c = axes - n - h - w; c >= 0; --c) {
          const int most = h + w > 0 ? 0 : axes - n - c;
          for (int k = most; k >= 0; --k) {
            choices.push_back(ChoiceOf(axes, n, h, w, k, c, Cut::kSummed));
            if (k > 0) choices.push_back(ChoiceOf(axes, n, h, w, k, c, Cut::kScattered));
          }
        }
      }
    }
  }
  return choices;
}

}  // namespace

Mesh PrimeMesh(int ranks) {
  Mesh mesh;
  for (const int prime : PrimesOf(ranks)) mesh.axes.push_back({fmt::format("a{}", mesh.axes.size()), prime});
  if (mesh.axes.empty()) mesh.axes.push_back({"a0", 1});
  return mesh;
}

Mesh GroupMesh(int data, int model) { return {{{"data", data}, {"model", model}}}; }

std::vector<Choice> AllChoices(const Mesh& mesh) {
  std::vector<Choice> choices = {{}};
  for (size_t first = 0, end = 0; first < mesh.axes.size(); first = end) {
    while (end < mesh.axes.size() && mesh.axes[end].size == mesh.axes[first].size) ++end;
    const std::vector<Choice> inner = ChoicesOfEqualAxes(static_cast<int>(end - first));
    std::vector<Choice> longer;
    for (const Choice& choice : choices) {
      for (const Choice& more : inner) {
        longer.push_back(choice);
        longer.back().insert(longer.back().end(), more.begin(), more.end());
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

void JoinAxes(Mesh& mesh, std::vector<Choice>& choices) {
  for (size_t a = 1; a < mesh.axes.size();) {
    if (!std::ranges::all_of(choices, [a](const Choice& choice) { return choice[a - 1] == choice[a]; })) {
      ++a;
      continue;
    }
    mesh.axes[a - 1].size *= mesh.axes[a].size;
    mesh.axes.erase(mesh.axes.begin() + static_cast<std::ptrdiff_t>(a));
    for (Choice& choice : choices) choice.erase(choice.begin() + static_cast<std::ptrdiff_t>(a));
  }
}

int DegreeOf(const Choice& choice, const Mesh& mesh, Cut cut) {
  int degree = 1;
  for (size_t a = 0; a < choice.size(); ++a) degree *= choice[a] == cut ? mesh.axes[a].size : 1;
  return degree;
}

std::string ToString(const Choice& choice, const Mesh& mesh) {
  constexpr char kLetters[] = "nhwcks";
  std::string text;
  for (const Cut cut : {Cut::kSamples, Cut::kHeight, Cut::kWidth, Cut::kChannels, Cut::kSummed, Cut::kScattered}) {
    const int degree = DegreeOf(choice, mesh, cut);
    if (degree > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " ", kLetters[static_cast<int>(cut)], degree);
  }
  return text.empty() ? "whole" : text;
}

Cut CutOfNode(Cut cut, bool leads, size_t rank) {
  if (cut != Cut::kSummed && cut != Cut::kScattered) return cut;
  if (leads) return Cut::kSummed;
  if (cut == Cut::kSummed) return Cut::kWhole;
  return rank < 3 ? Cut::kSamples : Cut::kHeight;
}

int DimensionOf(Cut cut, size_t rank) {
  if (cut == Cut::kSamples) return rank >= 1 ? 0 : -1;
  if (cut == Cut::kChannels) return rank >= 2 ? static_cast<int>(rank) - 1 : -1;
  if (cut == Cut::kHeight) return rank >= 3 ? 1 : -1;
  return cut == Cut::kWidth && rank == 4 ? 2 : -1;
}

std::vector<Rule> SplitsOf(const Graph& graph, const Node& node) {
  std::vector<Rule> splits = RulesOf(graph, node);
  if (!node.op->decomposition) return splits;
  // The pieces know what else they read in parts; this says what becomes of the first input and of the output.
  const Shape& output = graph.type(node.outputs[0]).shape;
  const int last = static_cast<int>(graph.type(node.inputs[0]).shape.size()) - 1;
  splits.insert(splits.begin(), {node.op->decomposition->split, {S(last)}, {output.empty() ? P() : S(last)}});
  return splits;
}

const Rule* FindSplit(const std::vector<Rule>& splits, const Shape& output, Cut cut) {
  const int dimension = DimensionOf(cut, output.size());
  for (const Rule& rule : splits) {
    if (rule.name == "partial") continue;
    const Pattern& made = rule.outputs[0];
    if (cut == Cut::kSummed) {
      if (made.kind == AxisLayout::Kind::kPartial && rule.name != "samples") return &rule;
      continue;
    }
    if (made.kind == AxisLayout::Kind::kSplit && made.dimension == dimension) return &rule;
    const bool of_samples = output.empty() && cut == Cut::kSamples && !rule.inputs.empty();
    if (of_samples && rule.inputs[0].kind == AxisLayout::Kind::kSplit && rule.inputs[0].dimension == 0) return &rule;
  }
  return nullptr;
}

int64_t ElementsAlong(const Graph& graph, const Node& node, const Rule& split) {
  for (size_t i = 0; i < node.inputs.size() && i < split.inputs.size(); ++i) {
    const Pattern& read = split.inputs[i];
    const bool parts = node.inputs[i] != kNoValue && read.kind == AxisLayout::Kind::kSplit;
    if (parts) return graph.type(node.inputs[i]).shape[read.dimension] / read.unit;
  }
  return 0;
}

std::optional<std::vector<std::optional<AxisConfig>>> AxesOf(const std::vector<Rule>& splits, const Value& output,
                                                             bool leads, const Choice& choice) {
  const bool piece = IsGenerated(output.name);
  std::vector<std::optional<AxisConfig>> axes;
  for (const Cut of_layer : choice) {
    const Cut cut = CutOfNode(of_layer, leads, output.type.shape.size());
    axes.push_back(AxisConfig{"replicate", 0, {}});
    if (cut == Cut::kFirst) axes.back()->split = "at";
    if (cut == Cut::kWhole || cut == Cut::kFirst) continue;
    // One name stands for all pieces of a user's node, so none of them alone can be a sum.
    const bool possible = cut != Cut::kSummed || !piece;
    if (const Rule* const split = possible ? FindSplit(splits, output.type.shape, cut) : nullptr)
      axes.back()->split = split->name;
    else if (!piece || !possible)
      return std::nullopt;
    else
      axes.back().reset();
  }
  return axes;
}

}  // namespace partita
