// Gradients that travel together, text to text.
#include "graph/passes/bucket_all_reduces.h"

#include <gtest/gtest.h>

#include "graph/ir/gradient_moves.h"
#include "graph/text/text.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

constexpr char kThreeReduces[] = R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%ar = all_reduce(%a) axes=data f32[4] {data:R}
%br = all_reduce(%b) axes=data f32[6] {data:R}
%r = relu(%br) f32[6] {data:R}
%cr = all_reduce(%c) axes=data f32[2] {data:R}
metric %ar
metric %r
metric %cr
)";

TEST(BucketAllReduces, AReaderClosesTheBucket) {
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kThreeReduces), 1 << 20)), R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%ar, %br = all_reduce(%a, %b) axes=data f32[4] {data:R}, f32[6] {data:R}
%r = relu(%br) f32[6] {data:R}
%cr = all_reduce(%c) axes=data f32[2] {data:R}
metric %ar
metric %r
metric %cr
)");
}

TEST(BucketAllReduces, AFullBucketClosesAndZeroMeansAlone) {
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kThreeReduces), 16)), kThreeReduces);
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kThreeReduces), 0)), kThreeReduces);
}

// %cr is a gradient: the update alone reads it, through a slice. %a and %b are sums that the pass waits for.
constexpr char kSumsAndGradients[] = R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%d = input() f32[8] {data:P}
phase backward
%ar = all_reduce(%a) axes=data f32[4] {data:R}
%cr = all_reduce(%c) axes=data f32[2] {data:R}
%br = all_reduce(%b) axes=data f32[6] {data:R}
%cs = slice_move(%cr) axes=data f32[2] {data:S0}
%dr = all_reduce(%d) axes=data f32[8] {data:R}
%r = relu(%ar) f32[4] {data:R}
%s = relu(%br) f32[6] {data:R}
phase update
%t = relu(%cs) f32[2] {data:S0}
%u = relu(%dr) f32[8] {data:R}
metric %r
metric %s
)";

TEST(BucketAllReduces, GradientsShareNoBucketWithWhatIsWaitedFor) {
  EXPECT_EQ(ToText(BucketAllReduces(Parse(kSumsAndGradients), 1 << 20)), R"(mesh data:2
%a = input() f32[4] {data:P}
%b = input() f32[6] {data:P}
%c = input() f32[2] {data:P}
%d = input() f32[8] {data:P}
phase backward
%cr = all_reduce(%c) axes=data f32[2] {data:R}
%cs = slice_move(%cr) axes=data f32[2] {data:S0}
%ar, %br = all_reduce(%a, %b) axes=data f32[4] {data:R}, f32[6] {data:R}
%r = relu(%ar) f32[4] {data:R}
%s = relu(%br) f32[6] {data:R}
phase update
%t = relu(%cs) f32[2] {data:S0}
phase backward
%dr = all_reduce(%d) axes=data f32[8] {data:R}
phase update
%u = relu(%dr) f32[8] {data:R}
metric %r
metric %s
)");
}

// The bucket of %c is full before the sum %ar, behind which there is more to compute.
TEST(BucketAllReduces, AFullBucketOfGradientsGoesWhereMoreComputingFollows) {
  const std::string head = R"(mesh data:2
%a = input() f32[4] {data:P}
%c = input() f32[2] {data:P}
%x = input() f32[4,8] {data:R}
%w = input() f32[8,8] {data:R}
phase backward
)";
  const std::string gradient = "%cr = all_reduce(%c) axes=data f32[2] {data:R}\n";
  const std::string little = "%y = relu(%x) f32[4,8] {data:R}\n";
  const std::string sum = "%ar = all_reduce(%a) axes=data f32[4] {data:R}\n";
  const std::string much = "%z = matmul(%x, %w) f32[4,8] {data:R}\n";
  const std::string tail = R"(%r = relu(%ar) f32[4] {data:R}
phase update
%u = relu(%cr) f32[2] {data:R}
metric %r
)";
  const auto bucketed = [](const std::string& text) { return ToText(BucketAllReduces(Parse(text), 8)); };
  EXPECT_EQ(bucketed(head + gradient + little + sum + much + tail), head + little + sum + gradient + much + tail);
  EXPECT_EQ(bucketed(head + gradient + much + sum + little + tail), head + gradient + much + sum + little + tail);
  EXPECT_EQ(bucketed(head + sum + gradient + much + tail), head + sum + gradient + much + tail) << "the last sum";
  // Two sums with little between, and much behind the second.
  const std::string other =
      "%b = relu(%w) f32[8,8] {data:R}\n%bp = zero_extend(%b) axes=data f32[8,8] {data:P}\n"
      "%br = all_reduce(%bp) axes=data f32[8,8] {data:R}\n";
  const std::string more = "%v = matmul(%w, %br) f32[8,8] {data:R}\n" + much;
  const std::string read = "%r0 = relu(%ar) f32[4] {data:R}\n";
  EXPECT_EQ(bucketed(head + gradient + little + sum + read + other + more + tail),
            head + little + sum + read + other + gradient + more + tail);
}

TEST(BucketAllReduces, GradientsAreReadByTheUpdateAlone) {
  const Graph graph = Parse(kSumsAndGradients);
  const std::vector<bool> gradients = GradientMoves(graph);
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const std::string& name = graph.name(id);
    EXPECT_EQ(gradients[id], name == "cr" || name == "cs" || name == "dr") << name;
  }
}

TEST(BucketAllReduces, SizeFollowsFromLatencyAndFromWhatThereIs) {
  EXPECT_EQ(BucketBytes(Parse(kThreeReduces), 10e-6, 10e9), 1000000)
      << "without gradients: 10 us of latency are a tenth of 100 us at 10 GB/s";
  const Graph graph = Parse(kSumsAndGradients);  // 40 bytes of gradients
  EXPECT_EQ(BucketBytes(graph, 1e-9, 1e9), 5) << "an eighth of them";
  EXPECT_EQ(BucketBytes(graph, 7e-9, 1e9), 7) << "a transfer as long as the latency";
  EXPECT_EQ(BucketBytes(graph, 3.5e-10, 1e9), 3) << "latency a tenth of the transfer";
  EXPECT_EQ(BucketBytes(graph), 5) << "an eighth of them, on links of which nothing is known";
  EXPECT_EQ(BucketBytes(Parse(kThreeReduces)), 1) << "nothing to divide";
}

}  // namespace
}  // namespace partita
