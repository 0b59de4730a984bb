// Writes forward graphs in C++:
//
//   GraphBuilder b(Ops());
//   ValueId x = b.Input("images", DType::kF32, {64, 28, 28, 1});
//   x = b.Relu("relu1", b.Conv2d("conv1", x, {.channels = 32, .kernel = 3, .padding = 1}));
//   absl::StatusOr<Graph> graph = b.Build(loss, {accuracy});
//
// The checks are those of graphs from files (graph/read/graph_assembler.h). The first error is kept: every later call
// gives kNoValue and Build returns the error. Layers create their parameters and states, named after the layer:
// "conv1/weights". Thread-compatible.
#ifndef PARTITA_OPS_GRAPH_BUILDER_H_
#define PARTITA_OPS_GRAPH_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/read/graph_assembler.h"

namespace partita {

// Along rows and columns; one number for both.
struct Sides {
  int64_t height, width;

  constexpr Sides(int64_t both) : height(both), width(both) {}
  constexpr Sides(int64_t high, int64_t wide) : height(high), width(wide) {}
};

// The lists of the ops themselves take all forms (GraphBuilder::Add).
struct WindowOptions {
  Sides kernel = 1;
  Sides stride = 1;
  Sides padding = 0;          // height: at the top and at the bottom, width: left and right
  bool count_padding = true;  // of average pools
};

struct Conv2dOptions {
  int64_t channels = 1;  // of the output
  Sides kernel = 1;
  Sides stride = 1;
  Sides padding = 0;  // as of windows
  Sides dilation = 1;
  int64_t groups = 1;
};

struct BatchNormOptions {
  double epsilon = 1e-3;
  double momentum = 0.1;  // the batch's share of new running statistics
  int64_t statistics_samples = 0;
};

class GraphBuilder {
 public:
  // `parameter_dtype`: of the parameters and states that layers create. `registry` must outlive builder and graph.
  explicit GraphBuilder(const OpRegistry& registry, DType parameter_dtype = DType::kF32)
      : assembler_(registry), dtype_(parameter_dtype) {}

  // Any op. Inputs may be kNoValue for an optional input that is absent.
  ValueId Add(const std::string& name, const std::string& op, const std::vector<ValueId>& inputs,
              const Attributes& attributes = {});

  ValueId Input(const std::string& name, DType dtype, const Shape& shape);
  ValueId Parameter(const std::string& name, const Shape& shape, const std::string& initializer, double scale = 1);
  ValueId State(const std::string& name, const Shape& shape, double value);
  // A state that begins with these numbers, row-major, and that no op changes.
  ValueId Table(const std::string& name, DType dtype, const Shape& shape, const std::vector<double>& values);

  ValueId Conv2d(const std::string& name, ValueId x, const Conv2dOptions& options);  // without bias
  ValueId MatMul(const std::string& name, ValueId x, int64_t units, const std::string& initializer = "he_normal");
  ValueId Bias(const std::string& name, ValueId x);
  // "<name>/matmul", then "<name>/bias".
  ValueId Dense(const std::string& name, ValueId x, int64_t units, const std::string& initializer = "he_normal");
  ValueId BatchNorm(const std::string& name, ValueId x, const BatchNormOptions& options = {});
  // Of the last dimension: "<name>/gain" and "<name>/offset".
  ValueId LayerNorm(const std::string& name, ValueId x, double epsilon);
  ValueId Relu(const std::string& name, ValueId x);
  ValueId Sigmoid(const std::string& name, ValueId x);
  ValueId MaxPool(const std::string& name, ValueId x, const WindowOptions& window);
  ValueId AveragePool(const std::string& name, ValueId x, const WindowOptions& window);
  ValueId GlobalAveragePool(const std::string& name, ValueId x);
  ValueId Dropout(const std::string& name, ValueId x, double rate);
  ValueId Concat(const std::string& name, const std::vector<ValueId>& parts, int64_t axis);
  ValueId Flatten(const std::string& name, ValueId x);  // [n,...] -> [n,k]
  ValueId SoftmaxCrossEntropy(const std::string& name, ValueId logits, ValueId labels, double label_smoothing = 0);
  ValueId Accuracy(const std::string& name, ValueId logits, ValueId labels);

  // The type of a value; only while there is no error.
  const TensorType& type(ValueId value) const { return assembler_.graph().type(value); }
  const absl::Status& status() const { return status_; }

  // The graph, or the first error. The builder is used up.
  absl::StatusOr<Graph> Build(ValueId loss, const std::vector<ValueId>& metrics = {},
                              const std::vector<FurtherLoss>& further_losses = {});

 private:
  bool Usable(const std::string& name, ValueId x, size_t least_rank);
  int64_t Channels(ValueId x) const { return type(x).shape.back(); }

  GraphAssembler assembler_;
  DType dtype_;
  absl::Status status_;
};

}  // namespace partita

#endif  // PARTITA_OPS_GRAPH_BUILDER_H_
