// Weights of classes in a model's loss, as the weight of PyTorch's cross_entropy.
#ifndef PARTITA_GRAPH_READ_CLASS_WEIGHTS_H_
#define PARTITA_GRAPH_READ_CLASS_WEIGHTS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// What class weights need of a loss, softmax_cross_entropy of classes.
struct ClassLoss {
  std::string labels;   // the input's field
  int64_t classes = 0;  // that the logits tell apart
};

// kInvalidArgument: the loss is another op, or has what class weights do not go with: weights of samples, smoothed
// labels, an ignored label that is no class, labels that are no input.
absl::StatusOr<ClassLoss> ClassLossOf(const Model& model);

// The same model whose loss weighs each label by its class and divides a mean by the sum of the batch's weights:
//
//   before   loss = softmax_cross_entropy(logits, labels)
//   after    loss = softmax_cross_entropy(logits, labels, shares) reduction=sum
//            shares = over(w, sum(w)), w = embedding(loss/class_weights, labels)
//
// Where the model has class weights, these replace them. Needs ClassLossOf, and as many weights as classes.
absl::StatusOr<Model> WithClassWeights(const Model& model, const std::vector<double>& weights,
                                       const OpRegistry& registry);

// The state with a graph's class weights, if it has any; files of the model need not have it.
std::set<std::string> ClassWeightStates(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_CLASS_WEIGHTS_H_
