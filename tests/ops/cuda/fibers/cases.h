// The cases of tests/ops/host/cases.cc that a test takes: the whole table, and twenty orders of all of it, take
// minutes.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_CASES_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_CASES_H_

#include <algorithm>
#include <iterator>
#include <vector>

#include "graph/ir/node_flops.h"
#include "tests/ops/host/kernel_case.h"

namespace partita::fibers {

#ifdef PARTITA_ALL_CASES
constexpr bool kAllCases = true;
#else
constexpr bool kAllCases = false;
#endif

inline std::vector<KernelCase> CasesUpTo(double flops) {
  std::vector<KernelCase> cases;
  std::ranges::copy_if(AllCases(), std::back_inserter(cases),
                       [flops](const KernelCase& c) { return kAllCases || FlopsOf(c.node) <= flops; });
  return cases;
}

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_CASES_H_
