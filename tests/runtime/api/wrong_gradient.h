// A program whose update of one parameter reads a wrong gradient.
#ifndef PARTITA_TESTS_RUNTIME_API_WRONG_GRADIENT_H_
#define PARTITA_TESTS_RUNTIME_API_WRONG_GRADIENT_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/ir/program.h"
#include "graph/ir/rewriter.h"
#include "ops/registry.h"

namespace partita {

// The program with `factor` times the gradient of a parameter.
inline Program WithWrongGradient(Program program, const std::string& parameter, double factor) {
  EntryPoint& entry = *std::ranges::find(program.entries, kTrainEntry, &EntryPoint::name);
  const Graph& from = entry.graph;
  const auto state = std::ranges::find(from.states(), from.Find(parameter), &State::value);
  const NodeId update = from.value(state->update).producer;
  const ValueId gradient = state->gradient;
  Rewriter rewriter(from);
  ValueId wrong = kNoValue;
  for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
    if (id != update) {
      rewriter.Copy(id);
      continue;
    }
    const auto add = [&](const std::string& op, std::vector<ValueId> inputs, const Attributes& given) {
      const OpDefinition* const definition = Ops().Find(op);
      const Value value{"planted@" + op, from.type(gradient), from.layout(gradient), -1};
      return rewriter.graph().node(rewriter.graph().AddNode(
          {definition, *CompleteAttributes(*definition, given), std::move(inputs), {}, Phase::kUpdate}, {value}));
    };
    const ValueId times = add("constant", {}, {{"shape", from.type(gradient).shape}, {"value", factor}}).outputs[0];
    wrong = add("mul", {rewriter.At(gradient), times}, {}).outputs[0];
    Node node = from.node(id);
    for (ValueId& input : node.inputs) input = input == gradient ? wrong : rewriter.At(input);
    rewriter.Replace(id, std::move(node));
  }
  Graph changed = rewriter.Finish();
  changed.SetGradient(changed.Find(parameter), wrong);
  entry = MakeEntryPoint(kTrainEntry, std::move(changed));
  return program;
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_API_WRONG_GRADIENT_H_
