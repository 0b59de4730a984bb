// Batch normalization (Ioffe and Szegedy 2015) of x [n,c] or [n,h,w,c] per channel.
//
//   batch_norm(x, gamma, beta, running_mean, running_variance) statistics_samples=k
// is what a user writes. It has neither kernel nor gradient: in training it is
//   stats = batch_norm_statistics(x, shift) samples=k     [G,2,C]: per group sum(x-shift), sum((x-shift)^2)
//   y = batch_norm_normalize(x, stats, shift, gamma, beta) samples=k epsilon
//   mean, variance = batch_norm_running(stats, running_mean, running_variance, apply?) momentum count
// with shift = running_mean as it was before the step, which the new mean and variance update; in evaluation
//   y = batch_norm_inference(x, gamma, beta, running_mean, running_variance) epsilon
// which a `frozen` one is in training too: it leaves the running statistics as they are.
//
// Where no move lies between the first two, a GPU has both at once (ops/fusions/fuse_small_batch_norms.h):
//   y, stats = batch_norm_forward(x, shift, gamma, beta) samples=k epsilon
// and either adds a residual before its relu (ops/fusions/fuse_normalize_add.h):
//   y = batch_norm_normalize_add(x, stats, shift, gamma, beta, residual) samples=k epsilon
//   y, stats = batch_norm_forward_add(x, shift, gamma, beta, residual) samples=k epsilon
//
// m = elements per group and channel, of the global tensor. mean' = s1/m, variance = max(s2/m - mean'^2, 0) (biased),
// inv = 1/sqrt(variance + epsilon), xhat = (x - shift - mean') inv, y = gamma xhat + beta, with `relu` max(y, 0).
// Running statistics take the groups in order: new = (1 - momentum) old + momentum group's; their variance is unbiased
// (times m/(m-1)). stats is f64 (ops/forms/batch_norm_shapes.h says why), all else of x's type, but f32 beside a bf16 x
// and y.
#include "ops/definitions/definitions.h"
#include "ops/forms/batch_norm_shapes.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using enum BatchNormPart;

absl::Status CheckVariance(const BatchGroups& groups) {
  if (groups.elements >= 2) return absl::OkStatus();
  return InvalidArgument("a group of the batch has 1 element for each channel; a variance needs at least 2");
}

absl::StatusOr<std::vector<TensorType>> CompositeShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckBatchNormX(node));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  RETURN_IF_ERROR(CheckFraction(node.attributes, "momentum"));
  RETURN_IF_ERROR(CheckChannelVectors(node, 1, {"gamma", "beta", "running_mean", "running_variance"}));
  ASSIGN_OR_RETURN(const BatchGroups groups, GroupsOf(node.attributes, "statistics_samples", node.inputs[0]->shape));
  if (!node.attributes.Bool("frozen")) RETURN_IF_ERROR(CheckVariance(groups));
  return std::vector<TensorType>{*node.inputs[0]};
}

std::vector<Rule> VectorRules(const NodeView& node, int64_t unit) {
  const int rank = static_cast<int>(node.inputs[0]->shape.size());
  std::vector<Rule> rules = EveryDimension(rank, {true, false, false, false, false});
  rules[0].inputs[0] = rules[0].outputs[0] = S(0, unit);
  for (int i = 1; i < 5; ++i) rules[rank - 1].inputs[i] = S(0);
  return rules;
}

// A split of the samples may cut between groups only.
std::vector<Rule> CompositeRules(const NodeView& node) {
  const int64_t samples = node.attributes.Int("statistics_samples");
  if (node.attributes.Bool("frozen")) return VectorRules(node, 1);
  return VectorRules(node, samples == 0 || samples == node.inputs[0]->shape[0] ? 1 : samples);
}

absl::StatusOr<std::vector<TensorType>> BatchNormStatisticsType(const NodeView& node) {
  RETURN_IF_ERROR(CheckBatchNormX(node));
  RETURN_IF_ERROR(CheckChannelVectors(node, 1, {"shift"}));
  const Shape& x = node.inputs[0]->shape;
  ASSIGN_OR_RETURN(const BatchGroups groups, GroupsOf(node.attributes, "samples", x));
  RETURN_IF_ERROR(CheckVariance(groups));
  return std::vector<TensorType>{{kStatisticsType, StatisticsShape(groups, x)}};
}

absl::StatusOr<std::vector<TensorType>> NormalizeShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckBatchNormX(node));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  RETURN_IF_ERROR(CheckStatistics(node, 1, "stats"));
  RETURN_IF_ERROR(CheckChannelVectors(node, 2, {"shift", "gamma", "beta"}));
  return std::vector<TensorType>{*node.inputs[0]};
}

// Input `index` has the type and the shape of x.
absl::Status CheckResidual(const NodeView& node, int index) {
  RETURN_IF_ERROR(CheckDType(node, index, "residual", node.inputs[0]->dtype));
  return CheckLike(node, index, "residual", node.inputs[0]->shape, "the same as x");
}

absl::StatusOr<std::vector<TensorType>> NormalizeAddShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckResidual(node, 5));
  return NormalizeShape(node);
}

absl::StatusOr<std::vector<TensorType>> ForwardShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  ASSIGN_OR_RETURN(const std::vector<TensorType> statistics, BatchNormStatisticsType(node));
  RETURN_IF_ERROR(CheckChannelVectors(node, 2, {"gamma", "beta"}));
  return std::vector<TensorType>{*node.inputs[0], statistics[0]};
}

absl::StatusOr<std::vector<TensorType>> ForwardAddShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckResidual(node, 4));
  return ForwardShape(node);
}

absl::StatusOr<std::vector<TensorType>> RunningShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckDType(node, 0, "stats", kStatisticsType));
  RETURN_IF_ERROR(CheckRank(node, 0, "stats", {3}, "[groups,2,channels]"));
  if (node.inputs[0]->shape[1] != 2) {
    return InvalidArgument("input stats has shape {}; [groups,2,channels] is needed", ToString(node.inputs[0]->shape));
  }
  RETURN_IF_ERROR(CheckFraction(node.attributes, "momentum"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "count", 2));
  RETURN_IF_ERROR(CheckFloating(node, 1, "running_mean"));
  RETURN_IF_ERROR(
      CheckVectors(node, 1, {"running_mean", "running_variance"}, node.inputs[0]->shape[2], node.inputs[1]->dtype));
  RETURN_IF_ERROR(CheckApply(node, 3));
  return std::vector<TensorType>{*node.inputs[1], *node.inputs[2]};
}

std::vector<Rule> RunningRules(const NodeView&) { return {{"channels", {S(2), S(0), S(0), R()}, {S(0), S(0)}}}; }

absl::StatusOr<std::vector<TensorType>> InferenceShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckBatchNormX(node));
  RETURN_IF_ERROR(CheckPositive(node.attributes, "epsilon"));
  RETURN_IF_ERROR(CheckChannelVectors(node, 1, {"gamma", "beta", "running_mean", "running_variance"}));
  return std::vector<TensorType>{*node.inputs[0]};
}

absl::StatusOr<std::vector<ValueId>> StatisticsGradient(GradientBuilder& builder, const Node& node,
                                                        const std::vector<ValueId>& cotangents,
                                                        const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0],
                     AddOne(builder, "batch_norm_statistics_grad", {node.inputs[0], node.inputs[1], cotangents[0]},
                            node.attributes, InputName(builder, node, 0)));
  }
  return result;
}

// The shift is a constant of the step: it cancels in y.
absl::StatusOr<std::vector<ValueId>> NormalizeGradient(GradientBuilder& builder, const Node& node,
                                                       const std::vector<ValueId>& cotangents,
                                                       const std::vector<bool>& wanted) {
  std::vector<ValueId> result(5, kNoValue);
  const std::vector<ValueId>& in = node.inputs;
  const std::vector<ValueId> inputs = {in[0], cotangents[0], in[1], in[2], in[3], in[4]};
  if (wanted[1] || wanted[3] || wanted[4]) {
    ASSIGN_OR_RETURN(const std::vector<ValueId> sums,
                     builder.Add("batch_norm_gradient_sums", inputs, node.attributes, InputName(builder, node, 1)));
    result[1] = sums[0];
    result[3] = sums[1];
    result[4] = sums[2];
  }
  if (wanted[0]) {
    ASSIGN_OR_RETURN(result[0], AddOne(builder, "batch_norm_normalize_input_grad", inputs, node.attributes,
                                       InputName(builder, node, 0)));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> ByRunningStatistics(EntryBuilder& builder, const Node& node,
                                                         const std::string& name) {
  return builder.Add("batch_norm_inference", node.inputs, {{"epsilon", node.attributes.Float("epsilon")}}, {name});
}

// Statistics apart from normalising: their partial sums are then an ordinary value that moves.
absl::StatusOr<std::vector<ValueId>> InBatches(EntryBuilder& builder, const Node& node, const std::string& name) {
  if (node.attributes.Bool("frozen")) return ByRunningStatistics(builder, node, name);
  const ValueId x = node.inputs[0], gamma = node.inputs[1], beta = node.inputs[2];
  const ValueId mean = node.inputs[3], variance = node.inputs[4];
  ASSIGN_OR_RETURN(const BatchGroups groups,
                   GroupsOf(node.attributes, "statistics_samples", builder.graph().type(x).shape));
  const int64_t samples = node.attributes.Int("statistics_samples");
  ASSIGN_OR_RETURN(const std::vector<ValueId> statistics,
                   builder.Add("batch_norm_statistics", {x, mean}, {{"samples", samples}}, {name + "@statistics"}));
  ASSIGN_OR_RETURN(const std::vector<ValueId> y,
                   builder.Add("batch_norm_normalize", {x, statistics[0], mean, gamma, beta},
                               {{"samples", samples}, {"epsilon", node.attributes.Float("epsilon")}}, {name}));
  ASSIGN_OR_RETURN(const std::vector<ValueId> running,
                   builder.Add("batch_norm_running", {statistics[0], mean, variance, kNoValue},
                               {{"momentum", node.attributes.Float("momentum")}, {"count", groups.elements}},
                               {name + "@running_mean", name + "@running_variance"}));
  builder.SetUpdate(mean, running[0]);
  builder.SetUpdate(variance, running[1]);
  return y;
}

// With constant statistics it is linear in x: dx is dy normalised by mean 0, without beta.
absl::StatusOr<std::vector<ValueId>> InferenceGradient(GradientBuilder& builder, const Node& node,
                                                       const std::vector<ValueId>& cotangents,
                                                       const std::vector<bool>& wanted) {
  std::vector<ValueId> result(5, kNoValue);
  if (!wanted[0] && !wanted[1] && !wanted[2]) return result;
  const ValueId x = node.inputs[0], gamma = node.inputs[1], mean = node.inputs[3], variance = node.inputs[4];
  const Attributes normalize = {{"epsilon", node.attributes.Float("epsilon")}};
  ValueId dy = cotangents[0];
  if (node.attributes.Bool("relu")) {
    ASSIGN_OR_RETURN(dy, AddOne(builder, "relu_grad", {dy, node.outputs[0]}, {}, InputName(builder, node, 0)));
  }
  const TensorType channels = builder.graph().type(gamma);
  const auto filled = [&](double value, int index) {
    return AddOne(builder, "constant", {},
                  {{"dtype", std::string(Name(channels.dtype))}, {"shape", channels.shape}, {"value", value}},
                  InputName(builder, node, index));
  };
  IntList samples;
  for (int64_t d = 0; d + 1 < static_cast<int64_t>(builder.graph().type(x).shape.size()); ++d) samples.push_back(d);
  if (wanted[0]) {
    ASSIGN_OR_RETURN(const ValueId zero, filled(0, 0));
    ASSIGN_OR_RETURN(result[0], AddOne(builder, "batch_norm_inference", {dy, gamma, zero, zero, variance}, normalize,
                                       InputName(builder, node, 0)));
  }
  if (wanted[1]) {
    const std::string name = InputName(builder, node, 1);
    ASSIGN_OR_RETURN(const ValueId zero, filled(0, 1));
    ASSIGN_OR_RETURN(const ValueId one, filled(1, 1));
    ASSIGN_OR_RETURN(const ValueId normalized,
                     AddOne(builder, "batch_norm_inference", {x, one, zero, mean, variance}, normalize, name));
    ASSIGN_OR_RETURN(const ValueId product, AddOne(builder, "mul", {dy, normalized}, {}, name));
    ASSIGN_OR_RETURN(result[1], AddOne(builder, "sum", {product}, {{"axes", samples}}, name));
  }
  if (wanted[2]) {
    ASSIGN_OR_RETURN(result[2], AddOne(builder, "sum", {dy}, {{"axes", samples}}, InputName(builder, node, 2)));
  }
  return result;
}

// What follows the statistics of all samples would wait for the last micro-batch.
absl::Status WholeGroups(const NodeView& node, int64_t samples) {
  const int64_t group = InferredGroups(node).samples;
  if (samples % group == 0) return absl::OkStatus();
  return InvalidArgument(
      "micro-batches of {} samples cut the batch statistics, which are over {} samples; a statistics_samples that "
      "divides {} is needed",
      samples, group, samples);
}

FlopsFunction PerElement(double operations) {
  return [operations](const NodeView& node) { return operations * Count(node.inputs[0]->shape); };
}

}  // namespace

OpDefinition BatchNormOp() {
  return Op("batch_norm")
      .Inputs({"x"})
      .Parameters({"gamma", "beta", "running_mean", "running_variance"})
      .Updates({"running_mean", "running_variance"})
      .InTraining(InBatches)
      .InEvaluation(ByRunningStatistics)
      .Attribute("epsilon", 1e-3)
      .Attribute("momentum", 0.1)
      .Attribute("statistics_samples", int64_t{0})
      .Attribute("frozen", false)
      .Shape(CompositeShape)
      .Rules(CompositeRules)
      .Flops(PerElement(7));
}

OpDefinition BatchNormStatisticsOp() {
  return Op("batch_norm_statistics")
      .Internal()
      .Inputs({"x"})
      .Parameters({"shift"})
      .Attribute("samples", int64_t{0})
      .Shape(BatchNormStatisticsType)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kVector}, {kStatistics});
      })
      .MicroBatches(WholeGroups)
      .Gradient(StatisticsGradient)
      .Computes(Precision::kFollows)
      .Wide({"shift"})
      .Flops(PerElement(4));
}

OpDefinition BatchNormNormalizeOp() {
  return Op("batch_norm_normalize")
      .Internal()
      .Inputs({"x", "stats"})
      .Parameters({"shift", "gamma", "beta"})
      .Attribute("samples", int64_t{0})
      .Attribute("epsilon", 1e-3)
      .Attribute("relu", false)
      .Shape(NormalizeShape)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kStatistics, kVector, kVector, kVector}, {kElements});
      })
      .Gradient(NormalizeGradient)
      .Computes(Precision::kFollows)
      .Wide({"stats", "shift", "gamma", "beta"})
      .Flops(PerElement(3))
      .InPlace(0, 0);
}

OpDefinition BatchNormForwardOp() {
  return Op("batch_norm_forward")
      .Internal()
      .Inputs({"x"})
      .Parameters({"shift", "gamma", "beta"})
      .Outputs(2)
      .Attribute("samples", int64_t{0})
      .Attribute("epsilon", 1e-3)
      .Attribute("relu", false)
      .Shape(ForwardShape)
      .Rules([](const NodeView& node) {
        return WholeGroupRules(node, {kElements, kVector, kVector, kVector}, {kElements, kStatistics});
      })
      .Flops(PerElement(7))
      .InPlace(0, 0);
}

OpDefinition BatchNormNormalizeAddOp() {
  return Op("batch_norm_normalize_add")
      .Internal()
      .Inputs({"x", "stats"})
      .Parameters({"shift", "gamma", "beta"})
      .Inputs({"residual"})
      .Attribute("samples", int64_t{0})
      .Attribute("epsilon", 1e-3)
      .Attribute("relu", false)
      .Shape(NormalizeAddShape)
      .Rules([](const NodeView& node) {
        return BatchNormRules(node, {kElements, kStatistics, kVector, kVector, kVector, kElements}, {kElements});
      })
      .Flops(PerElement(4))
      .InPlace(0, 0)
      .InPlace(5, 0);
}

OpDefinition BatchNormForwardAddOp() {
  return Op("batch_norm_forward_add")
      .Internal()
      .Inputs({"x"})
      .Parameters({"shift", "gamma", "beta"})
      .Inputs({"residual"})
      .Outputs(2)
      .Attribute("samples", int64_t{0})
      .Attribute("epsilon", 1e-3)
      .Attribute("relu", false)
      .Shape(ForwardAddShape)
      .Rules([](const NodeView& node) {
        return WholeGroupRules(node, {kElements, kVector, kVector, kVector, kElements}, {kElements, kStatistics});
      })
      .Flops(PerElement(8))
      .InPlace(0, 0)
      .InPlace(4, 0);
}

OpDefinition BatchNormRunningOp() {
  return Op("batch_norm_running")
      .Internal()
      .Inputs({"stats"})
      .Parameters({"running_mean", "running_variance"})
      .Gate("apply")
      .Outputs(2)
      .Attribute("momentum", 0.1)
      .Required("count", int64_t{0})
      .Shape(RunningShape)
      .Rules(RunningRules)
      .Flops(PerElement(6))
      .InPlace(1, 0)
      .InPlace(2, 1)
      .Together({3})
      .MembersDiffer();
}

OpDefinition BatchNormInferenceOp() {
  return Op("batch_norm_inference")
      .Internal()
      .Inputs({"x"})
      .Parameters({"gamma", "beta", "running_mean", "running_variance"})
      .Attribute("epsilon", 1e-3)
      .Attribute("relu", false)
      .Shape(InferenceShape)
      .Rules([](const NodeView& node) { return VectorRules(node, 1); })
      .Gradient(InferenceGradient)
      .Computes(Precision::kFollows)
      .Wide({"gamma", "beta", "running_mean", "running_variance"})
      .Flops(PerElement(3))
      .InPlace(0, 0);
}

}  // namespace partita
