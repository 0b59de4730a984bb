// An entry point of a program: a named graph over the program's states, with its inputs and results.
#ifndef PARTITA_GRAPH_IR_ENTRY_POINT_H_
#define PARTITA_GRAPH_IR_ENTRY_POINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace partita {

// Those that the compiler makes of a model (docs/design.md 5.22).
inline constexpr char kTrainEntry[] = "train";
inline constexpr char kEvaluateEntry[] = "evaluate";
inline constexpr char kPredictEntry[] = "predict";

// That of another size of the graph (ModelEntry): "train/short". Without a size it is of the graph's own: "train".
inline std::string EntryName(std::string_view use, std::string_view size) {
  return size.empty() ? std::string(use) : std::string(use) + "/" + std::string(size);
}
// Whether an entry point is that use of the graph, in any size.
inline bool IsUse(std::string_view entry, std::string_view use) { return entry.substr(0, entry.find('/')) == use; }

inline constexpr char kField[] = "field";  // the attribute of an input that names what fills it

// What a caller gives before each step: one value of the graph, or one for each micro-batch, in their order.
struct EntryInput {
  std::string field;
  std::vector<ValueId> values;
};

// What a step reports.
struct EntryResult {
  std::string name;  // the user's; the value may be a move of what has it
  ValueId value = kNoValue;
};

struct EntryPoint {
  std::string name;
  Graph graph;
  std::vector<EntryInput> inputs;    // in the order of the graph
  std::vector<EntryResult> results;  // the loss, where the graph has one, further losses, metrics, in their order

  const EntryInput* FindInput(std::string_view field) const;  // nullptr: there is none
};

// What a graph is given, and its results as an entry point reports them: losses first. Votes are neither: they are
// between the processes of a job.
std::vector<EntryInput> InputsOf(const Graph& graph);
std::vector<ValueId> ResultsOf(const Graph& graph);
// What the host reads when a step has ended: the results, and behind them Graph::apply where the graph has it, then the
// sum of the votes if they are counted.
std::vector<ValueId> ReadByHost(const Graph& graph);

// The names of the results of a graph, in their order.
std::vector<std::string> ResultNamesOf(const Graph& graph);

// `names`: the user's names of the results (those of the forward graph that `graph` was made of).
EntryPoint MakeEntryPoint(std::string name, Graph graph, const std::vector<std::string>& names);
// The results have the names of the graph's values.
EntryPoint MakeEntryPoint(std::string name, Graph graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_ENTRY_POINT_H_
