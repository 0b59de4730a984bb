// ConvNeXt has the sizes that torchvision's has, and others that are asked for.
#include "tools/models/convnext.h"

#include <gtest/gtest.h>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

TEST(ConvNext, HasTheSizesOfThePublishedModels) {
  const auto count = [](int64_t channels, int64_t deep) -> int64_t {
    const absl::StatusOr<Model> model = MakeConvNext({.channels = channels, .blocks = {3, 3, deep, 3}}, Ops());
    return model.ok() ? ParameterCount(model->graph) : 0;
  };
  EXPECT_EQ(count(96, 9), 28'589'128);
  EXPECT_EQ(count(96, 27), 50'223'688);
  EXPECT_EQ(count(128, 27), 88'591'464);
  EXPECT_EQ(count(192, 27), 197'767'336);
  ASSERT_OK_AND_ASSIGN(const Model model, MakeConvNext({.batch = 1}, Ops()));
  EXPECT_NEAR(MultiplyAdds(model.graph) / 1e9, 4.456, 0.001);
}

// Norms need whole rows of channels; the depthwise convolutions are split by channels all the same.
TEST(ConvNext, IsCompiledForRanks) {
  ASSERT_OK_AND_ASSIGN(Model model,
                       MakeConvNext({.batch = 4, .image_size = 32, .channels = 6, .blocks = {1, 1, 1, 1}}, Ops()));
  ASSERT_OK_AND_ASSIGN(const Strategy strategy, DataModelStrategy(model.graph, 2, 3));
  ASSERT_OK_AND_ASSIGN(const Program program, MakeProgram(model, strategy, Ops()));
  EXPECT_EQ(program.ranks(), 6);
  const Graph& graph = program.graph(kTrainEntry);
  EXPECT_TRUE(graph.layout(graph.Find("stage1/1/depthwise/weights"))[1].split());
}

TEST(ConvNext, RejectsSizesThatItCannotHave) {
  const auto error = [](const ConvNextOptions& options) {
    return std::string(MakeConvNext(options, Ops()).status().message());
  };
  EXPECT_EQ(error({.blocks = {3, 0, 9, 3}}), "a stage has 0 blocks; at least 1 is needed");
  EXPECT_EQ(error({.channels = 0}), "channels is 0; at least 1 is needed");
}

}  // namespace
}  // namespace partita
