// Operands whose parts do not meet on some rank: each is found, and the node named, whoever has brought them there.
#include "graph/verify/verify_operands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/verify/verify_graph.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Found(const std::string& text) { return std::string(VerifyGraph(Parse(text)).message()); }

void ExpectMeets(const std::string& text) { EXPECT_EQ(Found(text), ""); }

TEST(VerifyOperands, CutsThatDiffer) {
  const std::string graph = "mesh data:2\n%x = input() f32[8,6] {data:S0[0,3,8]}\n";
  ExpectMeets(graph + "%y = relu(%x) f32[8,6] {data:S0[0,3,8]}\n");
  EXPECT_THAT(
      Found(graph + "%y = relu(%x) f32[8,6] {data:S0}\n"),
      AllOf(HasSubstr("node 'y'"), HasSubstr("'samples' cuts 'x' [8,6] {data:S0[0,3,8]} and 'y' [8,6] {data:S0}"),
            HasSubstr("at different places")));
}

TEST(VerifyOperands, BalancedCutsInOtherWords) {
  ExpectMeets(R"(mesh data:2
%x = input() f32[8,6] {data:S0[0,4,8]}
%y = relu(%x) f32[8,6] {data:S0}
)");
}

// 3, 2, 3, 2 of 10, and as many of 20 in twos.
TEST(VerifyOperands, UnitsInsideBlocks) {
  const auto reshaped = [](const std::string& x, const std::string& y) {
    return "mesh a:2 b:2\n%x = input() f32[10,2,3] {" + x + "}\n%y = reshape(%x) f32[20,3] {" + y + "}\n";
  };
  ExpectMeets(reshaped("a:S0 b:R", "a:S0 b:R"));
  ExpectMeets(reshaped("a:S0 b:S0", "a:S0 b:S0[0,6,10]"));
  EXPECT_THAT(Found(reshaped("a:S0 b:S0", "a:S0 b:S0")), AllOf(HasSubstr("node 'y'"), HasSubstr("different places")));
  EXPECT_THAT(Found(reshaped("a:S0 b:R", "a:S0[0,9,20] b:R")), HasSubstr("different places"));
}

constexpr char kRows[] = R"(mesh rows:2
%x = input() f32[2,4,1,1] {rows:S1}
%w = parameter() initializer=constant f32[1,1,1,1] {rows:R}
)";

// The fifth window sees only zeros: the blocks of 4 rows are not those of 5 windows.
TEST(VerifyOperands, WindowsThatAreNoElements) {
  EXPECT_THAT(Found(std::string(kRows) + "%y = conv2d(%x, %w) padding=[0,1,0,0] f32[2,5,1,1] {rows:S1}\n"),
              AllOf(HasSubstr("node 'y'"), HasSubstr("no rule S1, R -> S1 over axis 'rows'")));
  ExpectMeets(std::string(kRows) + R"(%h = halo_exchange(%x) axes=rows f32[2,4,1,1] {rows:S1(5x1/1-0)}
%y = conv2d(%h, %w) padding=[0,1,0,0] f32[2,5,1,1] {rows:S1}
)");
}

TEST(VerifyOperands, WindowsOfAnotherOp) {
  EXPECT_THAT(Found(R"(mesh rows:2
%x = input() f32[2,4,1,1] {rows:S1}
%h = halo_exchange(%x) axes=rows f32[2,4,1,1] {rows:S1(4x3/1-1)}
%w = parameter() initializer=constant f32[1,2,1,1] {rows:R}
%y = conv2d(%h, %w) f32[2,3,1,1] {rows:S1}
)"),
              AllOf(HasSubstr("node 'y'"), HasSubstr("no rule S1(4x3/1-1), R -> S1")));
}

// A rank has rows 0 to 3 of the first, and 2 and 3, say, of the second.
TEST(VerifyOperands, AnOperandThatASecondAxisSplitsToo) {
  EXPECT_THAT(Found(R"(mesh a:2 b:2
%x = input() f32[8,6] {a:S0 b:S0}
%t = input() f32[8,6] {a:S0 b:R}
%y = mul(%x, %t) f32[8,6] {a:S0 b:S0}
)"),
              AllOf(HasSubstr("node 'y'"), HasSubstr("no rule S0, R -> S0 over axis 'b'")));
  EXPECT_THAT(Found(R"(mesh a:2 b:2
%x = input() f32[8,8] {a:S0 b:S1}
%t = input() f32[8,8] {a:S1 b:S0}
%y = add(%x, %t) f32[8,8] {a:S0 b:S1}
)"),
              HasSubstr("no rule S0, S1 -> S0 over axis 'a'"));
}

TEST(VerifyOperands, SummandsThatOverlapPassThroughASum) {
  const std::string graph = R"(mesh rows:2
%x = input() f32[2,4,1,1] {rows:S1}
%w = parameter() initializer=constant f32[1,3,1,1] {rows:R}
%d = conv2d_input_grad(%x, %w) padding=[1,1,0,0] f32[2,4,1,1] {rows:S1(4x3/1-1,sum)}
)";
  ExpectMeets(graph + "%s = add(%d, %d) f32[2,4,1,1] {rows:S1(4x3/1-1,sum)}\n");
  EXPECT_THAT(Found(graph + "%s = relu(%d) f32[2,4,1,1] {rows:S1(4x3/1-1,sum)}\n"),
              AllOf(HasSubstr("node 's'"), HasSubstr("no rule")));
  EXPECT_THAT(Found(graph + "%s = add(%d, %x) f32[2,4,1,1] {rows:S1}\n"), HasSubstr("no rule"));
}

TEST(VerifyOperands, CopiesPassThroughACast) {
  const std::string graph = R"(mesh rows:2
%x = input() f32[2,4,1,1] {rows:S1}
%h = halo_exchange(%x) axes=rows f32[2,4,1,1] {rows:S1(4x3/1-1)}
)";
  ExpectMeets(graph + "%n = cast(%h) dtype=bf16 bf16[2,4,1,1] {rows:S1(4x3/1-1)}\n");
  EXPECT_THAT(Found(graph + "%s = sigmoid(%h) f32[2,4,1,1] {rows:S1(4x3/1-1)}\n"),
              AllOf(HasSubstr("node 's'"), HasSubstr("no rule")));  // of a margin of zeros it makes halves
}

}  // namespace
}  // namespace partita
