// The table of cases while it is made, of cases.cc and those that are named below.
#ifndef PARTITA_TESTS_OPS_HOST_CASE_TABLE_H_
#define PARTITA_TESTS_OPS_HOST_CASE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

using Types = std::vector<std::optional<TensorType>>;

inline TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }
inline TensorType I32(Shape shape) { return {DType::kI32, std::move(shape)}; }

class CaseTable {
 public:
  void Add(const std::string& op, const Attributes& attributes, const Types& inputs) {
    AddNode(WholeNode(op, attributes, inputs));
  }
  // Named by its place among the cases of its op, from which its inputs come too: other ops change neither.
  void AddNode(LocalNode node) {
    const uint64_t place = places_[node.op->name]++;
    KernelCase result{node.op->name + "_" + std::to_string(place), std::move(node), {}};
    result.inputs = SuitableInputs(result.node, 100 + place);
    cases.push_back(std::move(result));
  }
  std::vector<KernelCase> cases;

 private:
  std::map<std::string, uint64_t> places_;
};

// Of nodes over [n,t,c], and of tables that are read by ids: sequence_cases.cc.
void AddSequenceProducts(CaseTable& table);
void AddBatchProducts(CaseTable& table);
void AddSharedProducts(CaseTable& table);
void AddExpansions(CaseTable& table);
void AddRecurrences(CaseTable& table);
void AddAttention(CaseTable& table);
void AddDotProductAttention(CaseTable& table);
void AddSequenceLosses(CaseTable& table);
void AddRows(CaseTable& table);
void AddMergedRows(CaseTable& table);
void AddSampledSoftmax(CaseTable& table);

// Of losses, of what they are made of, and of updates: training_cases.cc.
void AddLosses(CaseTable& table);
void AddSplitSoftmax(CaseTable& table);
void AddErrors(CaseTable& table);
void AddUpdates(CaseTable& table);

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_CASE_TABLE_H_
