// What the tests of every kernel along sequences claim.
#ifndef PARTITA_TESTS_OPS_HOST_SEQUENCE_CLAIMS_H_
#define PARTITA_TESTS_OPS_HOST_SEQUENCE_CLAIMS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// A node in f32 is bitwise identical for every number of threads, and agrees with the reference in f64.
inline void ExpectTheSameOnSeveralThreads(const LocalNode& node) {
  const std::vector<Values> inputs = SuitableInputs(node, 3);
  const std::vector<Values> expected = Outputs(InF64(node), inputs, {.reference_only = true});
  const std::vector<Values> alone = Outputs(node, inputs);
  for (size_t o = 0; o < expected.size(); ++o) EXPECT_LE(Distance(alone[o], expected[o]), 5e-6) << "output " << o;
  for (const int threads : {2, 3}) EXPECT_EQ(Outputs(node, inputs, {.threads = threads}), alone) << threads;
}

// Every kernel of a node with two sequences of 3 places says which of its lengths cannot be. `lengths`: that input.
inline void ExpectImpossibleLengthsAreRefused(const LocalNode& node, std::vector<Values> inputs, size_t lengths) {
  for (const std::string& kernel : HostKernelNames(node.op->name)) {
    const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
    for (const int length : {-1, 4}) {
      inputs[lengths] = {3, static_cast<double>(length)};
      const std::string said(RunKernel(node, inputs, options).status().message());
      const std::string expected = "sample 1 of the batch has length " + std::to_string(length);
      EXPECT_NE(said.find(expected + ", allowed are 0 to 3"), std::string::npos) << kernel << ": " << said;
    }
  }
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_SEQUENCE_CLAIMS_H_
