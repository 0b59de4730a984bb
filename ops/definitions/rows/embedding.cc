// y = rows of a table [v,e], one for each id: ids [n] or [n,t], y [n,e] or [n,t,e]. The id `padding_row` reads zeros,
// and no gradient flows from there; -1: none does.
//
//   embedding_grad(table?, ids, dy) rows=v    [v,e]   of each row the sum of dy where it was read, in their order
//
// With `row_gradients` training does without that: ids and dy are the gradient, as they are
// (graph/derive/row_gradients.h).
//
// An id that is no row is an error of the data, which the step finds. A split of the table's rows leaves ids whole: a
// rank reads zeros for rows that it does not hold, so that the results are summands, and adds up the gradients of its
// own rows alone. The table of a gradient says how the result shall lie and is not read.
#include "ops/definitions/rows/row_definitions.h"
#include "ops/forms/op_builder.h"
#include "ops/forms/op_checks.h"
#include "ops/forms/op_rules.h"
#include "ops/forms/rows.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// -1, or one of `rows`.
absl::Status CheckPaddingRow(const Attributes& attributes, int64_t rows) {
  const int64_t padding = attributes.Int("padding_row");
  if (padding >= -1 && padding < rows) return absl::OkStatus();
  return InvalidArgument("attribute padding_row is {}; it must be a row of the table, 0 to {}, or -1", padding,
                         rows - 1);
}

absl::StatusOr<std::vector<TensorType>> EmbeddingShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 0, "table"));
  RETURN_IF_ERROR(CheckRank(node, 0, "table", {2}, "[rows,channels]"));
  RETURN_IF_ERROR(CheckDType(node, 1, "ids", DType::kI32));
  RETURN_IF_ERROR(CheckRank(node, 1, "ids", {1, 2}, "[n] or [n,t]"));
  const TensorType& table = *node.inputs[0];
  RETURN_IF_ERROR(CheckPaddingRow(node.attributes, table.shape[0]));
  Shape y = node.inputs[1]->shape;
  y.push_back(table.shape[1]);
  return std::vector<TensorType>{{table.dtype, std::move(y)}};
}

absl::StatusOr<std::vector<TensorType>> EmbeddingGradShape(const NodeView& node) {
  RETURN_IF_ERROR(CheckFloating(node, 2, "dy"));
  RETURN_IF_ERROR(CheckRank(node, 2, "dy", {2, 3}, "[n,e] or [n,t,e]"));
  const TensorType& dy = *node.inputs[2];
  RETURN_IF_ERROR(CheckDType(node, 1, "ids", DType::kI32));
  RETURN_IF_ERROR(CheckShape(node, 1, "ids", RowsOf(dy.shape), "one for each row of dy"));
  RETURN_IF_ERROR(CheckAtLeast(node.attributes, "rows", 1));
  const int64_t rows = node.attributes.Int("rows");
  RETURN_IF_ERROR(CheckPaddingRow(node.attributes, rows));
  return std::vector<TensorType>{{dy.dtype, {rows, dy.shape.back()}}};
}

// Of ids of `rank` dimensions: by the ids, by channels, by the rows of the table.
std::vector<Rule> EmbeddingRules(const NodeView& node) {
  const int rank = static_cast<int>(node.inputs[1]->shape.size());
  std::vector<Rule> rules;
  for (int d = 0; d < rank; ++d) rules.push_back({DimensionName(rank + 1, d), {R(), S(d)}, {S(d)}});
  rules.push_back({"channels", {S(1), R()}, {S(rank)}});
  rules.push_back({"rows", {S(0), R()}, {P()}});
  rules.push_back(Partial({P(), R()}));
  return rules;
}

std::vector<Rule> EmbeddingGradRules(const NodeView& node) {
  const int rank = static_cast<int>(node.inputs[1]->shape.size());
  std::vector<Rule> rules;
  for (int d = 0; d < rank; ++d) rules.push_back({DimensionName(rank + 1, d), {R(), S(d), S(d)}, {P()}});
  rules.push_back({"channels", {S(1), R(), S(rank)}, {S(1)}});
  rules.push_back({"rows", {S(0), R(), R()}, {S(0)}});
  rules.push_back(Partial({R(), R(), P()}));
  return rules;
}

absl::StatusOr<std::vector<ValueId>> EmbeddingGradient(GradientBuilder& builder, const Node& node,
                                                       const std::vector<ValueId>& cotangents,
                                                       const std::vector<bool>& wanted) {
  std::vector<ValueId> result(2, kNoValue);
  if (!wanted[0]) return result;
  const ValueId table = node.inputs[0], ids = node.inputs[1];
  const Attributes attributes = {{"rows", InputShape(builder, node, 0)[0]},
                                 {"padding_row", node.attributes.Int("padding_row")},
                                 {"row_gradients", node.attributes.Bool("row_gradients")}};
  ASSIGN_OR_RETURN(const std::vector<ValueId> dtable,
                   builder.AddLike(table, "embedding_grad", {kNoValue, ids, cotangents[0]}, attributes,
                                   InputName(builder, node, 0)));
  result[0] = dtable[0];
  return result;
}

}  // namespace

OpDefinition EmbeddingOp() {
  return Op("embedding")
      .As(Role::kEmbedding)
      .Parameters({"table"})
      .Inputs({"ids"})
      .Attribute("padding_row", int64_t{-1})
      .Attribute("row_gradients", false)
      .Shape(EmbeddingShape)
      .Rules(EmbeddingRules)
      .Gradient(EmbeddingGradient);
}

OpDefinition EmbeddingGradOp() {
  return Op("embedding_grad")
      .Internal()
      .As(Role::kTableGradient)
      .Optional("table")
      .Inputs({"ids", "dy"})
      .Required("rows", int64_t{0})
      .Attribute("padding_row", int64_t{-1})
      .Attribute("row_gradients", false)
      .Shape(EmbeddingGradShape)
      .Rules(EmbeddingGradRules)
      .Flops([](const NodeView& node) { return Count(node.inputs[2]->shape); });
}

}  // namespace partita
