// What graphs of any inputs take from their data.
#include "runtime/train/graph_fields.h"

#include <gmock/gmock.h>

#include "graph/read/graph_assembler.h"
#include "ops/registry.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

NodeDescription Source(const std::string& name, const std::string& op, const Shape& shape, Attributes more = {}) {
  more.Set("shape", shape);
  return {name, op, {}, std::move(more)};
}

// Two classifiers over one input of numbers, which share labels [batch, 1] and tell 5 and 3 classes apart.
Graph TwoHeads(const Shape& labels) {
  return BuildGraph({Source("numbers", "input", {4, 6}, {{"field", "measured"}}),
                     Source("labels", "input", labels, {{"dtype", "i32"}}),
                     Source("ids", "input", {4, 2}, {{"dtype", "i32"}}),
                     Source("w5", "parameter", {6, 5}, {{"initializer", "he_normal"}}),
                     Source("w3", "state", {6, 3}, {{"initializer", "he_normal"}}),
                     {"logits5", "matmul", {"numbers", "w5"}, {}},
                     {"logits3", "matmul", {"numbers", "w3"}, {}},
                     {"flat", "reshape", {"labels"}, {{"shape", Shape{4}}}},
                     {"loss", "softmax_cross_entropy", {"logits5", "flat"}, {}},
                     {"accuracy", "accuracy", {"logits3", "flat"}, {}}},
                    "loss", {"accuracy"}, Ops())
      .value();
}

TEST(WantedFields, AreTheInputsByFieldWithTheClassesOfTheirReaders) {
  const std::vector<WantedField> wanted = WantedFields(TwoHeads({4, 1}), DType::kF64);
  ASSERT_EQ(wanted.size(), 3U);
  EXPECT_EQ(wanted[0].field, (Field{"measured", DType::kF64, {6}}));
  EXPECT_EQ(wanted[0].classes, 0);
  EXPECT_EQ(wanted[1].field, (Field{"labels", DType::kI32, {1}}));
  EXPECT_EQ(wanted[1].classes, 3);
  EXPECT_EQ(wanted[2].classes, 0);
}

// A row of a table of data: a column for each of two tables, and one that nothing bounds.
TEST(WantedFields, ColumnsAreIdsOfTheirOwnTables) {
  const auto column = [](const std::string& name, int64_t at) {
    return NodeDescription{name, "slice", {"row"}, {{"begin", Shape{0, at}}, {"size", Shape{-1, 1}}}};
  };
  const Graph graph = BuildGraph({Source("row", "input", {4, 3}, {{"dtype", "i32"}}),
                                  Source("labels", "input", {4}, {{"dtype", "i32"}}),
                                  Source("cities", "parameter", {9, 6}, {{"initializer", "he_normal"}}),
                                  Source("colours", "parameter", {2, 6}, {{"initializer", "he_normal"}}),
                                  column("first", 0),
                                  column("last", 2),
                                  {"city", "embedding", {"cities", "first"}, {}},
                                  {"colour", "embedding", {"colours", "last"}, {}},
                                  {"sum", "add", {"city", "colour"}, {}},
                                  {"logits", "reshape", {"sum"}, {{"shape", Shape{-1, 6}}}},
                                  {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}}},
                                 "loss", {}, Ops())
                          .value();
  const WantedField row = WantedFields(graph, DType::kF32)[0];
  EXPECT_EQ(row.classes, 9);
  EXPECT_TRUE(row.ids);
  EXPECT_EQ(row.classes_of, (std::vector<int64_t>{9, 0, 2}));
}

// Of a table of 9 rows and a smaller one; words that are labels as well are not told as ids.
TEST(WantedFields, IdsAreRowsOfTheirTables) {
  const Graph graph = BuildGraph({Source("words", "input", {4, 3}, {{"dtype", "i32"}}),
                                  Source("topics", "input", {4, 3}, {{"dtype", "i32"}}),
                                  Source("table", "parameter", {9, 6}, {{"initializer", "he_normal"}}),
                                  Source("small", "parameter", {7, 6}, {{"initializer", "he_normal"}}),
                                  {"word", "embedding", {"table", "words"}, {}},
                                  {"topic", "embedding", {"table", "topics"}, {}},
                                  {"other", "embedding", {"small", "topics"}, {}},
                                  {"sum", "add", {"word", "topic", "other"}, {}},
                                  {"loss", "softmax_cross_entropy", {"sum", "words"}, {}}},
                                 "loss", {}, Ops())
                          .value();
  const std::vector<WantedField> wanted = WantedFields(graph, DType::kF32);
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[0].classes, 6);
  EXPECT_FALSE(wanted[0].ids);
  EXPECT_EQ(wanted[1].classes, 7);
  EXPECT_TRUE(wanted[1].ids);
}

// A loss with a classifier inside: labels are below the rows of its weights.
TEST(WantedFields, LabelsOfASampledLossAreItsClasses) {
  const Graph graph =
      BuildGraph(
          {Source("x", "input", {4, 3, 6}),
           Source("next", "input", {4, 3}, {{"dtype", "i32"}}),
           Source("weights", "parameter", {9, 6}, {{"initializer", "he_normal"}}),
           Source("bias", "parameter", {9}, {{"initializer", "constant"}}),
           {"loss", "sampled_softmax_cross_entropy", {"x", "weights", "bias", "next"}, {{"samples", int64_t{4}}}}},
          "loss", {}, Ops())
          .value();
  const std::vector<WantedField> wanted = WantedFields(graph, DType::kF32);
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[0].classes, 0);
  EXPECT_EQ(wanted[1].classes, 9);
  EXPECT_FALSE(wanted[1].ids);
}

// A mean over the labels that are not ignored divides by their number; a sum does not. Labels that another op reads
// must be classes.
TEST(WantedFields, LabelsMayBeIgnored) {
  const auto labels_of = [](const std::string& reduction, bool accuracy_ignores) {
    const Attributes ignoring = {{"ignore_index", int64_t{-100}}};
    Attributes of_loss = ignoring;
    of_loss.Set("reduction", reduction);
    const Graph graph =
        BuildGraph({Source("x", "input", {4, 3, 6}),
                    Source("next", "input", {4, 3}, {{"dtype", "i32"}}),
                    Source("weights", "parameter", {6, 5}, {{"initializer", "he_normal"}}),
                    {"logits", "matmul", {"x", "weights"}, {}},
                    {"loss", "softmax_cross_entropy", {"logits", "next"}, of_loss},
                    {"accuracy", "accuracy", {"logits", "next"}, accuracy_ignores ? ignoring : Attributes()}},
                   "loss", {"accuracy"}, Ops())
            .value();
    return WantedFields(graph, DType::kF32)[1];
  };
  EXPECT_EQ(labels_of("mean", true).ignored, -100);
  EXPECT_TRUE(labels_of("mean", true).divides);
  EXPECT_EQ(labels_of("mean", true).classes, 5);
  EXPECT_TRUE(labels_of("sum", true).divides);  // the accuracy is a mean
  EXPECT_EQ(labels_of("mean", false).ignored, std::nullopt);
  EXPECT_FALSE(labels_of("mean", false).divides);
}

// A loss over words is weighed by what its weights are made from.
TEST(WantedFields, LengthsHavePlacesAndWeightsWeigh) {
  const Graph graph = BuildGraph({Source("x", "input", {4, 3, 8}),
                                  Source("ends", "input", {4}, {{"dtype", "i32"}}),
                                  Source("next", "input", {4, 3}, {{"dtype", "i32"}}),
                                  Source("counts", "input", {4, 3}),
                                  Source("recurrent", "parameter", {2, 8}, {{"initializer", "he_normal"}}),
                                  {"states", "lstm", {"x", "recurrent", "", "", "", "ends"}, {}},
                                  {"all", "sum", {"counts"}, {}},
                                  {"shares", "over", {"counts", "all"}, {}},
                                  {"loss", "softmax_cross_entropy", {"states", "next", "shares"}, {}}},
                                 "loss", {}, Ops())
                          .value();
  const std::vector<WantedField> wanted = WantedFields(graph, DType::kF32);
  ASSERT_EQ(wanted.size(), 4U);
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(wanted[i].places, i == 1 ? 3 : 0) << i;
    EXPECT_EQ(wanted[i].weighs, i == 3) << i;
    EXPECT_EQ(wanted[i].divides, i == 3) << i;
  }
}

TEST(BatchRows, AreThoseOfEveryInput) {
  EXPECT_EQ(BatchRows(TwoHeads({4, 1})).value(), 4);
  const absl::Status refused = BatchRows(TwoHeads({2, 2})).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("input 'labels' is i32[2,2], input 'measured' is f32[4,6]"));
}

}  // namespace
}  // namespace partita
