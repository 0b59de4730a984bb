// Ops of one element, or of those that lie at one place.
#include "ops/functors/elementwise.h"
#include "tests/ops/case_list.h"

namespace partita {

namespace {

// Where the function is defined, or bends.
template <typename F>
CaseInput Within(CaseInput x) {
  const auto set = [&x](const double(&range)[2]) {
    x.low = range[0];
    x.high = range[1];
  };
  if constexpr (!kIsActivation<F>) set(F::kDomain);
  if constexpr (requires { F::kBends; }) {
    if (x.fill == Fill::kSpread) set(F::kBends);
  }
  return x;
}

}  // namespace

void AddElementwise(Cases& cases) {
  const std::vector<std::pair<std::string, Shape>> shapes = {{"scalar", {}},          {"vector", {7}},
                                                             {"dense", {5, 3}},       {"cube", {2, 3, 5}},
                                                             {"image", {3, 5, 3, 2}}, {"rank5", {2, 1, 3, 2, 3}}};
  for (const auto& [variant, shape] : shapes) {
    // The only number of a scalar is where every function has a slope.
    const CaseInput spread = shape.empty() ? CaseInput{{DType::kF64, {}}, true, Fill::kUniform, 0.5, 2} : Spread(shape);
    ForEachType(SmoothOps(), [&]<typename F>() { cases.Add(F::Name(), variant, {}, {Within<F>(spread)}); });
    for (const char* op : {"mul", "sub", "maximum"}) cases.Add(op, variant, {}, {Free(shape), Free(shape)});
    cases.Add("masked", variant, {}, {Free(shape), CaseInput{{DType::kF64, shape}, false, Fill::kIntegers, 0, 2}});
    cases.Add("scale", variant, {{"factor", -0.3}}, {Free(shape)});
    cases.Add("over", variant, {}, {Free(shape), CaseInput{{DType::kF64, {}}, true, Fill::kUniform, 0.5, 2}});
    cases.Add("div", variant, {}, {Free(shape), {{{DType::kF64, shape}, true, Fill::kUniform, 0.5, 2}}});
    if (shape.empty()) continue;
    for (const double rate : {0.0, 0.3}) {
      cases.Add("dropout", variant + (rate > 0 ? "_dropping" : "_keeping"), {{"rate", rate}, {"key", "dropped"}},
                {Free(shape), Integers({}, 1000)});
    }
    cases.Add("cast", variant, {{"dtype", "f64"}}, {Free(shape)});
  }
  cases.Add("add", "one", {}, {Free({5, 3})});
  cases.Add("add", "scalars", {}, {Free({}), Free({})});
  cases.Add("add", "three", {}, {Free({3, 5, 3, 2}), Free({3, 5, 3, 2}), Free({3, 5, 3, 2})});
}

void AddElementwiseGradients(Cases& cases) {
  for (const std::string& op : NamesOf(decltype(Wrapped<GradientOf>(SmoothOps()))())) {
    cases.Add(op, "image", {}, {Fixed({3, 5, 3, 2}), Fixed({3, 5, 3, 2})});
  }
  cases.Add("noise", "image", {{"distribution", "normal"}, {"key", "drawn"}, {"first_sample", int64_t{2}}},
            {Fixed({3, 5, 3, 2}), Integers({}, 1000)});
  for (const int64_t axis : {0, 2}) {
    cases.Add("positions", "along" + std::to_string(axis), {{"axis", axis}, {"first_sample", int64_t{2}}},
              {Fixed({3, 5, 3, 2})});
  }
  for (const std::string& op : NamesOf(StepOps())) cases.Add(op, "image", {}, {Fixed({3, 5, 3, 2})});
  for (const char* op : {"greater", "greater_equal"}) {
    cases.Add(op, "image", {}, {Fixed({3, 5, 3, 2}), Fixed({3, 5, 3, 2})});
    cases.Add(op, "scalar", {}, {Fixed({}), Fixed({})});
  }
  cases.Add("maximum_share", "image", {}, {Fixed({3, 5, 3, 2}), Fixed({3, 5, 3, 2})});
  cases.Add("stop_gradient", "image", {}, {Fixed({3, 5, 3, 2})});
  cases.Add("pixels", "image", {{"dtype", "f64"}, {"mean", "0.3,0.4"}, {"deviation", "0.5,0.25"}},
            {{{{DType::kU8, {3, 5, 3, 2}}, false, Fill::kIntegers, 0, 256}}});
  cases.Add("pixels", "flat", {{"dtype", "f64"}, {"mean", "0.3"}, {"deviation", "0.5"}},
            {{{{DType::kU8, {5, 6}}, false, Fill::kIntegers, 0, 256}}});
  cases.Add("div_denominator_grad", "image", {}, {Fixed({3, 5, 3, 2}), Fixed({3, 5, 3, 2})});
}

}  // namespace partita
