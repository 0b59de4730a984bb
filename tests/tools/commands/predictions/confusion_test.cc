#include "tools/commands/predictions/confusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

template <typename T>
HostTensor Tensor(DType dtype, const Shape& shape, const std::vector<T>& values) {
  HostTensor tensor{dtype, shape, std::vector<char>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// Three classes, of which none is taken for the last; a tie goes to the lower class, and a label of -1 counts nothing.
Confusion Example() {
  const HostTensor logits = Tensor<float>(DType::kF32, {5, 3}, {2, 1, 0, 0, 1, 0, 3, 3, 0, 0, 1, 0, 9, 0, 0});
  const HostTensor labels = Tensor<int32_t>(DType::kI32, {5}, {0, 1, 1, 2, -1});
  const Classifier classifier{"logits", "labels", 3, -1};
  Confusion confusion = NoConfusion(classifier, {"a", "b,c"});
  EXPECT_TRUE(AddRows(classifier, {0, 5, logits, labels}, confusion).ok());
  return confusion;
}

TEST(Confusion, CountsByClassAndByWhatItIsTakenFor) {
  EXPECT_EQ(Example().counts, (std::vector<std::vector<int64_t>>{{1, 0, 0}, {1, 1, 0}, {0, 1, 0}}));
  EXPECT_EQ(PrintConfusion(Example()), "class,a,\"b,c\",2\na,1,0,0\n\"b,c\",1,1,0\n2,0,1,0\n");
}

TEST(Confusion, PrecisionAndRecallAreThoseOfTheCounts) {
  ReportProto report;
  AddClasses(Example(), report);
  ASSERT_EQ(report.classes_size(), 3);
  EXPECT_EQ(report.classes(0).precision(), 0.5);
  EXPECT_EQ(report.classes(0).recall(), 1);
  EXPECT_EQ(report.classes(1).recall(), 0.5);
  EXPECT_FALSE(report.classes(2).has_precision());
  EXPECT_EQ(report.classes(2).recall(), 0);
  std::ostringstream text;
  PrintClasses(report, text);
  EXPECT_THAT(text.str(), HasSubstr("  b,c                            2         2    50.00 %    50.00 %\n"));
  while (report.classes_size() <= 20) report.add_classes();
  std::ostringstream none;
  PrintClasses(report, none);
  EXPECT_EQ(none.str(), "");
}

TEST(Confusion, ALabelThatIsNoClassIsNamed) {
  const HostTensor logits = Tensor<float>(DType::kF32, {1, 2}, {0, 1});
  const Classifier classifier{"logits", "labels", 2, {}};
  Confusion confusion = NoConfusion(classifier, {});
  const absl::Status refused = AddRows(classifier, {40, 1, logits, Tensor<int32_t>(DType::kI32, {1}, {2})}, confusion);
  EXPECT_EQ(std::string(refused.message()), "value 'labels' of sample 40 is 2; expected 0 to 1");
}

TEST(Confusion, RowsThatFillABatchUpDoNotCount) {
  const Classifier classifier{"logits", "labels", 2, {}};
  Confusion confusion = NoConfusion(classifier, {});
  const HostTensor logits = Tensor<float>(DType::kF32, {3, 2}, {0, 1, 1, 0, 1, 0});
  const HostTensor labels = Tensor<int32_t>(DType::kI32, {3}, {1, 1, 0});
  for (const int64_t rows : {3, 1}) EXPECT_TRUE(AddRows(classifier, {0, rows, logits, labels}, confusion).ok());
  EXPECT_EQ(confusion.counts, (std::vector<std::vector<int64_t>>{{1, 0}, {1, 2}}));
}

Model Parsed(const std::string& rest) {
  const std::string text =
      "schema_version: 1\n"
      "nodes { name: \"x\" op: \"input\" attributes { name: \"shape\" integers { values: [4, 3] } } }\n"
      "nodes { name: \"y\" op: \"input\" attributes { name: \"dtype\" text: \"i32\" }"
      " attributes { name: \"shape\" integers { values: [4] } } }\n"
      "nodes { name: \"w\" op: \"parameter\" attributes { name: \"shape\" integers { values: [3, 5] } }"
      " attributes { name: \"initializer\" text: \"he_normal\" } }\n"
      "nodes { name: \"logits\" op: \"matmul\" inputs: \"x\" inputs: \"w\" }\n" +
      rest + "optimizer {}\nlearning_rate { schedule: \"constant\" base: 0.1 }\n";
  return ParseModel(text, ProtoFormat::kText, "g", Ops()).value();
}

TEST(Classifier, IsWhatTheAccuracyOrTheLossCompares) {
  const std::string loss =
      "nodes { name: \"loss\" op: \"softmax_cross_entropy\" inputs: \"logits\" inputs: \"y\" }\nloss: \"loss\"\n";
  const auto by_loss = ClassifierOf(Parsed(loss).graph);
  ASSERT_TRUE(by_loss.ok()) << by_loss.status();
  EXPECT_EQ(by_loss->logits, "logits");
  EXPECT_EQ(by_loss->labels, "y");
  EXPECT_EQ(by_loss->classes, 5);
  EXPECT_EQ(by_loss->ignored, std::nullopt);
  const auto by_metric =
      ClassifierOf(Parsed(loss + "nodes { name: \"a\" op: \"accuracy\" inputs: \"logits\" inputs: \"y\""
                                 " attributes { name: \"ignore_index\" integer: 4 } }\nmetrics: \"a\"\n")
                       .graph);
  ASSERT_TRUE(by_metric.ok()) << by_metric.status();
  EXPECT_EQ(by_metric->ignored, 4);
  const auto none = ClassifierOf(Parsed("nodes { name: \"s\" op: \"square\" inputs: \"logits\" }\n"
                                        "nodes { name: \"loss\" op: \"sum\" inputs: \"s\" }\nloss: \"loss\"\n")
                                     .graph);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("neither a metric 'accuracy' nor a loss"));
}

}  // namespace
}  // namespace partita
