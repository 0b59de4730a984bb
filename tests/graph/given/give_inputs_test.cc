// The pass is its picture, text to text.
#include "graph/given/give_inputs.h"

#include <gtest/gtest.h>

#include "graph/text/text.h"
#include "ops/registry.h"
#include "tests/graph/parse.h"

namespace partita {
namespace {

TEST(GiveInputs, ANodeMakesWhatIsReadOfWhatIsGiven) {
  const Graph graph = Parse(R"(mesh data:2
%x = input() f32[4,6,2] {data:S0}
%x@micro1 = input() field=y f32[4,2] {data:S0}
%t = input() i32[4] {data:S0}
metric %x
metric %x@micro1
metric %t
)");
  const auto bytes = [](const char* mean) {
    return GivenForm{DType::kU8, "pixels", {{"mean", std::string(mean)}, {"deviation", std::string("0.5")}}};
  };
  const absl::StatusOr<Graph> given = GiveInputs(graph, {{"x", bytes("0.3,0.4")}, {"y", bytes("0.3")}}, Ops());
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(ToText(*given), R"(mesh data:2
%x@given = input() field=x u8[4,6,2] {data:S0}
%x = pixels(%x@given) deviation=0.5 mean=0.3,0.4 f32[4,6,2] {data:S0}
%x@micro1@given = input() field=y u8[4,2] {data:S0}
%x@micro1 = pixels(%x@micro1@given) deviation=0.5 mean=0.3 f32[4,2] {data:S0}
%t = input() i32[4] {data:S0}
metric %x
metric %x@micro1
metric %t
)");
  const absl::Status refused = GiveInputs(graph, {{"x", bytes("1,2,3")}}, Ops()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("input 'x': attribute mean is '1,2,3'"), std::string::npos) << refused;
}

}  // namespace
}  // namespace partita
