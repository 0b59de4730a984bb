// Small graphs for the tests of schedules: ops that compute something simple, a catalogue that takes them, and programs
// around one graph.
#ifndef PARTITA_TESTS_GRAPH_SCHEDULE_SCHEDULE_TESTING_H_
#define PARTITA_TESTS_GRAPH_SCHEDULE_SCHEDULE_TESTING_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/ir/program.h"
#include "graph/make_schedule.h"

namespace partita {

// `input`, `parameter`, `state`; the moves; and
//   fill()         element i (global index) is i; with `partial` the rank's own summand i + 1000 (rank + 1)
//   combine(x...)  any number of inputs of the output's shape, which may be written in the place of input 0
//   twin(x, y)     two outputs, 0 in the place of input 0 and 1 in the place of input 1
//   reshape(x)     a view
//   slice(x)       the box of the output's shape from `begin` on
//   concat(x...)   one after the other along `axis`
const OpDefinition& TestOp(const std::string& name);

class TestGraph {
 public:
  explicit TestGraph(Mesh mesh = {}) : graph(std::move(mesh)) {}

  ValueId Input(const std::string& name, Shape shape, Layout layout = {}, DType dtype = DType::kF32);
  ValueId Parameter(const std::string& name, Shape shape, Layout layout = {});
  ValueId State(const std::string& name, Shape shape, Layout layout = {});
  // One output; layouts are completed with R.
  ValueId Op(const std::string& op, const std::string& name, std::vector<ValueId> inputs, Shape shape,
             Layout layout = {}, Attributes attributes = {});
  // `width` columns of x from `first` on, and tensors of two dimensions beside each other.
  ValueId Slice(const std::string& name, ValueId x, int64_t first, int64_t width);
  ValueId Concat(const std::string& name, const std::vector<ValueId>& inputs);
  std::vector<ValueId> Twin(const std::string& name, ValueId x, ValueId y);
  ValueId Move(const std::string& op, const std::string& axes, ValueId input, Layout layout,
               Attributes attributes = {});
  std::vector<ValueId> Bucket(const std::string& axes, const std::vector<ValueId>& inputs);

  Graph graph;

 private:
  Layout Complete(Layout layout) const;
};

// A program whose two entry points are the graph, with a group for every set of axes and coordinates.
Program ProgramOf(Graph graph);

// Takes every op but `refused`; every kernel wants the same workspace. With `columns` every operand of `fill`,
// `combine` and `twin` may be columns.
class TestKernels : public KernelCatalogue {
 public:
  explicit TestKernels(int64_t workspace_bytes = 0, bool columns = false)
      : workspace_bytes_(workspace_bytes), columns_(columns) {}
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override;
  bool TakesColumns(const LocalNode& node, const KernelChoice& choice, size_t operand) const override;

 private:
  int64_t workspace_bytes_;
  bool columns_;
};

// The schedules of all ranks; the test ends if one cannot be made.
std::vector<Schedule> SchedulesOf(const Program& program, const Graph& entry, const ScheduleOptions& options = {},
                                  int64_t workspace_bytes = 0, bool columns = false);

// A random graph on one rank: `combine`, `twin` and `reshape` nodes over earlier values, parameters with updates, some
// values reported. Sizes differ, so that memory is split and joined.
Graph RandomGraph(uint64_t seed, int nodes);

// Index of the launch with that name; -1 if there is none.
int FindLaunch(const Schedule& schedule, const std::string& name);

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_SCHEDULE_SCHEDULE_TESTING_H_
