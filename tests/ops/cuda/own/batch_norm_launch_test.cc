// The launches of batch norm, each called by itself on the host (ops/cuda/loops/loops.h), against plain loops in
// double: channels that do and do not fill a memory access, groups, addresses off it, rows of a wider tensor. Each is
// one launch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ops/cuda/launch/batch_norm.h"
#include "ops/functors/batch_norm.h"
#include "runtime/base/bf16.h"

namespace partita {
namespace {

using launch::BatchNormLaunch;

class CountingQueue : public LaunchQueue {
 public:
  int launches = 0;

  LaunchError Launch(const void*, const LaunchShape& shape, void**) override {
    EXPECT_GT(shape.blocks, 0);
    EXPECT_EQ(shape.lanes * shape.depth, 256);
    ++launches;
    return kLaunched;
  }
  LaunchError Copy(void*, const void*, int64_t) override { return LaunchError::kQueue; }
  LaunchError Zero(void* to, int64_t bytes) override {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return kLaunched;
  }
  CUstream_st* BeginWork() override { return nullptr; }
};

struct Sizes {
  int64_t groups, rows, channels;  // rows of a group
  int64_t gap = 0;                 // channels of the wider tensor behind those of a row
  int misalignment = 0;            // elements
};

constexpr Sizes kSizes[] = {{1, 1, 1},        {1, 300, 3},     {1, 277, 24},        {1, 600, 33},      {3, 130, 24},
                            {4, 140, 33},     {2, 300, 64},    {5, 7, 3},           {1, 0, 24},        {2, 0, 3},
                            {1, 200, 40, 24}, {3, 150, 24, 5}, {1, 200, 40, 24, 1}, {2, 300, 8, 0, 1}, {9, 150, 34}};

std::string NameOf(const Sizes& s) {
  return fmt::format("groups {} rows {} channels {} gap {} misalignment {}", s.groups, s.rows, s.channels, s.gap,
                     s.misalignment);
}

template <typename T>
constexpr DType kType = DType::kF32;
template <>
constexpr DType kType<double> = DType::kF64;
template <>
constexpr DType kType<Bf16> = DType::kBF16;

double Number(uint64_t seed, int64_t i) { return static_cast<float>(Normal(seed, 0, static_cast<uint64_t>(i))); }

// Some channels of a wider tensor; what lies beside them is not a number and stays so.
template <typename T>
class Wide {
 public:
  Wide(const Sizes& s, uint64_t seed) : sizes_(s) {
    const int64_t rows = s.groups * s.rows;
    memory_.assign(static_cast<size_t>(rows * pitch() + 64), static_cast<T>(std::nan("")));
    for (int64_t r = 0; r < rows && seed > 0; ++r) {
      for (int64_t c = 0; c < s.channels; ++c) *At(r, c) = static_cast<T>(Number(seed, r * s.channels + c));
    }
  }

  int64_t pitch() const { return sizes_.channels + sizes_.gap; }
  T* data() { return At(0, 0); }
  double operator()(int64_t row, int64_t c) { return static_cast<double>(*At(row, c)); }

  // Elements that are numbers.
  int64_t Written() const {
    int64_t count = 0;
    for (const T& value : memory_) count += std::isnan(static_cast<double>(value)) ? 0 : 1;
    return count;
  }

 private:
  T* At(int64_t row, int64_t c) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    const auto aligned = static_cast<int64_t>((16 - address % 16) % 16 / sizeof(T));
    return memory_.data() + aligned + sizes_.misalignment + row * pitch() + c;
  }

  Sizes sizes_;
  std::vector<T> memory_;
};

template <typename A>
std::vector<A> PerChannel(int64_t channels, uint64_t seed) {
  std::vector<A> result;
  for (int64_t c = 0; c < channels; ++c) result.push_back(static_cast<A>(0.5 + 0.3 * Number(seed, c)));
  return result;
}

// A batch norm of random numbers, and what it is in double.
template <typename T>
struct Subject {
  using A = Compute<T>;
  Sizes sizes;
  Wide<T> x, dy, out;
  std::vector<A> shift, gamma, beta;
  std::vector<double> stats, dstats;
  BatchNormLaunch node;
  CountingQueue queue;

  Subject(const Sizes& s, bool relu)
      : sizes(s),
        x(s, 1),
        dy(s, 2),
        out(s, 0),
        shift(PerChannel<A>(s.channels, 3)),
        gamma(PerChannel<A>(s.channels, 4)),
        beta(PerChannel<A>(s.channels, 5)),
        stats(2 * s.groups * s.channels),
        dstats(2 * s.groups * s.channels) {
    node.groups = {s.groups, s.rows, s.channels, static_cast<double>(std::max<int64_t>(s.rows, 1))};
    node.epsilon = 1e-3;
    node.relu = relu;
    node.x = x.data();
    node.dy = dy.data();
    node.x_pitch = x.pitch();
    node.dy_pitch = dy.pitch();
    node.out_pitch = out.pitch();
    node.shift = shift.data();
    node.gamma = gamma.data();
    node.beta = beta.data();
    node.stats = stats.data();
    node.dstats = dstats.data();
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t r = g * s.rows; r < (g + 1) * s.rows; ++r) {
          const double d = x(r, c) - static_cast<double>(shift[c]);
          stats[2 * g * s.channels + c] += d;
          stats[(2 * g + 1) * s.channels + c] += d * d;
        }
        dstats[2 * g * s.channels + c] = Number(6, g * s.channels + c);
        dstats[(2 * g + 1) * s.channels + c] = Number(7, g * s.channels + c);
      }
    }
  }

  BatchMoments Moments(int64_t g, int64_t c) const {
    return MakeBatchMoments(stats[2 * g * sizes.channels + c], stats[(2 * g + 1) * sizes.channels + c],
                            node.groups.count);
  }
  NormalizeCoefficients<A> Coefficients(int64_t g, int64_t c) const {
    const BatchMoments moments = Moments(g, c);
    return MakeNormalizeCoefficients<A>(moments.shifted_mean + static_cast<double>(shift[c]), moments.variance,
                                        node.epsilon, gamma[c], beta[c]);
  }
  // The cotangent behind the fused relu.
  A Cotangent(int64_t g, int64_t r, int64_t c) {
    const NormalizeCoefficients<A> k = Coefficients(g, c);
    return NormalizedCotangent(static_cast<A>(x(r, c)), static_cast<A>(dy(r, c)), k.mean, k.scale, k.beta, node.relu);
  }

  // element(group, row, channel) to the bit, and nothing beside the rows.
  template <typename F>
  void ExpectOut(const F& element) {
    for (int64_t r = 0; r < sizes.groups * sizes.rows; ++r) {
      for (int64_t c = 0; c < sizes.channels; ++c) {
        const A expected = element(r / sizes.rows, r, c);
        ASSERT_EQ(out(r, c), static_cast<double>(static_cast<T>(expected))) << NameOf(sizes) << " at " << r << " " << c;
      }
    }
    EXPECT_EQ(out.Written(), sizes.groups * sizes.rows * sizes.channels) << NameOf(sizes);
    EXPECT_EQ(queue.launches, sizes.rows == 0 ? 0 : 1);
  }
};

// Workspace of exactly as many bytes as is said, full of numbers that are none.
struct Scratch {
  explicit Scratch(int64_t bytes) : memory(static_cast<size_t>(bytes) / sizeof(double), std::nan("")) {}
  SumScratch get() { return {memory.data(), 5}; }
  std::vector<double> memory;
};

template <typename T>
void SumsAreRight(const Sizes& s, bool relu) {
  SCOPED_TRACE(NameOf(s));
  using A = Compute<T>;
  Subject<T> subject(s, relu);
  const ColumnChunks chunks = launch::ChunksOf(subject.node.groups);
  std::vector<double> stats(subject.stats.size(), std::nan(""));
  Scratch scratch(chunks.partial_bytes(2));
  ASSERT_EQ(launch::BatchNormStatistics(kType<T>, subject.node, stats.data(), scratch.get(), &subject.queue),
            kLaunched);
  EXPECT_EQ(subject.queue.launches, 1);
  for (size_t i = 0; i < stats.size(); ++i) {
    ASSERT_NEAR(stats[i], subject.stats[i], 1e-11 * (1 + std::abs(subject.stats[i])));
  }

  std::vector<double> dstats(stats.size(), std::nan(""));
  const auto channels = static_cast<size_t>(s.channels);
  std::vector<A> dgamma(channels, static_cast<A>(std::nan(""))), dbeta = dgamma;
  Scratch both(chunks.partial_bytes(2) + chunks.totals_bytes(2));
  ASSERT_EQ(launch::BatchNormGradientSums(kType<T>, subject.node, dstats.data(), dgamma.data(), dbeta.data(),
                                          both.get(), &subject.queue),
            kLaunched);
  EXPECT_EQ(subject.queue.launches, 2);
  for (int64_t c = 0; c < s.channels; ++c) {
    double gamma_sum = 0, beta_sum = 0;
    for (int64_t g = 0; g < s.groups; ++g) {
      const BatchMoments moments = subject.Moments(g, c);
      const double mean = moments.shifted_mean + static_cast<double>(subject.shift[c]);
      double a = 0, b = 0;
      for (int64_t r = g * s.rows; r < (g + 1) * s.rows; ++r) {
        const double d = subject.Cotangent(g, r, c);
        a += d;
        b += d * (subject.x(r, c) - mean);
      }
      const BatchNormGradient expected =
          MakeBatchNormGradient(a, b, moments, subject.node.groups.count, subject.node.epsilon, subject.gamma[c]);
      ASSERT_NEAR(dstats[2 * g * s.channels + c], expected.ds1, 1e-10 * (1 + std::abs(expected.ds1)));
      ASSERT_NEAR(dstats[(2 * g + 1) * s.channels + c], expected.ds2, 1e-10 * (1 + std::abs(expected.ds2)));
      gamma_sum += expected.dgamma;
      beta_sum += expected.dbeta;
    }
    const double rounding = sizeof(A) == 4 ? 1e-6 : 1e-10;
    ASSERT_NEAR(dgamma[c], gamma_sum, rounding * (1 + std::abs(gamma_sum)));
    ASSERT_NEAR(dbeta[c], beta_sum, rounding * (1 + std::abs(beta_sum)));
  }
}

template <typename T>
void ElementsAreRight(const Sizes& s, bool relu) {
  using A = Compute<T>;
  const auto normalized = [relu](A x, const NormalizeCoefficients<A>& k) {
    const A value = NormalizeElement(x, k.mean, k.scale, k.beta);
    return relu ? Relu::Value(value) : value;
  };
  {
    Subject<T> t(s, relu);
    ASSERT_EQ(launch::BatchNormNormalize(kType<T>, t.node, t.out.data(), &t.queue), kLaunched);
    t.ExpectOut(
        [&](int64_t g, int64_t r, int64_t c) { return normalized(static_cast<A>(t.x(r, c)), t.Coefficients(g, c)); });
  }
  {
    Subject<T> t(s, relu);
    std::vector<A> variance = t.gamma;
    for (A& value : variance) value *= value;
    ASSERT_EQ(launch::BatchNormInference(kType<T>, t.node, t.beta.data(), variance.data(), t.out.data(), &t.queue),
              kLaunched);
    t.ExpectOut([&](int64_t, int64_t r, int64_t c) {
      const auto k = MakeNormalizeCoefficients<A>(t.beta[c], variance[c], t.node.epsilon, t.gamma[c], t.beta[c]);
      return normalized(static_cast<A>(t.x(r, c)), k);
    });
  }
  {
    Subject<T> t(s, relu);
    ASSERT_EQ(launch::BatchNormNormalizeInputGrad(kType<T>, t.node, t.out.data(), &t.queue), kLaunched);
    t.ExpectOut([&](int64_t g, int64_t r, int64_t c) { return t.Cotangent(g, r, c) * t.Coefficients(g, c).scale; });
  }
  {
    Subject<T> t(s, relu);
    ASSERT_EQ(launch::BatchNormInputGrad(kType<T>, t.node, t.out.data(), &t.queue), kLaunched);
    t.ExpectOut([&](int64_t g, int64_t r, int64_t c) {
      const NormalizeCoefficients<A> k = t.Coefficients(g, c);
      const double *ds1 = t.dstats.data() + 2 * g * s.channels, *ds2 = ds1 + s.channels;
      const auto f = MakeStatisticsGradCoefficients(k.mean, static_cast<double>(t.shift[c]), ds1[c], ds2[c]);
      return t.Cotangent(g, r, c) * k.scale +
             StatisticsGradElement(static_cast<A>(t.x(r, c)), k.mean, f.slope, f.offset);
    });
  }
  {
    Subject<T> t(s, relu);
    ASSERT_EQ(launch::BatchNormStatisticsGrad(kType<T>, t.node, t.out.data(), &t.queue), kLaunched);
    t.ExpectOut([&](int64_t g, int64_t r, int64_t c) {
      const double *ds1 = t.dstats.data() + 2 * g * s.channels, *ds2 = ds1 + s.channels;
      return static_cast<A>(ds1[c] + 2 * (t.x(r, c) - static_cast<double>(t.shift[c])) * ds2[c]);
    });
  }
}

// Both ways of a small batch norm at once, beside sums in double; elements as by those sums. dx lies at dy.
template <typename T>
void SmallOnesAreRight(const Sizes& s, bool relu) {
  SCOPED_TRACE(NameOf(s));
  using A = Compute<T>;
  {
    Subject<T> t(s, relu);
    std::vector<double> stats(t.stats.size(), std::nan(""));
    t.node.stats = stats.data();
    ASSERT_EQ(launch::SmallBatchNorm(kType<T>, t.node, stats.data(), t.out.data(), &t.queue), kLaunched);
    EXPECT_EQ(t.queue.launches, 1);
    for (size_t i = 0; i < stats.size(); ++i) {
      ASSERT_NEAR(stats[i], t.stats[i], 1e-11 * (1 + std::abs(t.stats[i])));
    }
    t.stats = stats;
    t.ExpectOut([&](int64_t g, int64_t r, int64_t c) {
      const NormalizeCoefficients<A> k = t.Coefficients(g, c);
      const A value = NormalizeElement(static_cast<A>(t.x(r, c)), k.mean, k.scale, k.beta);
      return relu ? Relu::Value(value) : value;
    });
  }
  Subject<T> t(s, relu);
  std::vector<A> dgamma(static_cast<size_t>(s.channels), static_cast<A>(std::nan(""))), dbeta = dgamma;
  Subject<T> before(s, relu);
  Wide<T>& dy = before.dy;
  ASSERT_EQ(launch::SmallBatchNormGrad(kType<T>, t.node, t.dy.data(), dgamma.data(), dbeta.data(), &t.queue),
            kLaunched);
  EXPECT_EQ(t.queue.launches, 1);
  const double rounding = sizeof(T) == 2 ? 0x1p-8 : sizeof(A) == 4 ? 2e-6 : 1e-10;
  for (int64_t c = 0; c < s.channels; ++c) {
    double gamma_sum = 0, beta_sum = 0;
    for (int64_t g = 0; g < s.groups; ++g) {
      const BatchMoments moments = t.Moments(g, c);
      const double shift = t.shift[c], mean = moments.shifted_mean + shift;
      const NormalizeCoefficients<A> k = t.Coefficients(g, c);
      const auto cotangent = [&](int64_t r) {
        return NormalizedCotangent(static_cast<A>(t.x(r, c)), static_cast<A>(dy(r, c)), k.mean, k.scale, k.beta, relu);
      };
      double a = 0, b = 0;
      for (int64_t r = g * s.rows; r < (g + 1) * s.rows; ++r) {
        a += cotangent(r);
        b += cotangent(r) * (t.x(r, c) - mean);
      }
      const BatchNormGradient d = MakeBatchNormGradient(a, b, moments, t.node.groups.count, t.node.epsilon, t.gamma[c]);
      gamma_sum += d.dgamma;
      beta_sum += d.dbeta;
      const double scale = t.gamma[c] / std::sqrt(moments.variance + t.node.epsilon);
      for (int64_t r = g * s.rows; r < (g + 1) * s.rows; ++r) {
        const double dx = cotangent(r) * scale + d.ds1 + 2 * (t.x(r, c) - shift) * d.ds2;
        ASSERT_NEAR(t.dy(r, c), dx, rounding * (1 + std::abs(dx))) << r << " " << c;
      }
    }
    const double of_sums = sizeof(A) == 4 ? 1e-6 : 1e-10;
    ASSERT_NEAR(dgamma[c], gamma_sum, of_sums * (1 + std::abs(gamma_sum)));
    ASSERT_NEAR(dbeta[c], beta_sum, of_sums * (1 + std::abs(beta_sum)));
  }
  EXPECT_EQ(t.dy.Written(), s.groups * s.rows * s.channels);
}

TEST(BatchNormLaunch, SmallOnesOfAllSizes) {
  std::vector<Sizes> sizes = {{1, 2047, 9}, {1, 2048, 8, 3}, {1, 1025, 12, 4, 1}};
  for (const Sizes& s : kSizes) {
    if (s.rows != 0) sizes.push_back(s);
  }
  for (const Sizes& s : sizes) {
    for (const bool relu : {false, true}) {
      SmallOnesAreRight<float>(s, relu);
      SmallOnesAreRight<double>(s, relu);
      SmallOnesAreRight<Bf16>(s, relu);
    }
  }
  for (const Sizes& s : {Sizes{1, 4096, 6}, {1, 4095, 8, 1}}) {
    SmallOnesAreRight<float>(s, true);
    SmallOnesAreRight<Bf16>(s, true);
  }
}

TEST(BatchNormLaunch, SumsOfAllSizes) {
  for (const Sizes& s : kSizes) {
    for (const bool relu : {false, true}) {
      SumsAreRight<float>(s, relu);
      SumsAreRight<double>(s, relu);
      SumsAreRight<Bf16>(s, relu);
    }
  }
}

TEST(BatchNormLaunch, ElementsOfAllSizesToTheBit) {
  for (const Sizes& s : kSizes) {
    for (const bool relu : {false, true}) {
      ElementsAreRight<float>(s, relu);
      ElementsAreRight<double>(s, relu);
      ElementsAreRight<Bf16>(s, relu);
    }
  }
}

// Whichever way memory is reached, the order of the sums is the same.
TEST(BatchNormLaunch, SumsDoNotDependOnAddressesAndPitches) {
  std::vector<double> expected;
  for (const Sizes& s : {Sizes{2, 1500, 40}, {2, 1500, 40, 0, 1}, {2, 1500, 40, 8}, {2, 1500, 40, 3}}) {
    Subject<float> t(s, false);
    std::vector<double> stats(t.stats.size());
    Scratch scratch(launch::ChunksOf(t.node.groups).partial_bytes(2));
    ASSERT_EQ(launch::BatchNormStatistics(DType::kF32, t.node, stats.data(), scratch.get(), &t.queue), kLaunched);
    if (expected.empty()) expected = stats;
    EXPECT_EQ(stats, expected) << NameOf(s);
  }
}

// No samples: the gradients of the parameters are written all the same.
TEST(BatchNormLaunch, GradientsOfNoGroupsAreZero) {
  Subject<float> t({0, 0, 5}, false);
  std::vector<float> dgamma(5, 1), dbeta(5, 1);
  ASSERT_EQ(launch::BatchNormGradientSums(DType::kF32, t.node, nullptr, dgamma.data(), dbeta.data(), {}, &t.queue),
            kLaunched);
  EXPECT_EQ(dgamma, std::vector<float>(5, 0));
  EXPECT_EQ(dbeta, std::vector<float>(5, 0));
  dgamma = dbeta = std::vector<float>(5, 1);
  ASSERT_EQ(launch::SmallBatchNormGrad(DType::kF32, t.node, nullptr, dgamma.data(), dbeta.data(), &t.queue), kLaunched);
  EXPECT_EQ(dgamma, std::vector<float>(5, 0));
  EXPECT_EQ(dbeta, std::vector<float>(5, 0));
}

TEST(BatchNormLaunch, SmallOnesRefuseMoreRowsThanAreKept) {
  Subject<float> t({1, 4097, 4}, false);
  std::vector<float> dgamma(4), dbeta(4);
  EXPECT_EQ(launch::SmallBatchNormGrad(DType::kF32, t.node, t.dy.data(), dgamma.data(), dbeta.data(), &t.queue),
            kInvalidLaunch);
  EXPECT_EQ(t.queue.launches, 0);
}

}  // namespace
}  // namespace partita
