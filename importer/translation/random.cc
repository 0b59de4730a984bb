// Random numbers: noise, and masks that are drawn.
#include <cmath>

#include "importer/translation/arithmetic.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// A node of the result's shape, with all samples of the batch; what it holds does not matter.
absl::StatusOr<std::string> LikeResult(Translator& translator, const std::string& name) {
  const std::vector<Size>& sizes = translator.SizesOf(name);
  Shape shape;
  for (const Size& size : sizes) shape.push_back(size.value);
  const bool samples = !sizes.empty() && translator.PerSample(sizes[0]) == 1;
  if (samples) shape[0] = 1;
  ASSIGN_OR_RETURN(std::string node,
                   translator.Add(name + ".zeros", "constant", {}, {{"shape", shape}, {"value", 0.0}}));
  if (!samples) return node;
  ASSIGN_OR_RETURN(const std::string batch, translator.BatchOfZeros(shape.size(), name));
  return translator.Add(name + ".like", "add", {batch, node});
}

std::string Drawn(Formula& f, const char* distribution) {
  const std::string like = f.Kept([&] { return LikeResult(f.translator(), f.name()); });
  return f("noise", {like}, {{"distribution", std::string(distribution)}});
}

Order OrderOf(const Formula& f, Translator& translator) { return InOrder(translator.SizesOf(f.name()).size()); }

absl::Status Normal(Translator& translator, const Node& node) {
  Formula f(translator, node.outputs[0]);
  const double mean = NumberOf(node, "mean", 0), deviation = NumberOf(node, "std", 1);
  return Bound(f, f.Plus(f.Times(Drawn(f, "normal"), deviation), mean), OrderOf(f, translator));
}

absl::Status Uniform(Translator& translator, const Node& node) {
  Formula f(translator, node.outputs[0]);
  const double from = NumberOf(node, "from", 0), to = NumberOf(node, "to", 1);
  return Bound(f, f.Plus(f.Times(Drawn(f, "uniform"), to - from), from), OrderOf(f, translator));
}

// Whole numbers of [low, high).
absl::Status Integer(Translator& translator, const Node& node) {
  Formula f(translator, node.outputs[0]);
  for (const char* const argument : {"low", "high"}) RETURN_IF_ERROR(CheckFixed(node, argument));
  const double low = NumberOf(node, "low", 0), high = NumberOf(node, "high", 1);
  if (high <= low || high - low > (1 << 24)) return InvalidArgument("whole numbers from {} to {}", low, high);
  return Bound(f, f.Plus(f("floor", {f.Times(Drawn(f, "uniform"), high - low)}), low), OrderOf(f, translator));
}

// 1 with a probability, that of the element or one for all.
absl::Status Bernoulli(Translator& translator, const Node& node) {
  Formula f(translator, node.outputs[0]);
  const std::string drawn = Drawn(f, "uniform");
  const Order order = OrderOf(f, translator);
  std::string probability;
  if (IsNumber(node, "p")) {
    probability = f.Number(NumberOf(node, "p", 0.5), drawn);
  } else {
    const std::string named = OptionalTensorOf(node, "p"), own = OptionalTensorOf(node, "self");
    const Imported value = f.Kept([&] { return translator.Get(named.empty() ? own : named); });
    probability = f.Floats(f.Lifted(value, order));
  }
  return Bound(f, f.Result("greater", {probability, drawn}), order);
}

// x where it is kept, else the least that a selu gives; scaled and moved so that mean and variance stay.
absl::Status AlphaDropout(Translator& translator, const Node& node) {
  constexpr double kLeast = -1.7580993408473766;
  const double rate = NumberOf(node, "p", 0.5);
  if (rate == 0 || !SwitchOf(node, "train", true)) {
    return Made(translator, node, [](Formula&, const std::string& x) { return x; });
  }
  if (rate >= 1) return InvalidArgument("a dropout of all elements");
  const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kLeast * kLeast));
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string drawn = f("noise", {x}, {{"distribution", std::string("uniform")}});
    const std::string kept = f.Compared("ge", drawn, f.Number(rate, drawn));
    const std::string least = f.Times(f.Without(kept), kLeast);
    return f.Plus(f.Times(f("add", {f("masked", {x, kept}), least}), scale), -scale * kLeast * rate);
  });
}

}  // namespace

void AddRandom(Translations& translations) {
  translations.insert({{"randn", Normal},
                       {"randn_like", Normal},
                       {"normal", Normal},
                       {"rand", Uniform},
                       {"rand_like", Uniform},
                       {"uniform", Uniform},
                       {"randint", Integer},
                       {"randint_like", Integer},
                       {"bernoulli", Bernoulli},
                       {"alpha_dropout", AlphaDropout}});
}

}  // namespace partita::torch_export
