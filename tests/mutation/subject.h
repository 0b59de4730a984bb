// What is mutated: a valid graph as its nodes are described in a file, how it is trained, and a strategy for it.
#ifndef PARTITA_TESTS_MUTATION_SUBJECT_H_
#define PARTITA_TESTS_MUTATION_SUBJECT_H_

#include <map>
#include <random>
#include <string>
#include <vector>

#include "graph/derive/strategy.h"
#include "graph/ir/model.h"
#include "graph/read/graph_assembler.h"

namespace partita {

struct Subject {
  std::string model;
  std::vector<NodeDescription> nodes;
  std::string loss;
  std::vector<std::string> metrics;
  std::vector<FurtherLossDescription> further_losses;
  // What an input's numbers are drawn from, [first, second), by its name; others: [0, 1), of labels [0, 10).
  std::map<std::string, std::pair<double, double>> ranges;
  Optimizer optimizer;
  LearningRate learning_rate;
  Strategy strategy;
};

// Draws of one seed; the same on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed * 0x9E3779B97F4A7C15 + 1) {}

  // In [0, below).
  size_t Below(size_t below) { return generator_() % below; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename List>
  auto& Pick(List&& from) {
    return from[Below(from.size())];
  }

 private:
  std::mt19937_64 generator_;
};

// The forward graph as it is described.
absl::StatusOr<Graph> GraphOf(const Subject& subject);

// One of the shipped models in a tiny form, with a valid strategy on 1 to 4 ranks that names some of its nodes.
Subject DrawSubject(Dice& dice);

// An entry that names a node and one of the splits that its op has there.
OpConfig DrawEntry(const Subject& subject, Dice& dice);

// Groups of parameters with a rate, a decay, a momentum or a clip norm of their own, and moving averages: often none.
// What was drawn, in words.
std::string DrawGroups(Subject& subject, Dice& dice);

}  // namespace partita

#endif  // PARTITA_TESTS_MUTATION_SUBJECT_H_
