// A language model whose classifier is the table of words. Under --mp neither logits nor their gradients are gathered,
// and the table lies by rows or by channels, whichever moves less; the results are those of one rank.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

// No number of ranks below divides the words.
constexpr int64_t kSamples = 4, kWords = 59, kChannels = 6;
constexpr int kSteps = 3;

// How the classifier multiplies by the table, and what it gives to the loss.
enum class Classifier { kMatMul, kBatchMatMul, kRows };

ValueId Logits(GraphBuilder& b, Classifier classifier, ValueId x, ValueId table) {
  if (classifier == Classifier::kBatchMatMul)
    return b.Add("logits", "batch_matmul", {x, table}, {{"transpose_y", true}});
  return b.Add("logits", "matmul", {x, table}, {{"transpose_w", true}});
}

absl::StatusOr<Model> MakeModel(int64_t places, Classifier classifier = Classifier::kMatMul, bool accuracy = false) {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kSamples, places});
  ValueId next = b.Input("next", DType::kI32, {kSamples, places});
  const ValueId table = b.Parameter("table", {kWords, kChannels}, "uniform", 0.5);
  const ValueId positions = b.Parameter("positions", {places, kChannels}, "uniform", 0.5);
  const ValueId read = b.Add("sum", "add", {b.Add("read", "embedding", {table, words}), positions});
  const ValueId gain = b.Parameter("norm/gain", {kChannels}, "constant", 1);
  const ValueId offset = b.Parameter("norm/offset", {kChannels}, "constant", 0);
  const ValueId x = b.Add("tanh", "tanh", {b.Dense("layer", read, kChannels)});
  ValueId logits = Logits(b, classifier, b.Add("norm", "layer_norm", {x, gain, offset}), table);
  logits = b.Bias("bias", b.Add("cooled", "scale", {logits}, {{"factor", 0.7}}));
  if (classifier == Classifier::kRows) {
    logits = b.Add("rows", "reshape", {logits}, {{"shape", IntList{-1, kWords}}});
    next = b.Add("next_rows", "reshape", {next}, {{"shape", IntList{-1}}});
  }
  const ValueId loss = b.SoftmaxCrossEntropy("loss", logits, next, 0.1);
  Model model;
  if (accuracy) {
    ASSIGN_OR_RETURN(model.graph, b.Build(loss, {b.Accuracy("accuracy", logits, next)}));
  } else {
    ASSIGN_OR_RETURN(model.graph, b.Build(loss));
  }
  model.optimizer = {"adam", {}};
  model.learning_rate.base = 0.01;
  return model;
}

HostTensor Words(int seed, int64_t places) {
  HostTensor words = SmallLabels(kSamples * places, kWords, seed);
  words.shape = {kSamples, places};
  return words;
}

absl::Status GoesTheWayOfOneRank(const Model& model, const Strategy& strategy, int64_t places) {
  return RunSideBySide(model, strategy, kSteps, [places](int step) -> std::map<std::string, HostTensor> {
    return {{"words", Words(step, places)}, {"next", Words(100 + step, places)}};
  });
}

constexpr std::pair<int, int> kMeshes[] = {{1, 2}, {1, 3}, {2, 2}, {1, 4}};

TEST(TiedTable, GivesWhatOneRankGives) {
  for (const Classifier classifier : {Classifier::kMatMul, Classifier::kBatchMatMul, Classifier::kRows}) {
    for (const int64_t places : {3, 40}) {
      ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(places, classifier));
      for (const auto& [data, split] : kMeshes) {
        ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
        const absl::Status status = GoesTheWayOfOneRank(model, strategy, places);
        EXPECT_TRUE(status.ok()) << static_cast<int>(classifier) << " of " << places << " places on " << data << " x "
                                 << split << ": " << status;
      }
    }
  }
}

// Of rows and logits a rank moves what is no larger than its rows of words.
TEST(TiedTable, NoLogitsAreGathered) {
  for (const Classifier classifier : {Classifier::kMatMul, Classifier::kBatchMatMul, Classifier::kRows}) {
    for (const int64_t places : {3, 40}) {
      ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(places, classifier));
      for (const auto& [data, split] : kMeshes) {
        ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, data, split));
        ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
        const LayerBytes moved = BytesOfLayers(program);
        for (const auto& [move, bytes] : moved) {
          for (const char* const name : {"logits", "cooled", "bias", "rows"})
            EXPECT_NE(move.second, name) << move.first;
        }
        const bool by_rows = places == 3;
        EXPECT_EQ(moved.contains({"reduce_scatter", "read"}), by_rows)
            << places << " places, " << data << " x " << split;
        EXPECT_EQ(moved.contains({"repartition", "table"}), !by_rows)
            << places << " places, " << data << " x " << split;
      }
    }
  }
}

// It counts what is before the label among all classes, so they are gathered, for the loss as well.
TEST(TiedTable, AnAccuracyNeedsAllClasses) {
  ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(3, Classifier::kMatMul, /*accuracy=*/true));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 1, 2));
  ASSERT_OK_AND_ASSIGN(const Program program, StepOf(model, strategy));
  EXPECT_TRUE(BytesOfLayers(program).contains({"all_gather", "bias"}));
  const absl::Status status = GoesTheWayOfOneRank(model, strategy, 3);
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace partita
