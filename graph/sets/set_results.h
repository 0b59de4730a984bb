// Derives loss and metrics of a whole set from those of its batches.
//
// A batch's mean says nothing of the set's mean until it is known what the batch divided by. So every result is an
// expression of terms: sums over samples, which add up over batches, and numbers that are made of them:
//
//   loss = ce(z, t, w / sum(w)) + 0.1 norm     0: sum(w)            1: ce, divided by term 0     2: norm
//                                              3: scale(2)          4: add(1, 3)                 the loss is term 4
//
// A batch reports the values of terms 0, 1 and 2. The set's value of term 1 is the sum over the batches of value x
// term 0, divided by the sum of term 0.
#ifndef PARTITA_GRAPH_IR_SET_RESULTS_H_
#define PARTITA_GRAPH_IR_SET_RESULTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace partita {

// A term by which a batch has divided a value, or multiplied it.
struct SetFactor {
  int term = 0;
  bool divides = true;

  bool operator==(const SetFactor&) const = default;
};

// A number of a batch, and of a set.
struct SetTerm {
  // Of a term that a batch reports: its place among the results of a step; -1: it is made of `inputs`.
  int result = -1;
  bool mean = false;                     // over the rows or places of the samples; else a sum over them
  bool same = false;                     // it does not depend on the batch
  bool decided = true;                   // false: samples of a batch influence each other in it
  std::vector<SetFactor> factors = {};   // earlier terms
  std::set<std::string> zero_with = {};  // a sample counts nothing where one of these inputs is 0

  std::string op = {};           // else: what it is made by
  double factor = 1;             // of `scale`
  std::vector<int> inputs = {};  // earlier terms
};

struct SetResults {
  std::vector<SetTerm> terms;
  std::vector<int> of_results;        // the term of the loss, of each further loss, of each metric
  std::vector<std::string> reported;  // scalars of the graph that a step reports behind these results
  // By entry point and term: over how many numbers of a sample a mean is; 1 for every other term.
  std::map<std::string, std::vector<double>> places;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_SET_RESULTS_H_
