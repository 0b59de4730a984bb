// The pass is its picture, text to text.
#include "graph/recompute/recompute.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

std::string Recomputed(const std::string& text, const std::vector<RecomputedBlock>& blocks) {
  return ToText(Recompute(Parse(text), blocks));
}

constexpr char kForward[] = R"(%x = input() f32[4]
%a = relu(%x) f32[4]
%b = tanh(%a) f32[4]
%c = relu(%b) f32[4]
%d = tanh(%c) f32[4]
phase backward
)";

const std::string kChain = std::string(kForward) + R"(%e = mul(%d, %c) f32[4]
%f = mul(%e, %b) f32[4]
%g = mul(%f, %a) f32[4]
metric %g
)";

// %c is read by %d, which is not of the block.
TEST(Recompute, WhatABlockAloneReadsIsComputedAgain) {
  EXPECT_EQ(Recomputed(kChain, {{{"a", "b", "c"}}}), std::string(kForward) + R"(%e = mul(%d, %c) f32[4]
%a@again = relu(%x) f32[4]
%b@again = tanh(%a@again) f32[4]
%f = mul(%e, %b@again) f32[4]
%g = mul(%f, %a@again) f32[4]
metric %g
)");
}

TEST(Recompute, BlocksBeginWithWhatOthersKeep) {
  EXPECT_EQ(Recomputed(kChain, {{{"a", "b"}}, {{"c", "d"}}}), std::string(kForward) + R"(%c@again = relu(%b) f32[4]
%d@again = tanh(%c@again) f32[4]
%e = mul(%d@again, %c@again) f32[4]
%f = mul(%e, %b) f32[4]
%a@again = relu(%x) f32[4]
%g = mul(%f, %a@again) f32[4]
metric %g
)");
}

TEST(Recompute, OnlyWhatTheBackwardPassReadsIsComputedAgain) {
  const std::string backward = "%e = mul(%d, %a) f32[4]\nmetric %e\n";
  EXPECT_EQ(Recomputed(kForward + backward, {{{"a", "b", "c"}}}),
            std::string(kForward) + "%a@again = relu(%x) f32[4]\n%e = mul(%d, %a@again) f32[4]\nmetric %e\n");
}

TEST(Recompute, BlocksOfWhichAllIsKeptChangeNothing) {
  for (const char* const alone : {"a", "b", "c", "x"}) EXPECT_EQ(Recomputed(kChain, {{{alone}}}), kChain) << alone;
  EXPECT_EQ(Recomputed(kChain, {}), kChain);
  const std::string host = kChain + "metric %b\nmetric %a\n";  // and reads them
  EXPECT_EQ(Recomputed(host, {{{"a", "b", "c"}}}), host);
}

constexpr char kGathered[] = R"(mesh data:2
%x = input() f32[4] {data:S0}
%a = relu(%x) f32[4] {data:S0}
%a@all_gather = all_gather(%a) axes=data f32[4] {data:R}
%b = tanh(%a@all_gather) f32[4] {data:R}
%c = relu(%b) f32[4] {data:R}
%d = tanh(%c) f32[4] {data:R}
phase backward
)";

// What is kept is a rank's part.
TEST(Recompute, WhatABlockReadsIsMovedAgain) {
  const std::string backward = "%e = mul(%d, %b) f32[4] {data:R}\nmetric %e\n";
  EXPECT_EQ(Recomputed(kGathered + backward, {{{"b", "c"}}}),
            std::string(kGathered) +
                R"(%a@all_gather@again = all_gather(%a) axes=data f32[4] {data:R}
%b@again = tanh(%a@all_gather@again) f32[4] {data:R}
%e = mul(%d, %b@again) f32[4] {data:R}
metric %e
)");
  EXPECT_EQ(Recomputed(kGathered + backward, {{{"a"}}}), kGathered + backward);
}

constexpr char kSummed[] = R"(mesh data:2
%a = input() f32[4] {data:P}
%a@all_reduce = all_reduce(%a) axes=data f32[4] {data:R}
%b = tanh(%a@all_reduce) f32[4] {data:R}
%c = relu(%b) f32[4] {data:R}
%d = tanh(%c) f32[4] {data:R}
phase backward
)";

// The sum is as large as a rank's summand: it is kept, and not made again.
TEST(Recompute, SumsAreKeptForTheBlockThatReadsThem) {
  const std::string backward = "%e = mul(%d, %b) f32[4] {data:R}\nmetric %e\n";
  EXPECT_EQ(Recomputed(kSummed + backward, {{{"b", "c"}}}), std::string(kSummed) +
                                                                "%b@again = tanh(%a@all_reduce) f32[4] {data:R}\n"
                                                                "%e = mul(%d, %b@again) f32[4] {data:R}\nmetric %e\n");
}

constexpr char kSent[] = R"(mesh stage:2
%x = input() f32[4] {stage:At0}
%a = relu(%x) f32[4] {stage:At0}
%a@send = send(%a) axes=stage f32[4] {stage:At1}
%b = tanh(%a@send) f32[4] {stage:At1}
%c = relu(%b) f32[4] {stage:At1}
%d = tanh(%c) f32[4] {stage:At1}
phase backward
)";

// Else the stage before would have to make and send it again.
TEST(Recompute, WhatComesFromAnotherStageIsKept) {
  const std::string backward = "%e = mul(%d, %b) f32[4] {stage:At1}\nmetric %e\n";
  EXPECT_EQ(Recomputed(kSent + backward, {{{"a", "b", "c"}}}),
            std::string(kSent) +
                "%b@again = tanh(%a@send) f32[4] {stage:At1}\n"
                "%e = mul(%d, %b@again) f32[4] {stage:At1}\nmetric %e\n");
}

}  // namespace
}  // namespace partita
