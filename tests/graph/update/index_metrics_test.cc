// Which metrics are the only ones to read some labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/update/append_update.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Names(const std::string& text) {
  const Graph graph = Parse(text);
  std::vector<std::string> names;
  for (const ValueId metric : IndexMetrics(graph)) names.push_back(graph.value(metric).name);
  return names;
}

// With `rest` behind two layers' inputs, which are split by samples.
std::string Graphs(const std::string& rest) {
  return R"(mesh data:2
%x = input() f32[6,4] {data:S0}
%z = input() f32[6,5] {data:S0}
%t = input() i32[6] {data:S0}
%u = input() i32[6] {data:S0}
%l = softmax_cross_entropy(%x, %t, _) f32[] {data:P}
)" + rest;
}

TEST(IndexMetrics, ALossThatReadsTheSameLabelsIsEnough) {
  EXPECT_THAT(Names(Graphs(R"(%a = accuracy(%x, %t, _) f32[] {data:P}
loss %l
metric %a
)")),
              IsEmpty());
}

TEST(IndexMetrics, OtherLabelsAndOtherClassesAreNot) {
  EXPECT_THAT(Names(Graphs(R"(%a = accuracy(%x, %t, _) f32[] {data:P}
%b = accuracy(%x, %u, _) f32[] {data:P}
%c = accuracy(%z, %t, _) f32[] {data:P}
loss %l
metric %a
metric %b
metric %c
)")),
              ElementsAre("b", "c"));
}

// Labels are counted without being classes; one that an op ignores need be none.
TEST(IndexMetrics, LabelsMayBeIgnored) {
  EXPECT_THAT(Names(Graphs(R"(%k = count_labels(%t, _) ignore_index=3 dtype=f32 f32[] {data:P}
%i = softmax_cross_entropy(%x, %t, _) ignore_index=3 reduction=sum f32[] {data:P}
%a = accuracy(%x, %t, _) ignore_index=3 reduction=sum f32[] {data:P}
%b = accuracy(%x, %t, _) f32[] {data:P}
loss %i
metric %k
metric %a
metric %b
)")),
              ElementsAre("b"));
}

TEST(IndexMetrics, MovesChangeNoLabel) {
  EXPECT_THAT(Names(Graphs(R"(%x.r = all_gather(%x) axes=data f32[6,4] {data:R}
%t.r = all_gather(%t) axes=data i32[6] {data:R}
%a = accuracy(%x.r, %t.r, _) f32[] {data:R}
loss %l
metric %a
)")),
              IsEmpty());
}

}  // namespace
}  // namespace partita
