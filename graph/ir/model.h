// A model as a graph proto describes it: the forward graph with its loss, and how it is trained. The batch is in the
// input's shape.
#ifndef PARTITA_GRAPH_IR_MODEL_H_
#define PARTITA_GRAPH_IR_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/optimizer/optimizer.h"

namespace partita {

// The learning rate as a function of the step's number (ops/values/learning_rate_schedule.h).
struct LearningRate {
  // constant, step, exponential, halving, inverse_square_root, cosine, linear, polynomial, one_cycle,
  // plateau
  std::string schedule = "constant";
  double base = 0.1;  // the rate, or its peak
  int64_t steps = 0;  // length of the whole schedule, where it has one; 0: set by the trainer from epochs
  int64_t warmup_steps = 0;
  double decay = 0.1;
  int64_t decay_steps = 0;
  double final = 0;
  std::string warmup = "linear";  // or exponential
  int64_t decay_start = 0;        // halving: the first step of the halved rate
  int64_t decay_times = 0;        // halving: how often at most
  double power = 1;               // polynomial: the exponent
  int64_t patience = 0;           // plateau: epochs without a better test loss, after which the rate falls
};

// What the op that computes it is given, but for the element type.
inline Attributes AttributesOf(const LearningRate& rate) {
  Attributes attributes = {{"schedule", rate.schedule},
                           {"base", rate.base},
                           {"steps", rate.steps},
                           {"warmup_steps", rate.warmup_steps},
                           {"decay", rate.decay},
                           {"decay_steps", rate.decay_steps},
                           {"final", rate.final},
                           {"warmup", rate.warmup},
                           {"decay_start", rate.decay_start},
                           {"decay_times", rate.decay_times}};
  // Not with the others: files of earlier runs, which say what these were, have none.
  if (rate.schedule == "polynomial") attributes.Set("power", rate.power);
  return attributes;
}

// What a state is given that begins with `value` everywhere.
inline Attributes StateAttributes(const TensorType& type, double value) {
  return {{"dtype", std::string(Name(type.dtype))},
          {"shape", type.shape},
          {"initializer", std::string("constant")},
          {"scale", value}};
}

// What a graph can do under a name of its own, over the states of training (docs/design.md 5.22): train, evaluate and
// predict in other sizes; or, with results, compute these as evaluation does.
struct ModelEntry {
  struct Result {
    std::string value;  // of the user's graph
    std::string name;   // under which it is reported
  };

  std::string name;
  std::map<std::string, Shape> rows;  // by input: its sizes behind the batch, where they are not the graph's
  std::vector<Result> results;        // none: it is a size
  Graph graph;  // forward, in these sizes; with results what they need and all states: it has no loss, they are metrics

  bool is_size() const { return results.empty(); }
};

struct Model {
  std::string name;
  Graph graph;  // forward only, mesh without axes
  Optimizer optimizer;
  LearningRate learning_rate;
  std::vector<ModelEntry> entries = {};
};

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_MODEL_H_
