// The 1.5-D grids Pr x Pc of Gholami et al. (1712.04432), all of 2 to 8 ranks and sizes that nothing divides: equal to
// one rank, and every layer's collectives move exactly the volumes of the paper's sections 2.2 and 2.3.
//
// With convolutions by channels: Y = W X needs an all_gather over the Pr ranks of a column, dX a sum over them, dW one
// over the Pc ranks of a row. In the paper's form dX is an all_reduce. In the other form each layer gathers its own
// input and dX is the reduce_scatter of the same blocks, half the bytes, and the loss takes the classes in parts; the
// first dense layer's summands go back through the reshape, which a channel split cannot pass. With convolutions by
// rows (domain): ghost rows, and dW over all ranks.
#include <gtest/gtest.h>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"

namespace partita {
namespace {

constexpr int64_t kWord = 8;  // f64
constexpr int64_t kBatch = 5;
constexpr int64_t kHeight = 11, kWidth = 3;
constexpr int kSteps = 3;

struct Layer {
  std::string name;
  int64_t weights, in, out;  // of one sample
  int64_t halo;              // words on one side of one sample
};

// Two convolutions of 3 x 3, one of 1 x 1, two dense layers. No biases: section 2 counts weights alone.
const std::vector<Layer>& Layers() {
  constexpr int64_t kPixels = kHeight * kWidth;
  static const auto& layers = *new std::vector<Layer>{
      {"conv1", 9 * 9 * 2, kPixels * 2, kPixels * 9, kWidth * 2},
      {"conv2", 11 * 9 * 9, kPixels * 9, kPixels * 11, kWidth * 9},
      {"conv3", 8 * 11, kPixels * 11, kPixels * 8, 0},
      {"dense1", kPixels * 8 * 13, kPixels * 8, 13, 0},
      {"dense2", 13 * 10, 13, 10, 0},
  };
  return layers;
}

absl::StatusOr<Model> MakeModel() {
  GraphBuilder b(Ops());
  const ValueId images = b.Input("images", DType::kF32, {kBatch, kHeight, kWidth, 2});
  const ValueId labels = b.Input("labels", DType::kI32, {kBatch});
  ValueId x = b.Relu("conv1/relu", b.Conv2d("conv1", images, {.channels = 9, .kernel = 3, .padding = 1}));
  x = b.Relu("conv2/relu", b.Conv2d("conv2", x, {.channels = 11, .kernel = 3, .padding = 1}));
  x = b.Relu("conv3/relu", b.Conv2d("conv3", x, {.channels = 8}));
  x = b.Flatten("flatten", x);
  x = b.Relu("dense1/relu", b.MatMul("dense1", x, 13));
  x = b.MatMul("dense2", x, 10);
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.SoftmaxCrossEntropy("loss", x, labels)));
  model.optimizer = {"sgd", {{"momentum", 0.9}}};
  model.learning_rate.base = 1e-2;
  return model;
}

struct Grid {
  int rows, columns;  // Pr, Pc
  LayerSplit convolutions;
  InputGradients form;

  bool domain() const { return convolutions == LayerSplit::kRows; }
  bool gathers_at_once() const { return form == InputGradients::kAllReduce; }
};

std::vector<Grid> Grids() {
  std::vector<Grid> grids;
  for (int rows = 1; rows <= 8; ++rows) {
    for (int columns = 1; rows * columns <= 8; ++columns) {
      if (rows * columns == 1) continue;
      for (const LayerSplit convolutions : {LayerSplit::kChannels, LayerSplit::kRows}) {
        for (const InputGradients form : {InputGradients::kAllReduce, InputGradients::kReduceScatter}) {
          grids.push_back({rows, columns, convolutions, form});
        }
      }
    }
  }
  return grids;
}

// Bytes that leave ranks: of a column's all_gather or reduce_scatter (Pr - 1) times the whole, over all columns.
class Volumes {
 public:
  explicit Volumes(const Grid& grid) : grid_(grid), rows_(grid.rows), columns_(grid.columns) {}

  LayerBytes Expected() {
    const std::vector<Layer>& layers = Layers();
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer& layer = layers[i];
      const bool convolution = layer.name[0] == 'c', first = i == 0, last = i + 1 == layers.size();
      const bool rows = convolution && grid_.domain();
      Add("all_reduce", layer.name + "/weights", 2 * ((rows ? rows_ * columns_ : columns_) - 1) * layer.weights);
      if (rows) {
        Ghosts(layer, first);
      } else if (last) {
        if (grid_.gathers_at_once()) {
          Add("all_gather", layer.name, Columns(layer.out));
        } else {
          Add("all_reduce", "loss", 2 * Columns(2));  // the maximum and the sum of a sample's classes
        }
        InputGradient(layers[i - 1].name + "/relu", layer);
      } else {
        // The output, gathered before relu, or after it by the next layer, which at the border is the reshape.
        Add("all_gather", layer.name + (grid_.gathers_at_once() ? "" : "/relu"), Columns(layer.out));
        const bool behind_reshape = !convolution && (grid_.gathers_at_once() || grid_.domain());
        if (!first) InputGradient(behind_reshape ? "flatten" : layers[i - 1].name + "/relu", layer);
      }
    }
    return std::move(bytes_);
  }

 private:
  void Add(const std::string& move, const std::string& value, int64_t words) {
    if (words > 0) bytes_[{move, value}] += words * kWord;
  }
  int64_t Columns(int64_t words) const { return (rows_ - 1) * kBatch * words; }

  // Both neighbours get their side's rows; the way back is that of the gradient, which the images do not want.
  void Ghosts(const Layer& layer, bool first) {
    const int64_t words = 2 * (rows_ - 1) * kBatch * layer.halo;
    const std::string input = first ? "images" : Before(layer);
    Add("halo_exchange", input, words);
    if (!first) Add("halo_exchange_adjoint", input, words);
    if (layer.name == "conv3") {  // the border between rows and features
      Add("all_gather", grid_.gathers_at_once() ? "conv3/relu" : "flatten", Columns(layer.out));
    }
  }

  void InputGradient(const std::string& input, const Layer& layer) {
    const bool scatters = !grid_.gathers_at_once();
    Add(scatters ? "reduce_scatter" : "all_reduce", input, (scatters ? 1 : 2) * Columns(layer.in));
  }

  static std::string Before(const Layer& layer) {
    return std::string("conv") + static_cast<char>(layer.name[4] - 1) + "/relu";
  }

  const Grid grid_;
  const int64_t rows_, columns_;
  LayerBytes bytes_;
};

std::ostream& operator<<(std::ostream& out, const Grid& grid) {
  return out << grid.rows << "x" << grid.columns << (grid.domain() ? "_rows" : "_channels")
             << (grid.gathers_at_once() ? "_all_reduce" : "_reduce_scatter");
}

class Grids15 : public testing::TestWithParam<Grid> {
 protected:
  void SetUp() override {
    absl::StatusOr<Model> model = MakeModel();
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    const Grid& grid = GetParam();
    absl::StatusOr<Strategy> strategy =
        DataModelStrategy(model_.graph, grid.columns, grid.rows, {grid.convolutions, LayerSplit::kChannels, grid.form});
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    strategy_ = *std::move(strategy);
  }
  Model model_;
  Strategy strategy_;
};

TEST_P(Grids15, EqualsOneRank) {
  const absl::Status status = RunSideBySide(model_, strategy_, kSteps, [](int step) {
    return NamedTensors{SmallImages({kBatch, kHeight, kWidth, 2}, step), SmallLabels(kBatch, 10, step)};
  });
  EXPECT_TRUE(status.ok()) << status;
}

// These collectives and no other.
TEST_P(Grids15, EveryLayerMovesThePapersVolumes) {
  const absl::StatusOr<Program> program = StepOf(model_, strategy_);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(BytesOfLayers(*program), Volumes(GetParam()).Expected());
}

INSTANTIATE_TEST_SUITE_P(All, Grids15, testing::ValuesIn(Grids()), testing::PrintToStringParamName());

}  // namespace
}  // namespace partita
