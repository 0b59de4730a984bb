#include "runtime/api/rank/gather.h"

#include <gtest/gtest.h>

#include "runtime/base/bf16.h"

namespace partita {
namespace {

// What the ranks of `mesh` hold of the value whose element i is i; of a partial value each holds (rank + 1) times it.
struct Held {
  Held(const Layout& layout, const Shape& shape, const Mesh& mesh) {
    data.resize(static_cast<size_t>(mesh.size()));
    for (int rank = 0; rank < mesh.size(); ++rank) {
      const std::optional<Box> box = LocalBox(layout, shape, mesh, rank);
      HeldTensor part{{DType::kF64, shape, box.value_or(Box{shape, Shape(shape.size(), 0)})}, nullptr};
      bool partial = false;
      for (const AxisLayout& axis : layout) partial = partial || axis.partial();
      if (box && !box->empty()) {
        for (int64_t i = 0; i < Elements(shape); ++i) {
          const int64_t row = i / shape[1], column = i % shape[1];
          if (row < box->offset[0] || row >= box->offset[0] + box->size[0]) continue;
          if (column < box->offset[1] || column >= box->offset[1] + box->size[1]) continue;
          data[rank].push_back(static_cast<double>(partial ? i * (rank + 1) : i));
        }
        part.data = data[rank].data();
      }
      parts.push_back(part);
    }
  }
  std::vector<std::vector<double>> data;
  std::vector<HeldTensor> parts;
};

TEST(Gather, PutsBlocksTogetherAndAddsSummands) {
  const Mesh mesh{{{"a", 2}, {"b", 3}}};
  const Shape shape{5, 4};
  const AxisLayout R = AxisLayout::Replicate(), P = AxisLayout::Partial();
  const AxisLayout S0 = AxisLayout::Split(0), S1 = AxisLayout::Split(1), At1 = AxisLayout::At(1);
  struct {
    Layout layout;
    double factor;  // of element i
  } const cases[] = {
      {{R, R}, 1},         {{S0, S1}, 1},         {{S0, S0}, 1},   {{R, S0}, 1},
      {{At1, S1}, 1},      {{At1, At1}, 1},       {{P, R}, 1 + 4},  // the summands are those of ranks 0 and 3
      {{R, P}, 1 + 2 + 3},                                          // of ranks 0, 1 and 2
      {{P, P}, 21},        {{At1, P}, 4 + 5 + 6},
  };
  for (const auto& [layout, factor] : cases) {
    const Held held(layout, shape, mesh);
    const WholeValue value = GatherValue({DType::kF64, shape}, layout, mesh, held.parts);
    ASSERT_EQ(value.elements.size(), 20u) << ToString(layout, mesh);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(value.elements[i], factor * i) << ToString(layout, mesh);
  }
}

// Rows 0 to 2 of 3 over two ranks, windows of three rows: ranks hold rows -1 to 2 and 1 to 3.
TEST(Gather, GhostsAreCopiesOrSummandsAndMarginsNothing) {
  const Mesh mesh{{{"a", 2}}};
  std::vector<double> upper{99, 1, 2, 3}, lower{20, 30, 99};
  const std::vector<HeldTensor> parts = {{{DType::kF64, {3}, {{-1}, {4}}}, upper.data()},
                                         {{DType::kF64, {3}, {{1}, {3}}}, lower.data()}};
  const WholeValue summed = GatherValue({DType::kF64, {3}}, {*ParseAxisLayout("S0(3x3/1-1,sum)")}, mesh, parts);
  EXPECT_EQ(summed.elements, (std::vector<double>{1, 22, 33}));
  lower = {2, 3, 99};
  const WholeValue copied = GatherValue({DType::kF64, {3}}, {*ParseAxisLayout("S0(3x3/1-1)")}, mesh, parts);
  EXPECT_EQ(copied.elements, (std::vector<double>{1, 2, 3}));
}

TEST(Gather, TakesTheMaximumOfAPartialMaximum) {
  const Mesh mesh{{{"a", 3}}};
  const Layout layout{AxisLayout::Partial(Reduction::kMax)};
  const Held held(layout, {2, 2}, mesh);
  const WholeValue value = GatherValue({DType::kF64, {2, 2}}, layout, mesh, held.parts);
  EXPECT_EQ(value.elements, (std::vector<double>{0, 3, 6, 9}));
}

TEST(Gather, BytesOfEveryTypeAreNumbers) {
  const auto bytes = [](const auto& values) {
    const char* const data = reinterpret_cast<const char*>(values.data());
    return std::vector<char>(data, data + values.size() * sizeof(values[0]));
  };
  const std::vector<double> expected = {1, 2.5};
  EXPECT_EQ(ToDoubles({DType::kF32, {2}, bytes(std::vector<float>{1, 2.5f})}), expected);
  EXPECT_EQ(ToDoubles({DType::kF64, {2}, bytes(expected)}), expected);
  EXPECT_EQ(ToDoubles({DType::kBF16, {2}, bytes(std::vector<Bf16>{Bf16(1), Bf16(2.5)})}), expected);
  EXPECT_EQ(ToDoubles({DType::kI32, {1}, bytes(std::vector<int32_t>{-7})}), std::vector<double>{-7});
  EXPECT_EQ(ToDoubles({DType::kU8, {1}, bytes(std::vector<uint8_t>{200})}), std::vector<double>{200});
}

TEST(Gather, APartGoesToItsPlaceAndBack) {
  const LocalTensor tensor{DType::kI32, {4, 4}, {{1, 2}, {2, 2}}};
  std::vector<int32_t> part{1, 2, 3, 4}, back(4);
  std::vector<char> whole(64);
  CopyFromPart({tensor, part.data()}, whole.data());
  const std::vector<double> elements = ToDoubles({DType::kI32, {4, 4}, whole});
  EXPECT_EQ(elements, (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0}));
  CopyToPart(whole.data(), {tensor, back.data()});
  EXPECT_EQ(back, part);
}

}  // namespace
}  // namespace partita
