// Prints docs/reference/graph-ops.md: every op that a graph file may have, from its definition. Splits depend on
// attributes and on the number of dimensions, so they are collected from all cases that tests run of the op.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "tests/ops/op_cases.h"

namespace partita {
namespace {

constexpr char kHead[] =
    R"(# Ops of a graph

This table is generated from the definitions of the ops: `tools/docs --ops` writes it. Inputs and attributes in
brackets are optional; `...` means one or more. Other attributes have their defaults in parentheses. Splits are the
words that a strategy uses (docs/reference/strategy.md 1); which of them a node has depends on its number of dimensions
and its attributes. The compiler sets the attributes batch, first_sample, key and like, and the input iteration.
docs/reference/graph.md 3 has the shapes and explains what a table cannot.

| op | inputs | attributes | splits |
|---|---|---|---|
)";

using Splits = std::map<std::string, std::set<std::string>>;  // by op

// An op with all of these may be split along every dimension.
const std::set<std::string> kDimensions = {"samples",    "height",     "width",     "channels",
                                           "dimension1", "dimension2", "dimension3"};

void AddSplits(const OpDefinition& op, const NodeView& view, Splits& splits) {
  if (!op.rules) return;
  const auto is_split = [](const Pattern& pattern) { return pattern.kind == AxisLayout::Kind::kSplit; };
  for (const Rule& rule : op.rules(view)) {
    const bool named = std::ranges::any_of(rule.inputs, is_split) || std::ranges::any_of(rule.outputs, is_split);
    if (named) splits[op.name].insert(rule.name);
  }
  if (op.decomposition) splits[op.name].insert(op.decomposition->split);
}

// A case has one number of dimensions; an op may accept others. Inputs of the first one's shape change with it.
void AddSplitsOfCase(OpCase op_case, Splits& splits) {
  const OpDefinition& op = *Ops().Find(op_case.op);
  AddSplits(op, ViewOf(op_case), splits);
  if (op_case.inputs.empty()) return;
  const Shape first = op_case.inputs[0]->type.shape;
  if (first.empty()) return;
  for (size_t rank = 2; rank <= 5; ++rank) {
    Shape shape(rank, 2);
    shape.back() = first.back();
    NodeView view{op_case.attributes, {}, {}};
    std::vector<TensorType> types;
    types.reserve(op_case.inputs.size());
    for (const std::optional<CaseInput>& input : op_case.inputs) {
      if (input) types.push_back({input->type.dtype, input->type.shape == first ? shape : input->type.shape});
      view.inputs.push_back(input ? &types.back() : nullptr);
    }
    absl::StatusOr<std::vector<TensorType>> outputs = op.shape(view);
    if (!outputs.ok()) continue;
    view.outputs = *std::move(outputs);
    AddSplits(op, view, splits);
  }
}

// Sources have no cases: their dimensions are those of their attribute `shape`.
void AddSplitsOfSource(const OpDefinition& op, Splits& splits) {
  for (const IntList& shape : {IntList{1, 1, 1, 1}, IntList{1, 1, 1, 1, 1}}) {
    Attributes attributes;
    attributes.Set("shape", shape);
    AddSplits(op, {attributes, {}, {}}, splits);
  }
}

std::string Text(const std::set<std::string>& splits) {
  if (std::ranges::includes(splits, kDimensions)) return "every dimension";
  std::vector<std::string> names;
  for (const char* name : {"samples", "height", "width", "channels"}) {
    if (splits.contains(name)) names.push_back(name);
  }
  std::ranges::copy_if(splits, std::back_inserter(names),
                       [&](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Inputs(const OpDefinition& op) {
  std::vector<std::string> names;
  for (const InputDefinition& input : op.inputs) {
    names.push_back(input.optional ? fmt::format("[{}]", input.name) : input.name);
  }
  if (op.variadic) names.back() += " ...";
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string AttributesOf(const OpDefinition& op) {
  std::vector<std::string> names;
  for (const AttributeDefinition& attribute : op.attributes) {
    const std::string text = ToString(attribute.type_and_default);
    if (attribute.required) names.push_back(attribute.name);
    if (attribute.optional) names.push_back(fmt::format("[{}]", attribute.name));
    if (attribute.has_default()) names.push_back(fmt::format("{} ({})", attribute.name, text));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Table() {
  Splits splits;
  for (const OpCase& op_case : UserCases()) AddSplitsOfCase(op_case, splits);
  std::string table = kHead;
  for (const std::string& name : Ops().Names()) {
    const OpDefinition& op = *Ops().Find(name);
    if (!op.user) continue;
    if (op.inputs.empty()) AddSplitsOfSource(op, splits);
    table += fmt::format("| `{}` | {} | {} | {} |\n", name, Inputs(op), AttributesOf(op), Text(splits[name]));
  }
  return table;
}

}  // namespace
}  // namespace partita

int main() { std::fputs(partita::Table().c_str(), stdout); }
