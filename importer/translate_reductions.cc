// Sums and means over dimensions.
#include <algorithm>

#include "importer/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::Status Reduce(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  const IntList dims = IntegersOf(node, "dim", {});
  std::vector<bool> reduced(x.rank(), dims.empty());
  for (const int64_t d : dims) {
    ASSIGN_OR_RETURN(const int dimension, DimensionOf(d, x.rank()));
    reduced[static_cast<size_t>(dimension)] = true;
  }
  const bool kept = SwitchOf(node, "keepdim", false);
  IntList axes;
  Order order;
  for (size_t j = 0; j < x.order.size(); ++j) {
    const int d = x.order[j];
    if (reduced[static_cast<size_t>(d)]) axes.push_back(static_cast<int64_t>(j));
    if (kept) {
      order.push_back(d);
    } else if (!reduced[static_cast<size_t>(d)]) {
      order.push_back(d - static_cast<int>(std::count(reduced.begin(), reduced.begin() + d, true)));
    }
  }
  const std::string op = OpOf(node.target) == "mean" ? "mean" : "sum";
  ASSIGN_OR_RETURN(std::string y, translator.Add(name, op, {x.node}, {{"axes", axes}, {"keep_sizes", kept}}));
  translator.Bind(name, {std::move(y), std::move(order)});
  return absl::OkStatus();
}

}  // namespace

void AddReductions(Translations& translations) { translations.insert({{"mean", Reduce}, {"sum", Reduce}}); }

}  // namespace partita::torch_export
