// Sums, means, norms and largest elements over axes.
#include <algorithm>

#include "importer/onnx/lowering.h"

namespace partita::onnx {
namespace {

// What an op does to each element, to those of an axis, and to their result; "": nothing.
struct Steps {
  std::string each, over, then;
};

absl::Status Reduce(Lowering& l) {
  static const auto& ops = *new std::map<std::string, Steps>{{"ReduceMean", {"", "mean", ""}},
                                                             {"ReduceSum", {"", "sum", ""}},
                                                             {"ReduceMax", {"", "amax", ""}},
                                                             {"ReduceMin", {"", "amin", ""}},
                                                             {"ReduceProd", {"", "prod", ""}},
                                                             {"ReduceL1", {"abs", "sum", ""}},
                                                             {"ReduceL2", {"", "linalg_vector_norm", ""}},
                                                             {"ReduceSumSquare", {"square", "sum", ""}},
                                                             {"ReduceLogSum", {"", "sum", "log"}},
                                                             {"ReduceLogSumExp", {"", "logsumexp", ""}}};
  const Steps& steps = ops.at(l.op());
  ASSIGN_OR_RETURN(Value x, l.In(0));
  ASSIGN_OR_RETURN(std::vector<size_t> axes, l.Axes(1, x.rank()));
  if (!steps.each.empty()) x = l.Add(steps.each, {{"self", NameOf(x)}}, x.type, x.sizes);
  const bool keeps_all = l.Integer("noop_with_empty_axes", 0) != 0,
             nothing = axes.empty() && (keeps_all || x.rank() == 0);
  const bool kept = l.Integer("keepdims", 1) != 0;
  if (!nothing) {
    if (axes.empty()) {
      for (size_t d = 0; d < x.rank(); ++d) axes.push_back(d);
    }
    Sizes sizes;
    for (size_t d = 0; d < x.rank(); ++d) {
      const bool reduced = std::ranges::find(axes, d) != axes.end();
      if (!reduced)
        sizes.push_back(x.sizes[d]);
      else if (kept)
        sizes.push_back({1});
    }
    x = l.Add(steps.over, {{"self", NameOf(x)}, {"dim", ListOf(axes)}, {"keepdim", kept}}, x.type, std::move(sizes));
  } else if (l.op() == "ReduceL2") {
    x = l.Add("abs", {{"self", NameOf(x)}}, x.type, x.sizes);
  }
  if (!steps.then.empty()) x = l.Add(steps.then, {{"self", NameOf(x)}}, x.type, x.sizes);
  return l.Pass(x);
}

absl::Status PlaceOfLargest(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", 0, x.rank()));
  if (l.Integer("select_last_index", 0) != 0) return InvalidArgument("the last of equal elements");
  if (!x.sizes[axis].symbol.empty()) return InvalidArgument("a place in the batch");
  const bool kept = l.Integer("keepdims", 1) != 0;
  Sizes sizes = x.sizes;
  sizes[axis] = {1};
  if (!kept) sizes.erase(sizes.begin() + static_cast<int64_t>(axis));
  return l.Result(l.op() == "ArgMax" ? "argmax" : "argmin",
                  {{"self", NameOf(x)}, {"dim", Size{static_cast<int64_t>(axis)}}, {"keepdim", kept}}, ScalarType::kI64,
                  std::move(sizes));
}

absl::Status CumulativeSum(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const double axis, l.Scalar(1));
  if (l.Integer("exclusive", 0) != 0 || l.Integer("reverse", 0) != 0) {
    return InvalidArgument("running sums that are exclusive or reverse");
  }
  const auto rank = static_cast<double>(x.rank());
  if (axis < -rank || axis >= rank) return InvalidArgument("axis {} of {} dimensions", axis, x.rank());
  const auto d = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  if (!x.sizes[d].symbol.empty()) return InvalidArgument("running sums over the batch");
  return l.Result("cumsum", {{"self", NameOf(x)}, {"dim", Size{static_cast<int64_t>(d)}}}, x.type, x.sizes);
}

}  // namespace

void AddReductions(Lowerings& lowerings) {
  for (const char* const name : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                                 "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"}) {
    lowerings[name] = Reduce;
  }
  lowerings.insert({{"ArgMax", PlaceOfLargest}, {"ArgMin", PlaceOfLargest}, {"CumSum", CumulativeSum}});
}

}  // namespace partita::onnx
