// Predicted and measured times of the kinds of launches in steps.
#ifndef PARTITA_TOOLS_BENCHMARKS_ORACLE_KIND_TERMS_H_
#define PARTITA_TOOLS_BENCHMARKS_ORACLE_KIND_TERMS_H_

#include <map>
#include <string>
#include <vector>

#include "graph/ir/program.h"
#include "partitioner/explain/kind_seconds.h"
#include "partitioner/simulate/simulate.h"
#include "tools/commands/oracle/history.h"

namespace partita {

// Of each kind the median of all predictions of a step, in each of the rank with the most.
class PredictedKinds {
 public:
  void Add(const SimulatedStep& step, const Program& program);
  KindSeconds Medians() const;

 private:
  std::map<std::string, std::vector<double>> of_kind_;
};

// A term for each kind that was predicted and measured.
void AddKindTerms(const KindSeconds& predicted, const KindSeconds& measured, std::vector<GradedTerm>& terms);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_ORACLE_KIND_TERMS_H_
