// What a node of an exported program is called, and the arguments that it has.
#ifndef PARTITA_IMPORTER_PROGRAM_NODE_ARGUMENTS_H_
#define PARTITA_IMPORTER_PROGRAM_NODE_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/attributes.h"
#include "importer/program/exported_program.h"

namespace partita::torch_export {

// torch.ops.aten.relu_.default -> relu: also of those that write into their first argument
std::string OpOf(const std::string& target);
// Whether the op writes into its first argument.
bool IsInPlace(const std::string& target);

// The tensors that it reads, of all arguments.
std::vector<std::string> ReadsOf(const Node& node);

// Arguments of a node. Those that it lacks are the defaults.
absl::StatusOr<std::string> TensorOf(const Node& node, const std::string& name);  // kInvalidArgument: no tensor
std::string OptionalTensorOf(const Node& node, const std::string& name);          // "": none
bool IsNumber(const Node& node, const std::string& name);
// kInvalidArgument: the argument is a number that differs from batch to batch, as the size of one.
absl::Status CheckFixed(const Node& node, const std::string& name);
double NumberOf(const Node& node, const std::string& name, double otherwise);
int64_t IntegerOf(const Node& node, const std::string& name, int64_t otherwise);
bool SwitchOf(const Node& node, const std::string& name, bool otherwise);
IntList IntegersOf(const Node& node, const std::string& name, const IntList& otherwise);
// A list of one stands for `count` equal ones.
IntList RepeatedOf(const Node& node, const std::string& name, const IntList& otherwise, size_t count);
// Padding in front of and behind each of `sides` dimensions, in turn: of a list of these, of one number for each
// dimension, or of one for all.
IntList PaddingAround(const Node& node, size_t sides);
// From the end where it is below 0. kInvalidArgument: there is no such dimension.
absl::StatusOr<int> DimensionOf(int64_t dimension, size_t rank);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_PROGRAM_NODE_ARGUMENTS_H_
