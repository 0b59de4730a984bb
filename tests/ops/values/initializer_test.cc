#include "ops/values/initializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/value/layout.h"
#include "runtime/base/philox.h"

namespace partita {
namespace {

Attributes Initializer(const std::string& name, double scale = 1.0) {
  return {{"initializer", name}, {"scale", scale}};
}

std::vector<double> Whole(const Attributes& attributes, const Shape& shape, uint64_t seed = 7,
                          const std::string& name = "w") {
  std::vector<double> values(Elements(shape));
  EXPECT_TRUE(Initialize(attributes, DType::kF64, shape, WholeBox(shape), seed, name, values.data()).ok());
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / values.size();
  for (const double v : values) {
    m.deviation += (v - m.mean) * (v - m.mean) / values.size();
    m.largest = std::max(m.largest, std::abs(v));
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

Attributes Values(const std::string& values) {
  return {{"initializer", std::string("values")}, {"scale", 1.0}, {"values", values}};
}

TEST(Initialize, TakesNumbersInTheOrderOfTheElements) {
  EXPECT_EQ(Whole(Values("0,1.5x3,-2,1e-3"), {2, 3}), (std::vector<double>{0, 1.5, 1.5, 1.5, -2, 1e-3}));
  std::vector<int32_t> part(4);
  // Columns 1 and 2 of both rows.
  ASSERT_TRUE(Initialize(Values("0,1,2,3,4,5"), DType::kI32, {2, 3}, Box{{0, 1}, {2, 2}}, 7, "w", part.data()).ok());
  EXPECT_EQ(part, (std::vector<int32_t>{1, 2, 4, 5}));
}

TEST(CheckInitializer, RefusesNumbersThatAreNotThoseOfTheShape) {
  const auto refusal = [](const std::string& values, DType dtype = DType::kF32) {
    return std::string(CheckInitializer(Values(values), dtype, {2, 2}).message());
  };
  EXPECT_EQ(refusal("1x4"), "");
  EXPECT_EQ(refusal("1,2,3"), "attribute values has 3 numbers; its shape has 4");
  EXPECT_EQ(refusal(""), "attribute values has 0 numbers; its shape has 4");
  EXPECT_EQ(refusal("1,2,3,4,5"), "attribute values has more than the 4 numbers of its shape");
  EXPECT_EQ(refusal("1x9000000000000000000"), "attribute values has more than the 4 numbers of its shape");
  EXPECT_EQ(refusal("0.5x4", DType::kI32),
            "attribute values is 0.5; an i32 holds whole numbers from -2147483648 to 2147483647");
  EXPECT_EQ(refusal("nanx4"), "attribute values is nan; it must be finite");
  for (const char* const values : {"1,,2,3", ",1,2,3", "1,2,3,4,", "1;2;3;4", "1x0,1x4", "1x-1,2", "1x", "x4", "a"}) {
    EXPECT_THAT(refusal(values), testing::HasSubstr("expected numbers between commas, as 1,0x3")) << values;
  }
}

TEST(Initialize, HasTheVarianceOfItsFans) {
  const Shape dense = {200, 300}, image = {64, 3, 5, 32};  // fans 200, 300 and 480, 960
  const std::vector<std::tuple<std::string, Shape, double>> cases = {
      {"he_normal", dense, std::sqrt(2.0 / 200)},
      {"he_uniform", dense, std::sqrt(2.0 / 200)},
      {"glorot_normal", dense, std::sqrt(2.0 / 500)},
      {"glorot_uniform", dense, std::sqrt(2.0 / 500)},
      {"he_normal", image, std::sqrt(2.0 / 480)},
      {"he_uniform", image, std::sqrt(2.0 / 480)},
      {"glorot_normal", image, std::sqrt(2.0 / 1440)},
      {"glorot_uniform", image, std::sqrt(2.0 / 1440)},
      {"normal", dense, 1},
      {"normal", {70, 30, 20}, 1},
  };
  for (const auto& [name, shape, deviation] : cases) {
    for (const double gain : {1.0, 2.5}) {
      const Moments m = MomentsOf(Whole(Initializer(name, gain), shape));
      const double n = std::sqrt(static_cast<double>(Elements(shape)));
      EXPECT_NEAR(m.mean, 0, 5 * gain * deviation / n) << name;
      EXPECT_NEAR(m.deviation / (gain * deviation), 1, 5 / n) << name;
    }
  }
}

TEST(Initialize, UniformKeepsItsBounds) {
  const Moments m = MomentsOf(Whole(Initializer("uniform", 0.25), {100000}));
  EXPECT_LE(m.largest, 0.25);
  EXPECT_GT(m.largest, 0.2499);
  EXPECT_NEAR(m.deviation, 0.25 / std::sqrt(3.0), 0.001);
}

TEST(Initialize, ConstantIsItsScale) {
  for (const double v : Whole(Initializer("constant", -1.5), {7, 3})) EXPECT_EQ(v, -1.5);
  int32_t counter = 1;
  ASSERT_TRUE(Initialize(Initializer("constant", 42), DType::kI32, {}, WholeBox({}), 0, "i", &counter).ok());
  EXPECT_EQ(counter, 42);
  uint8_t bytes[3] = {};
  ASSERT_TRUE(Initialize(Initializer("constant", 255), DType::kU8, {3}, WholeBox({3}), 0, "b", bytes).ok());
  EXPECT_EQ(bytes[2], 255);
}

TEST(Initialize, DrawsByGlobalElementIndex) {
  const std::vector<double> normal = Whole(Initializer("he_normal"), {8, 9}, 5, "layer/w");
  const std::vector<double> uniform = Whole(Initializer("uniform", 2), {8, 9}, 5, "layer/w");
  const uint64_t key = PhiloxKey(5, "layer/w");
  for (uint64_t i = 0; i < normal.size(); ++i) {
    EXPECT_EQ(normal[i], std::sqrt(2.0 / 8) * Normal(key, 0, i));
    EXPECT_EQ(uniform[i], 2 * (2.0 * Uniform(key, 0, i) - 1));
  }
}

TEST(Initialize, DependsOnSeedAndName) {
  const Attributes attributes = Initializer("he_normal");
  EXPECT_NE(Whole(attributes, {8, 9}, 1, "a"), Whole(attributes, {8, 9}, 2, "a"));
  EXPECT_NE(Whole(attributes, {8, 9}, 1, "a"), Whole(attributes, {8, 9}, 1, "b"));
  EXPECT_EQ(Whole(attributes, {8, 9}, 1, "a"), Whole(attributes, {8, 9}, 1, "a"));
}

// Every rank's block holds the elements that the whole tensor has there.
TEST(Initialize, IsTheSameWhateverTheSplit) {
  const Shape shape = {5, 3, 4, 7};
  const Mesh mesh{{{"a", 3}, {"b", 2}}};
  const std::vector<double> whole = Whole(Initializer("glorot_normal"), shape);
  for (int first = 0; first < 4; ++first) {
    for (int second = 0; second < 4; ++second) {
      const Layout layout = {AxisLayout::Split(first), AxisLayout::Split(second)};
      int64_t seen = 0;
      for (int rank = 0; rank < mesh.size(); ++rank) {
        const Box box = *LocalBox(layout, shape, mesh, rank);
        std::vector<double> part(box.elements());
        const auto status = Initialize(Initializer("glorot_normal"), DType::kF64, shape, box, 7, "w", part.data());
        ASSERT_TRUE(status.ok()) << status;
        size_t i = 0;
        for (int64_t a = 0; a < box.size[0]; ++a) {
          for (int64_t b = 0; b < box.size[1]; ++b) {
            for (int64_t c = 0; c < box.size[2]; ++c) {
              for (int64_t d = 0; d < box.size[3]; ++d, ++seen) {
                const int64_t row = ((box.offset[0] + a) * 3 + box.offset[1] + b) * 4 + box.offset[2] + c;
                ASSERT_EQ(part[i++], whole[row * 7 + box.offset[3] + d]);
              }
            }
          }
        }
      }
      EXPECT_EQ(seen, Elements(shape));
    }
  }
}

TEST(Initialize, F32IsTheRoundedF64) {
  const Shape shape = {31, 17};
  const std::vector<double> wide = Whole(Initializer("he_uniform"), shape);
  std::vector<float> narrow(wide.size());
  ASSERT_TRUE(Initialize(Initializer("he_uniform"), DType::kF32, shape, WholeBox(shape), 7, "w", narrow.data()).ok());
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(narrow[i], static_cast<float>(wide[i]));
}

TEST(Initialize, AnEmptyBoxWritesNothing) {
  const Box empty{{5, 0}, {0, 7}};
  EXPECT_TRUE(Initialize(Initializer("uniform"), DType::kF32, {5, 7}, empty, 7, "w", nullptr).ok());
}

TEST(Initialize, RefusesWhatCheckInitializerRefuses) {
  double value = 0;
  const auto status = Initialize(Initializer("he_normal"), DType::kF64, {1}, WholeBox({1}), 7, "w", &value);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace partita
