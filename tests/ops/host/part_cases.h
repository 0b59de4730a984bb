// Parts of convolutions (LocalNode::within), with and without epilogue, of random sizes: rows and columns of the
// output, made from rows and columns of the input that lie in larger blocks, margins of zeros among them. And some of
// the groups of convolutions that have several.
#ifndef PARTITA_TESTS_OPS_HOST_PART_CASES_H_
#define PARTITA_TESTS_OPS_HOST_PART_CASES_H_

#include <cstdint>
#include <vector>

#include "tests/ops/host/kernel_case.h"

namespace partita {

struct PartCase {
  uint64_t seed = 0;
  LocalNode whole, part;
  std::vector<Values> inputs;       // of the whole
  std::vector<Values> part_inputs;  // what the memory of the part's inputs holds
};

// Of seeds 0 to `seeds`, those whose windows see more than padding.
std::vector<PartCase> RandomParts(uint64_t seeds);

// Convolutions with groups and their gradients, and the shares of ranks that hold some of the groups: the first ones,
// the last ones, one in the middle.
std::vector<PartCase> PartsOfGroups();

// What the memory of y must hold: the whole's values in the part, NaN around it.
Values ExpectedOfPart(const Values& whole, const LocalNode& part);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_PART_CASES_H_
