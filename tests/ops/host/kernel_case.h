// Runs one kernel on one node: what the tests of host kernels share. Values are doubles here, whatever the dtype is.
#ifndef PARTITA_TESTS_OPS_HOST_KERNEL_CASE_H_
#define PARTITA_TESTS_OPS_HOST_KERNEL_CASE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "runtime/exec/kernel.h"

namespace partita {

using Values = std::vector<double>;

// A whole (unsplit) node of `op`: attributes completed and output types inferred by the op's definition. An input with
// an empty optional is absent. Fails the test if the definition refuses it.
LocalNode WholeNode(const std::string& op, const Attributes& attributes,
                    const std::vector<std::optional<TensorType>>& inputs);

// Nodes of one op launched as one (LocalNode::members).
LocalNode Together(const std::vector<LocalNode>& nodes);

// Sums over dimensions, and their gradients, with others between them, which fast kernels refuse.
bool HasAxesApart(const LocalNode& node);

// A convolution, or a gradient of one, that the kernels for groups of few channels take and are the rule for.
bool HasGrouped(const LocalNode& node);

// The same node with f64 in place of f32.
LocalNode InF64(LocalNode node);

// The same node with bf16 in place of f32, as mixed precision has it: of a batch norm and a bias the elements alone.
// Not of nodes launched as one.
LocalNode InBf16(LocalNode node);

// `inputs` as the node's memory holds them: rounded where it is bf16.
std::vector<Values> Stored(const LocalNode& node, std::vector<Values> inputs);

// What an output may be off for being bf16, relative to its largest magnitude: it is rounded once. On a GPU an LSTM's
// state is rounded at every place, and what is f32 beside it is made from that.
double RoundingOnGpu(const LocalNode& node, size_t output);

// Makes `tensor` the part [begin, end) of dimension `dimension`.
void Narrow(LocalTensor& tensor, int dimension, int64_t begin, int64_t end);

// The values of the part of a dense tensor that `part` is.
Values Part(const Values& whole, const LocalTensor& part);

struct RunOptions {
  std::string family = "";  // of the kernel; empty: the first that takes the node
  bool reference_only = false;
  int threads = 1;
  int64_t misalignment = 0;  // bytes added to 64-byte aligned addresses of inputs and outputs
  bool off_by_one = false;   // and one element more: aligned to their elements alone
  bool in_place = false;     // outputs lie at the inputs that the op's definition names
  uint64_t seed = 7;
};

// Runs `run` on fresh addresses of the node (of the memory that its parts lie in), with `workspace_bytes` of workspace.
// Outputs and workspace are full of NaN (integers: -1) before; bytes around the outputs and the workspace are checked
// not to change. `kernel` is for messages.
absl::StatusOr<std::vector<Values>> RunOnBuffers(const LocalNode& node, const std::vector<Values>& inputs,
                                                 const RunOptions& options, int64_t workspace_bytes,
                                                 const std::string& kernel,
                                                 const std::function<absl::Status(const KernelArguments&)>& run);

// RunOnBuffers with a kernel of the host, on a host stream. Outputs and workspace are full of NaN (integers: -1)
// before; bytes around the outputs and the workspace are checked not to change.
absl::StatusOr<std::vector<Values>> RunKernel(const LocalNode& node, const std::vector<Values>& inputs,
                                              const RunOptions& options = {});

// RunKernel, which must succeed.
std::vector<Values> Outputs(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options = {});

// max |a - b| / max(1, max |b|); infinite if sizes differ or one is not a number where the other is.
double Distance(const Values& a, const Values& b);

// Numbers with a normal distribution that an f32 holds exactly.
Values RandomValues(int64_t elements, uint64_t seed);

// A node with the inputs it is run on.
struct KernelCase {
  std::string name;
  LocalNode node;
  std::vector<Values> inputs;
};

// f32 nodes of every op that has kernels: attributes, odd sizes, one and many channels (cases.cc).
const std::vector<KernelCase>& AllCases();

// Random inputs that suit the op (suitable_inputs.cc): labels are classes, variances are positive, statistics and
// maxima belong to x.
std::vector<Values> SuitableInputs(const LocalNode& node, uint64_t seed);

// Inputs with which the node leaves what it updates as it was: its gate (InputDefinition::gate) is 0, and no number
// comes in besides. Empty: it has no gate, or that is absent.
std::vector<Values> NotApplied(const LocalNode& node, std::vector<Values> inputs);

// Expects that each output of an f32 node is bitwise identical to the input whose bytes it uses.
void ExpectKept(const LocalNode& node, const std::vector<Values>& inputs, const std::vector<Values>& outputs);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_KERNEL_CASE_H_
