// Removes the drift of a machine between rounds from values that are compared within rounds.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_ROUND_DRIFT_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_ROUND_DRIFT_H_

#include <vector>

namespace partita {

// Of values[case][round], all of one positive unit, each case measured once in each round: every value over what its
// round is of an ordinary one, the median over the cases of value / median of its case. A round that is slow for all
// says nothing of a difference between them: their intervals are those within blocks. As each case has a part in what
// is taken out, what is left of k cases spreads too little, and is stretched around its median by sqrt(k / (k - 1)).
// A single case is left as it is. docs/papers.md 16.
std::vector<std::vector<double>> WithoutDrift(std::vector<std::vector<double>> values);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_ROUND_DRIFT_H_
