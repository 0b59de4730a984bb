// Computes the results of one node of an exported program whose operands are constants, as PyTorch does.
#ifndef PARTITA_IMPORTER_CONSTANTS_EVALUATION_H_
#define PARTITA_IMPORTER_CONSTANTS_EVALUATION_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/node_name.h"
#include "importer/constants/constants.h"
#include "importer/program/node_arguments.h"
#include "runtime/base/status.h"

namespace partita::torch_export {

class Evaluation {
 public:
  Evaluation(const ExportedProgram& program, Constants& constants, const Node& node)
      : program_(program), constants_(constants), node_(node), op_(OpOf(node.target)) {}

  absl::StatusOr<std::vector<Constant>> Run();
  static bool Computes(const std::string& op);
  // Whether the op reads no elements of that argument, only its size or type.
  static bool ReadsShape(const std::string& op, const std::string& argument);

 private:
  using One = absl::StatusOr<Constant>;
  using Way = One (Evaluation::*)();
  static const std::map<std::string, Way>& Ways();

  const TensorMeta& meta() const { return program_.tensors.at(node_.outputs[0]); }
  // The result's, where what varies with the batch has size 1.
  Shape ResultShape() const { return Dense(meta(), {}).shape; }
  One Of(const std::string& argument) const {
    ASSIGN_OR_RETURN(const std::string name, TensorOf(node_, argument));
    return *constants_.Find(name);
  }
  One Self() const { return Of(node_.arguments.contains("self") ? "self" : "input"); }
  // A tensor, or a number, as often as the result has elements.
  absl::StatusOr<std::vector<double>> Operand(const std::string& argument) const {
    const Shape shape = ResultShape();
    if (OptionalTensorOf(node_, argument).empty()) {
      const auto found = node_.arguments.find(argument);
      const bool* const truth = found == node_.arguments.end() ? nullptr : std::get_if<bool>(&found->second);
      if (truth == nullptr && !IsNumber(node_, argument)) {
        return InvalidArgument("argument {} is no number", Quoted(argument));
      }
      RETURN_IF_ERROR(CheckFixed(node_, argument));
      const double value = truth != nullptr ? static_cast<double>(*truth) : NumberOf(node_, argument, 0);
      return std::vector<double>(static_cast<size_t>(Elements(shape)), Held(value, NumberType()));
    }
    ASSIGN_OR_RETURN(const Constant constant, Of(argument));
    if (constant.counts_samples) return InvalidArgument("it computes with the numbers of samples");
    return Broadcast(constant, shape);
  }
  // Numbers take part as the tensors' type has them: f32 beside f32.
  ScalarType NumberType() const {
    if (IsFloat(meta().type)) return meta().type;
    const std::string self = OptionalTensorOf(node_, "self");
    const bool floats = !self.empty() && constants_.Find(self) != nullptr && IsFloat(constants_.Find(self)->type);
    return floats ? constants_.Find(self)->type : ScalarType::kF64;
  }
  absl::StatusOr<int> Dimension(const Constant& of, const std::string& argument, int64_t otherwise) const {
    return DimensionOf(IntegerOf(node_, argument, otherwise), of.shape.size());
  }
  absl::StatusOr<std::vector<Constant>> List(const std::string& argument) const;

  One Filled(double value) const {
    return Dense(meta(), std::vector<double>(static_cast<size_t>(Elements(ResultShape())), value));
  }
  One Zeros() { return Filled(0); }
  One Ones() { return Filled(1); }
  One Full() {
    RETURN_IF_ERROR(CheckFixed(node_, "fill_value"));
    return Filled(NumberOf(node_, "fill_value", TruthOf("fill_value")));
  }
  One Scalar() {
    RETURN_IF_ERROR(CheckFixed(node_, "s"));
    return Filled(NumberOf(node_, "s", TruthOf("s")));
  }
  // kInvalidArgument: one of the result's last dimensions is the batch, so that its elements are not all equal there.
  absl::Status CheckNoSamples(size_t dimensions) const {
    const std::vector<Size>& sizes = meta().sizes;
    for (size_t d = sizes.size() - std::min(sizes.size(), dimensions); d < sizes.size(); ++d) {
      if (!sizes[d].symbol.empty())
        return InvalidArgument(
            "what it makes differs from sample to sample; an export without dynamic_shapes, whose batch is that of its "
            "example, is read");
    }
    return absl::OkStatus();
  }
  double TruthOf(const std::string& argument) const { return SwitchOf(node_, argument, false) ? 1 : 0; }
  One Range();
  One Spaced();
  One Eye();

  One View();
  One Same() { return Self(); }
  One Copy();
  One Expand();
  One Permute();
  One Transpose();
  One Slice();
  One Select();

  One OfOne(double (*function)(double));
  One OfTwo(double (*function)(double, double));
  One Where();
  One MaskedFill();
  One Clamp();
  One Triangle();
  One Concatenate();
  One Stack();
  One Repeat();
  One Roll();
  One Flip();
  One CumulativeSum();
  One Difference();
  One Reduce();
  One Index();
  One IndexSelect();
  One OneHot();
  One Gather();
  One Pad();
  absl::StatusOr<std::vector<Constant>> Parts();

  // The result has as many dimensions as the operand.
  absl::Status CheckRank(const Constant& self) const {
    if (meta().sizes.size() == self.shape.size()) return absl::OkStatus();
    return InvalidArgument("its result has {} dimensions; its operand {}", meta().sizes.size(), self.shape.size());
  }
  // The elements of `of` whose index the function gives, for each of the result.
  One Taken(const Constant& of, const std::function<IntList(const IntList&)>& index) const;
  // Writes a result into the memory of the first operand.
  One Written(const Constant& result) const;

  const ExportedProgram& program_;
  Constants& constants_;
  const Node& node_;
  std::string op_;
};

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_CONSTANTS_EVALUATION_H_
