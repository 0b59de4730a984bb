// Builds an OpDefinition so that an op reads as one page:
//
//   return Op("relu").Inputs({"x"}).Shape(SameAsFirst).Rules(...).Gradient(ReluGradient).InPlace(0, 0);
//
// The built definition guards what it is given, so that the op's own functions stay short:
//   shape     is called only with all required inputs present and every input size in [1, 2^59]; what it returns is
//             refused if a size is not positive, the elements overflow or the rank exceeds kMaxRank
//   gradient  gets a copy of the node, which stays valid while the builder's graph grows
#ifndef PARTITA_OPS_FORMS_OP_BUILDER_H_
#define PARTITA_OPS_FORMS_OP_BUILDER_H_

#include <string>
#include <vector>

#include "graph/ir/op_definition.h"

namespace partita {

inline constexpr int kMaxRank = 8;

using ShapeFunction = std::function<absl::StatusOr<std::vector<TensorType>>(const NodeView&)>;
using RulesFunction = std::function<std::vector<Rule>(const NodeView&)>;
using FlopsFunction = std::function<double(const NodeView&)>;

class Op {
 public:
  explicit Op(std::string name);

  Op& Inputs(const std::vector<std::string>& names);      // activation-like
  Op& Parameters(const std::vector<std::string>& names);  // weight-like: their layout follows the activations
  Op& Optional(const std::string& name);
  Op& Gate(const std::string& name);      // optional; 0 leaves what the op updates as it was
  Op& Variadic(const std::string& name);  // at least one
  Op& Outputs(int count);
  Op& Attribute(const std::string& name, partita::Attribute default_value);
  Op& Required(const std::string& name, partita::Attribute type);
  Op& OptionalAttribute(const std::string& name, partita::Attribute type);  // absent unless it is set
  Op& Internal();                                                           // may not appear in a user's graph
  Op& As(Role role);

  Op& Shape(ShapeFunction shape);
  Op& Rules(RulesFunction rules);  // without: only all-R and all-At
  Op& Gradient(partita::Gradient gradient);
  Op& Flops(FlopsFunction flops);  // without: 0
  Op& InPlace(int input, int output);
  Op& Together(const std::vector<int>& shared_inputs);
  Op& MembersDiffer();         // of such a launch, in their attributes
  Op& TakesBf16(int input);    // in such a launch, where all else is f32
  Op& Rounds(int output);      // to bf16 in such a launch, besides
  Op& OneIfAbsent(int input);  // from a launch: a scalar
  Op& Windowed(int input);
  Op& View();
  Op& Decomposes(Decomposition decomposition);       // where a strategy splits it so
  Op& Computes(Precision precision);                 // in mixed precision; without: in f32
  Op& Wide(const std::vector<std::string>& inputs);  // f32 even if the op computes in bf16
  Op& GradientOfTerms(std::function<bool(const NodeView&)> predicate);
  Op& Constant(const std::vector<std::string>& inputs);  // no gradient flows to them
  Op& Updates(const std::vector<std::string>& inputs);   // states, and no gradient flows to them
  Op& Classes(const std::string& input);                 // an input that it reads by whole rows
  Op& MicroBatches(std::function<absl::Status(const NodeView&, int64_t)> check);
  Op& InTraining(Preparation preparation);
  Op& InEvaluation(Preparation preparation);

  operator OpDefinition() const;

 private:
  InputDefinition& Input(const std::string& name);

  OpDefinition definition_;
};

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_OP_BUILDER_H_
