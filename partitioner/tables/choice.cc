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

// How many axes of one size each cut takes, and the rest of them nothing.
std::vector<Choice> ChoicesOfEqualAxes(int axes) {
  std::vector<Choice> choices;
  for (int n = axes; n >= 0; --n) {
    for (int h = axes - n; h >= 0; --h) {
      for (int w = axes - n - h; w >= 0; --w) {
        for (int c = axes - n - h - w; c >= 0; --c) {
          Choice choice(static_cast<size_t>(axes), Cut::kWhole);
          std::fill_n(choice.begin(), n, Cut::kSamples);
          std::fill_n(choice.begin() + n, h, Cut::kHeight);
          std::fill_n(choice.begin() + n + h, w, Cut::kWidth);
          std::fill_n(choice.rbegin(), c, Cut::kChannels);
          choices.push_back(std::move(choice));
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

int DegreeOf(const Choice& choice, const Mesh& mesh, Cut cut) {
  int degree = 1;
  for (size_t a = 0; a < choice.size(); ++a) degree *= choice[a] == cut ? mesh.axes[a].size : 1;
  return degree;
}

std::string ToString(const Choice& choice, const Mesh& mesh) {
  constexpr char kLetters[] = "nhwc";
  std::string text;
  for (const Cut cut : kCuts) {
    const int degree = DegreeOf(choice, mesh, cut);
    if (degree > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " ", kLetters[static_cast<int>(cut)], degree);
  }
  return text.empty() ? "whole" : text;
}

int DimensionOf(Cut cut, size_t rank) {
  if (cut == Cut::kSamples) return rank >= 1 ? 0 : -1;
  if (cut == Cut::kChannels) return rank >= 2 ? static_cast<int>(rank) - 1 : -1;
  if (cut == Cut::kHeight) return rank >= 3 ? 1 : -1;
  return cut == Cut::kWidth && rank == 4 ? 2 : -1;
}

std::optional<std::string> SplitName(const std::vector<Rule>& rules, const Shape& output, Cut cut) {
  const int dimension = DimensionOf(cut, output.size());
  for (const Rule& rule : rules) {
    if (rule.name == "partial") continue;
    const Pattern& made = rule.outputs[0];
    if (made.kind == AxisLayout::Kind::kSplit && made.dimension == dimension) return rule.name;
    const bool of_samples = output.empty() && cut == Cut::kSamples && !rule.inputs.empty();
    const bool splits = of_samples && rule.inputs[0].kind == AxisLayout::Kind::kSplit && rule.inputs[0].dimension == 0;
    if (splits) return rule.name;
  }
  return std::nullopt;
}

std::optional<std::vector<std::optional<AxisConfig>>> AxesOf(const std::vector<Rule>& rules, const Value& output,
                                                             const Choice& choice) {
  const bool piece = IsGenerated(output.name);
  std::vector<std::optional<AxisConfig>> axes;
  for (const Cut cut : choice) {
    axes.push_back(AxisConfig{"replicate", 0, {}});
    if (cut == Cut::kFirst) axes.back()->split = "at";
    if (cut == Cut::kWhole || cut == Cut::kFirst) continue;
    std::optional<std::string> split = SplitName(rules, output.type.shape, cut);
    if (split)
      axes.back()->split = *std::move(split);
    else if (!piece)
      return std::nullopt;
    else
      axes.back().reset();
  }
  return axes;
}

}  // namespace partita
