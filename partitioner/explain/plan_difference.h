// The differences of two plans of one graph on one cluster, and their cost.
#ifndef PARTITA_PARTITIONER_EXPLAIN_PLAN_DIFFERENCE_H_
#define PARTITA_PARTITIONER_EXPLAIN_PLAN_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/value/layout.h"
#include "partitioner/explain/step_moves.h"
#include "partitioner/predict/predicted_plan.h"

namespace partita {

// A node of the user that lies otherwise.
struct SplitDifference {
  std::string node;
  std::string a, b;  // SplitOf
};

// A number of both plans, under a name.
struct NumberDifference {
  std::string name;
  int64_t a = 0, b = 0;

  int64_t more() const { return b - a; }
};

struct PlanDifference {
  int nodes = 0;                         // of the user, that both have
  std::vector<SplitDifference> splits;   // in the order of the graph
  std::vector<StepMove> only_a, only_b;  // moves that the other has not
  std::vector<NumberDifference> bytes;   // on wires, by those along whom they go: "data (2 ranks)"
  std::vector<NumberDifference> memory;  // of the fullest rank: its parts, and their sum as "arena"
  std::vector<NumberDifference> step;    // nanoseconds of the critical path by kind of work: they add up to `whole`
  NumberDifference whole;                // the step
};

PlanDifference DifferenceOf(const PredictedPlan& a, const PredictedPlan& b);

// The number of parts of a value, independent of the names of axes: "S0/4 S3/2"; "P/2": summands on two ranks, "At1/2":
// on the second of two, "whole" where nothing is cut. Uneven cuts are listed, "S0/2[0,3,8]", and so are the ranks of a
// further mesh, "S0/2 {1,4}".
std::string SplitOf(const Layout& layout, const Mesh& mesh);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_PLAN_DIFFERENCE_H_
