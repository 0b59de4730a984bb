// Values that go from one mesh to another, or from one layout to another of any kind, in every mode of an exchange:
// right, with the fewest bytes, and their adjoints.
#include <gtest/gtest.h>

#include <random>

#include "graph/moves/move_bytes.h"
#include "tests/graph/derive/adjoint_fixture.h"
#include "tests/graph/derive/exchange_cases.h"

namespace partita {
namespace {

// What the ranks lack of what they shall hold.
int64_t ElementsMissing(const Mesh& mesh, const Shape& shape, const Layout& from, const Layout& to) {
  int64_t missing = 0;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::optional<Box> wanted = LocalBox(to, shape, mesh, rank), held = LocalBox(from, shape, mesh, rank);
    if (wanted) missing += wanted->elements() - (held ? Intersect(*wanted, *held).elements() : 0);
  }
  return missing;
}

constexpr ExchangeMode kModes[] = {ExchangeMode::kDirect, ExchangeMode::kSlices, ExchangeMode::kChain};

// The bytes are the same in every mode: each receiver gets what it lacks, once.
TEST(Exchange, ArrivesWithTheFewestBytes) {
  uint32_t seed = 0;
  for (const ExchangeMode mode : kModes) {
    AdjointTally tally;
    for (const ExchangeCase& c : ExchangeCases()) {
      SCOPED_TRACE(c.name + ", " + Name(mode));
      const TensorType type{DType::kF64, c.shape};
      EXPECT_EQ(WireBytes(c.from, c.to, type, c.mesh), 8 * ElementsMissing(c.mesh, c.shape, c.from, c.to));
      ExpectAdjoints(c.mesh, {{type, c.from, c.to, false}}, ++seed, tally, mode);
    }
    EXPECT_GE(tally.cases, 8);
    EXPECT_EQ(tally.in_rounds > 0, mode != ExchangeMode::kDirect);
  }
}

// Sub-meshes that overlap: what a rank of both holds already is not sent.
TEST(Exchange, BetweenOverlappingMeshes) {
  const Mesh mesh{{{"a", 4}}};
  const Shape shape = {6, 4};
  AdjointTally tally;
  for (const auto& [source, target] :
       {std::pair{"a:S0[0,3,6,6,6]", "a:S0[0,0,3,6,6]"}, std::pair{"a:S0[0,3,6,6,6]", "a:S1[0,0,2,4,4]"},
        std::pair{"a:S0[0,2,4,6,6]", "a:S0[0,0,2,4,6]"}}) {
    const Layout from = ParseLayout(source, shape, mesh), to = ParseLayout(target, shape, mesh);
    const TensorType type{DType::kF64, shape};
    EXPECT_EQ(WireBytes(from, to, type, mesh), 8 * ElementsMissing(mesh, shape, from, to));
    ExpectAdjoints(mesh, {{type, from, to, true}}, 1, tally);
  }
  EXPECT_EQ(tally.cases, 3);
}

// Layouts of every kind on meshes of 2 to 3 axes, so that moves join several of them: blocks of any size, empty ones
// too, values that are held by several ranks, by one, or by some of those that shall hold them.
AxisLayout RandomAxis(std::mt19937& random, const Shape& shape, int size) {
  switch (random() % 4) {
    case 0:
      return AxisLayout::Replicate();
    case 1:
      return AxisLayout::At(static_cast<int>(random() % static_cast<uint32_t>(size)));
    default:
      return AxisLayout::Split(static_cast<int>(random() % shape.size()));
  }
}

TEST(Exchange, AdjointsOfRandomExchangesInEveryMode) {
  const Mesh meshes[] = {{{{"a", 2}, {"b", 3}}}, {{{"a", 3}, {"b", 2}}}, {{{"a", 2}, {"b", 2}, {"c", 2}}}};
  std::mt19937 random(7);
  for (const ExchangeMode mode : {ExchangeMode::kSlices, ExchangeMode::kChain}) {
    SCOPED_TRACE(Name(mode));
    AdjointTally tally;
    for (uint32_t program = 0; program < 12; ++program) {
      const Mesh& mesh = meshes[program % 3];
      std::vector<AdjointCase> cases;
      for (int c = 0; c < 16; ++c) {
        const Shape shape = {static_cast<int64_t>(1 + random() % 7), static_cast<int64_t>(1 + random() % 7),
                             static_cast<int64_t>(1 + random() % 3)};
        Layout from, to;
        for (const MeshAxis& axis : mesh.axes) {
          from.push_back(RandomAxis(random, shape, axis.size));
          to.push_back(RandomAxis(random, shape, axis.size));
        }
        cases.push_back({{DType::kF64, shape}, from, to, random() % 2 == 0});
      }
      ExpectAdjoints(mesh, cases, program, tally, mode);
    }
    EXPECT_GE(tally.cases, 250);
    EXPECT_GE(tally.in_rounds, 30) << Name(mode);
  }
}

}  // namespace
}  // namespace partita
