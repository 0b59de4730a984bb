#include "ops/forms/rows.h"

#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Where dimension `d` of the rows is split.
Pattern InputOfSomeRows(RowPart part, int d) {
  const bool split = part == RowPart::kElements || part == RowPart::kRows || (part == RowPart::kSamples && d == 0);
  return split ? S(d) : R();
}

Pattern OutputOfSomeRows(RowPart part, int d) { return part == RowPart::kWhole ? P() : InputOfSomeRows(part, d); }

}  // namespace

absl::Status CheckRows(const NodeView& node, int index, const std::string& name) {
  RETURN_IF_ERROR(CheckFloating(node, index, name));
  return CheckRank(node, index, name, {2, 3, 4}, "[n,c], [n,t,c] or [n,h,w,c]");
}

Shape RowsOf(const Shape& x) { return Shape(x.begin(), x.end() - 1); }

std::vector<Rule> RowRules(int rank, const std::vector<RowPart>& inputs, const std::vector<RowPart>& outputs) {
  std::vector<Rule> rules;
  for (int d = 0; d + 1 < rank; ++d) {
    Rule rule{DimensionName(rank, d), {}, {}};
    for (const RowPart part : inputs) rule.inputs.push_back(InputOfSomeRows(part, d));
    for (const RowPart part : outputs) rule.outputs.push_back(OutputOfSomeRows(part, d));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Rule SplitRows(int rank, const std::string& name, const std::vector<RowPart>& inputs,
               const std::vector<RowPart>& outputs, Reduction reduction) {
  Rule rule{name, {}, {}};
  for (const RowPart part : inputs) rule.inputs.push_back(part == RowPart::kElements ? S(rank - 1) : R());
  for (const RowPart part : outputs) {
    rule.outputs.push_back(part == RowPart::kElements ? S(rank - 1) : P(reduction));
  }
  return rule;
}

}  // namespace partita
