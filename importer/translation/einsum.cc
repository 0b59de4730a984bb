// Products of several operands by the labels of their dimensions: einsum, outer, dot and bilinear.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// A value whose PyTorch's dimension k is called labels[k].
struct Labelled {
  Imported value;
  std::string labels;
};

class Contraction {
 public:
  Contraction(Translator& translator, std::string name) : f_(translator, std::move(name)) {}

  absl::StatusOr<Labelled> Read(const std::string& tensor, const std::string& labels) {
    ASSIGN_OR_RETURN(Imported value, f_.translator().Whole(tensor, f_.name()));
    ASSIGN_OR_RETURN(value.node, f_.translator().AsFloats(value.node, f_.name()));
    const std::vector<Size>& sizes = f_.translator().SizesOf(tensor);
    if (value.rank() != labels.size() || sizes.size() != labels.size()) {
      return InvalidArgument("{} dimensions for '{}'", value.rank(), labels);
    }
    if (std::set<char>(labels.begin(), labels.end()).size() != labels.size()) {
      return InvalidArgument("'{}' names a dimension twice; diagonal takes it", labels);
    }
    for (size_t d = 0; d < labels.size(); ++d) {
      const auto [known, fresh] = sizes_.emplace(labels[d], sizes[d]);
      if (!fresh && known->second.value != sizes[d].value) {
        return InvalidArgument("dimension '{}' has {} and {} elements", std::string(1, labels[d]), known->second.value,
                               sizes[d].value);
      }
    }
    return Labelled{std::move(value), labels};
  }

  // Without the dimensions that `kept` does not name, over which it is added up.
  absl::StatusOr<Labelled> Summed(const Labelled& operand, const std::string& kept) {
    Labelled result = operand;
    for (size_t d = operand.labels.size(); d-- > 0;) {
      if (Has(kept, operand.labels[d])) continue;
      ASSIGN_OR_RETURN(result.value, SummedOver(f_.translator(), result.value, static_cast<int>(d), false, f_.name()));
      result.labels.erase(d, 1);
    }
    return result;
  }

  // The product, added up over the dimensions of both that `kept` does not name.
  absl::StatusOr<Labelled> Product(const Labelled& left, const Labelled& right, const std::string& kept) {
    std::string both, summed, of_left, of_right;
    for (const char label : left.labels) {
      (!Has(right.labels, label) ? of_left : Has(kept, label) ? both : summed).push_back(label);
    }
    for (const char label : right.labels) {
      if (!Has(left.labels, label)) of_right.push_back(label);
    }
    const std::string made = both + of_left + of_right;
    if (summed.empty()) {
      ASSIGN_OR_RETURN(const std::string x,
                       Beside(left, both + of_left, of_right.size(), both.size() + of_left.size()));
      ASSIGN_OR_RETURN(const std::string y, Beside(right, both + of_right, of_left.size(), both.size()));
      const std::string product = f_("mul", {x, y});
      RETURN_IF_ERROR(f_.status());
      return Labelled{{product, InOrder(made.size())}, made};
    }
    ASSIGN_OR_RETURN(const std::string x, Matrices(left, both, of_left, summed));
    ASSIGN_OR_RETURN(const std::string y, Matrices(right, both, summed, of_right));
    const std::string product = f_(both.empty() ? "matmul" : "batch_matmul", {x, y});
    RETURN_IF_ERROR(f_.status());
    ASSIGN_OR_RETURN(std::string shaped, f_.translator().Reshape(product, SizesOf(made), f_.name() + ".made"));
    return Labelled{{std::move(shaped), InOrder(made.size())}, made};
  }

  absl::Status Bind(const Labelled& operand, const std::string& result) {
    Order order;
    for (const int d : operand.value.order) {
      order.push_back(static_cast<int>(result.find(operand.labels[static_cast<size_t>(d)])));
    }
    return Bound(f_, operand.value.node, std::move(order));
  }

 private:
  std::vector<Size> SizesOf(const std::string& labels) const {
    std::vector<Size> sizes;
    for (const char label : labels) sizes.push_back(sizes_.at(label));
    return sizes;
  }

  absl::StatusOr<Imported> Lying(const Labelled& operand, const std::string& labels) {
    Order order;
    for (const char label : labels) order.push_back(static_cast<int>(operand.labels.find(label)));
    return f_.translator().In(operand.value, order, f_.name());
  }

  // The dimensions in that order, and `ones` of size 1 at a place among them.
  absl::StatusOr<std::string> Beside(const Labelled& operand, const std::string& labels, size_t ones, size_t place) {
    ASSIGN_OR_RETURN(const Imported value, Lying(operand, labels));
    std::vector<Size> sizes = SizesOf(labels);
    sizes.insert(sizes.begin() + static_cast<int64_t>(place), ones, Size{1});
    return f_.translator().Reshape(value.node, sizes, f_.name() + ".operand");
  }

  // The operand as [labels of both, rows, columns].
  absl::StatusOr<std::string> Matrices(const Labelled& operand, const std::string& both, const std::string& rows,
                                       const std::string& columns) {
    ASSIGN_OR_RETURN(const Imported value, Lying(operand, both + rows + columns));
    std::vector<Size> sizes = SizesOf(both);
    for (const std::string& part : {rows, columns}) {
      Size size{1};
      for (const char label : part) {
        const Size& one = sizes_.at(label);
        size = {size.value * one.value, size.symbol.empty() ? one.symbol : size.symbol};
      }
      sizes.push_back(size);
    }
    return f_.translator().Reshape(value.node, sizes, f_.name() + ".operand");
  }

  Formula f_;
  std::map<char, Size> sizes_;
};

// One product after the other, from the left.
absl::Status Contracted(Contraction& contraction, std::vector<Labelled> operands, const std::string& result) {
  const auto kept_by = [&](size_t from) {
    std::string kept = result;
    for (size_t i = from; i < operands.size(); ++i) kept += operands[i].labels;
    return kept;
  };
  for (size_t i = 0; i < operands.size(); ++i) {  // what one operand alone has is added up first
    std::string others = result;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (k != i) others += operands[k].labels;
    }
    ASSIGN_OR_RETURN(operands[i], contraction.Summed(operands[i], others));
  }
  Labelled product = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    ASSIGN_OR_RETURN(product, contraction.Product(product, operands[i], kept_by(i + 1)));
  }
  return contraction.Bind(product, result);
}

// "ij,jk->ik" as {"ij", "jk"} and "ik".
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

absl::StatusOr<Equation> EquationOf(std::string text) {
  std::erase(text, ' ');
  Equation equation;
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    equation.operands.push_back(left.substr(0, comma));
    left = left.substr(comma + 1);
  }
  equation.operands.push_back(left);
  std::map<char, int> times;
  for (const std::string& operand : equation.operands) {
    for (const char label : operand) {
      if (std::isalpha(static_cast<unsigned char>(label)) == 0) return InvalidArgument("an einsum of '{}'", text);
      ++times[label];
    }
  }
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
  } else {  // what only one operand has, in the order of letters
    for (const auto& [label, count] : times) {
      if (count == 1) equation.result.push_back(label);
    }
  }
  const std::set<char> distinct(equation.result.begin(), equation.result.end());
  const bool known = std::ranges::all_of(equation.result, [&](char label) { return times.contains(label); });
  if (!known || distinct.size() != equation.result.size()) return InvalidArgument("an einsum of '{}'", text);
  return equation;
}

absl::Status Einsum(Translator& translator, const Node& node) {
  const auto text = node.arguments.find("equation");
  const auto found = node.arguments.find("tensors");
  const auto* const words = text == node.arguments.end() ? nullptr : std::get_if<std::string>(&text->second);
  const auto* const tensors = found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (words == nullptr || tensors == nullptr) return InvalidArgument("it has no equation");
  ASSIGN_OR_RETURN(const Equation equation, EquationOf(*words));
  if (tensors->names.size() != equation.operands.size()) {
    return InvalidArgument("an einsum of '{}' with {} operands", *words, tensors->names.size());
  }
  Contraction contraction(translator, node.outputs[0]);
  std::vector<Labelled> operands;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    ASSIGN_OR_RETURN(Labelled operand, contraction.Read(tensors->names[i], equation.operands[i]));
    operands.push_back(std::move(operand));
  }
  return Contracted(contraction, std::move(operands), equation.result);
}

// Of two vectors: all products, or their sum.
absl::Status OfVectors(Translator& translator, const Node& node) {
  const bool outer = OpOf(node.target) == "outer";
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  const char* const second = outer ? "vec2" : OpOf(node.target) == "dot" ? "tensor" : "other";
  ASSIGN_OR_RETURN(const std::string other, TensorOf(node, second));
  Contraction contraction(translator, node.outputs[0]);
  ASSIGN_OR_RETURN(const Labelled x, contraction.Read(self, "i"));
  ASSIGN_OR_RETURN(const Labelled y, contraction.Read(other, outer ? "j" : "i"));
  return Contracted(contraction, {x, y}, outer ? "ij" : "");
}

// y[..,k] = sum over i and j of x1[..,i] w[k,i,j] x2[..,j], plus a bias.
absl::Status Bilinear(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "input1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "input2"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  const std::string rows = std::string("abcdefgh").substr(0, translator.SizesOf(first).size() - 1);
  Contraction contraction(translator, node.outputs[0]);
  ASSIGN_OR_RETURN(const Labelled x, contraction.Read(first, rows + "i"));
  ASSIGN_OR_RETURN(const Labelled w, contraction.Read(weight, "kij"));
  ASSIGN_OR_RETURN(const Labelled y, contraction.Read(second, rows + "j"));
  RETURN_IF_ERROR(Contracted(contraction, {x, w, y}, rows + "k"));
  const std::string bias = OptionalTensorOf(node, "bias");
  if (bias.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Imported made, translator.Get(node.outputs[0]));
  ASSIGN_OR_RETURN(made, translator.In(made, InOrder(made.rank()), node.outputs[0]));
  ASSIGN_OR_RETURN(const Imported b, translator.GetParameter(bias, {0}, Beginning::kZeros));
  ASSIGN_OR_RETURN(made.node, translator.Add(node.outputs[0], "add", {made.node, b.node}));
  translator.Bind(node.outputs[0], std::move(made));
  return absl::OkStatus();
}

}  // namespace

void AddEinsum(Translations& translations) {
  translations.insert(
      {{"einsum", Einsum}, {"outer", OfVectors}, {"dot", OfVectors}, {"vdot", OfVectors}, {"bilinear", Bilinear}});
}

}  // namespace partita::torch_export
