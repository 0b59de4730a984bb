// Operands that are columns of wider rows (LocalNode::HasColumns), as kernels see them: the address of their first
// element, and a pitch.
#ifndef PARTITA_OPS_VALUES_COLUMNS_H_
#define PARTITA_OPS_VALUES_COLUMNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/ir/kernel_catalogue.h"

namespace partita {

// Operands that a kernel can read or write as columns of wider rows.
struct ColumnOperands {
  std::vector<size_t> inputs = {}, outputs = {};

  // Whether the operand at this place in LocalNode::within is one of them.
  bool Take(const LocalNode& node, size_t operand) const {
    const size_t before = node.inputs.size();
    return operand < before ? std::ranges::count(inputs, operand) > 0
                            : std::ranges::count(outputs, operand - before) > 0;
  }
};

// Elements from a row of an operand to the next; 0: as many as it has columns.
inline int64_t PitchOf(const LocalNode& node, size_t operand) {
  return node.HasColumns(operand) ? node.within[operand].size.back() : 0;
}

// Bytes from the address of a launch's operand to its first element.
inline int64_t ColumnStart(const LocalNode& node, size_t operand) {
  if (!node.HasColumns(operand)) return 0;
  const LocalTensor& tensor = *node.operand(operand);
  return (tensor.box.offset.back() - node.within[operand].offset.back()) * SizeOf(tensor.dtype);
}

// What a kernel is bound to: the same KernelArguments with operands at their first elements.
template <typename Arguments>
Arguments AtColumns(const LocalNode& node, Arguments arguments) {
  const size_t inputs = arguments.inputs.size();
  for (size_t i = 0; i < inputs; ++i) {
    const void*& address = arguments.inputs[i];
    if (address != nullptr) address = static_cast<const char*>(address) + ColumnStart(node, i);
  }
  for (size_t o = 0; o < arguments.outputs.size(); ++o) {
    void*& address = arguments.outputs[o];
    if (address != nullptr) address = static_cast<char*>(address) + ColumnStart(node, inputs + o);
  }
  return arguments;
}

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_COLUMNS_H_
