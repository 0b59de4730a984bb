// Common parts of conv2d_epilogue and matmul_epilogue: an optional bias (input 2), and the element-wise op that
// attribute `activation` names (of EpilogueOps; empty: none).
#ifndef PARTITA_OPS_FORMS_EPILOGUE_H_
#define PARTITA_OPS_FORMS_EPILOGUE_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/ir/op_definition.h"

namespace partita {

// The activation may follow. The bias, if there is one, has a number for each channel of y, in f32 where y is bf16.
absl::Status CheckEpilogue(const NodeView& node, const TensorType& y);

// Those of a product x, w -> y under which y is whole: the bias is split as y's channels are.
std::vector<Rule> EpilogueRules(const std::vector<Rule>& product);

// An operation per element for the bias, and one for the activation.
double EpilogueFlops(const NodeView& node);

}  // namespace partita

#endif  // PARTITA_OPS_FORMS_EPILOGUE_H_
