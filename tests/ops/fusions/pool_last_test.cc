// An average pooling and a convolution of single pixels change places, text to text.
#include "ops/fusions/pool_last.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

// With the average of 3 x 3 pixels before a convolution of `convolution`, and behind it `more`.
std::string Text(const std::string& pooling, const std::string& w, const std::string& convolution,
                 const std::string& more = "") {
  return "%x = input() f32[2,5,7,8]\n%p = average_pool(%x) kernel=[3,3] " + pooling +
         "\n%w = parameter() initializer=constant " + w + "\n%y = conv2d(%p, %w) " + convolution + "\n" + more +
         "metric %y\n";
}

constexpr char kSame[] = "padding=[1,1,1,1] f32[2,5,7,8]";
constexpr char kHalf[] = "f32[4,1,1,8]";

TEST(PoolLast, TheConvolutionComesFirst) {
  for (const std::string border : {"", "count_padding=false "}) {
    const Graph graph = Parse(Text(border + kSame, kHalf, "f32[2,5,7,4]"));
    EXPECT_EQ(ToText(PoolLast(graph, Ops())),
              "%x = input() f32[2,5,7,8]\n"
              "%w = parameter() initializer=constant f32[4,1,1,8]\n"
              "%y@unpooled = conv2d(%x, %w) f32[2,5,7,4]\n"
              "%y@pooled = average_pool(%y@unpooled) " +
                  border + "kernel=[3,3] padding=[1,1,1,1] f32[2,5,7,4]\nmetric %y@pooled\n");
  }
}

TEST(PoolLast, WhereTheOrderMattersOrDoesNotPayItStays) {
  const std::string stays[] = {
      Text(kSame, "f32[5,1,1,8]", "f32[2,5,7,5]"),                                 // more than half of the channels
      Text(kSame, kHalf, "f32[2,5,7,4]", "metric %p\n"),                           // somebody else reads the means
      Text("f32[2,3,5,8]", kHalf, "f32[2,3,5,4]"),                                 // fewer pixels are left
      Text("padding=[1,1,1,1] stride=[2,2] f32[2,3,4,8]", kHalf, "f32[2,3,4,4]"),  // the same
      Text(kSame, "f32[4,3,3,8]", "padding=[1,1,1,1] f32[2,5,7,4]"),               // neighbours are added up
      Text(kSame, kHalf, "padding=[1,1,1,1] f32[2,7,9,4]"),                        // a border would be averaged
      Text(kSame, kHalf, "stride=[2,2] f32[2,3,4,4]"),                             // most means are not read
      Text(kSame, "f32[4,1,1,4]", "groups=2 f32[2,5,7,4]"),                        // groups
  };
  for (const std::string& text : stays) {
    const Graph graph = Parse(text);
    EXPECT_EQ(ToText(PoolLast(graph, Ops())), ToText(graph));
  }
}

}  // namespace
}  // namespace partita
