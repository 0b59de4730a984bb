#include "tests/ops/host/columns/column_case.h"

#include <limits>

#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// Makes an operand `width` columns, from `first` on, of rows of `pitch` elements.
void WidenRows(LocalNode& node, size_t operand, int64_t first, int64_t pitch) {
  node.within[operand].offset.back() -= first;
  node.within[operand].size.back() = pitch;
}

}  // namespace

LocalNode WithColumns(LocalNode node, const ColumnOperands& columns, int64_t first, int64_t more) {
  for (const auto& input : node.inputs) node.within.push_back(input ? input->box : Box{});
  for (const LocalTensor& output : node.outputs) node.within.push_back(output.box);
  const int64_t width = node.outputs.empty() ? 0 : InputShape(node, 0).back();
  for (const size_t i : columns.inputs) WidenRows(node, i, first, width + (more += 4));
  for (const size_t o : columns.outputs) WidenRows(node, node.inputs.size() + o, first, width + (more += 4));
  return node;
}

Values InRows(const LocalNode& node, size_t operand, const Values& values) {
  if (!node.HasColumns(operand)) return values;
  const Box &box = node.operand(operand)->box, &within = node.within[operand];
  const int64_t width = box.size.back(), pitch = within.size.back(), first = box.offset.back() - within.offset.back();
  Values rows(static_cast<size_t>(within.elements()), std::numeric_limits<double>::quiet_NaN());
  for (int64_t i = 0; i < box.elements(); ++i) rows[i / width * pitch + first + i % width] = values[i];
  return rows;
}

std::vector<Values> InRows(const LocalNode& node, std::vector<Values> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = InRows(node, i, inputs[i]);
  return inputs;
}

}  // namespace partita
