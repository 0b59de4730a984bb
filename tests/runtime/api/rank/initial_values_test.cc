// Whatever the number of threads, the bytes of a state's initial values are those that one thread draws.
#include "runtime/api/rank/initial_values.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/values/initializer.h"
#include "runtime/base/bf16.h"

namespace partita {
namespace {

std::vector<char> Drawn(const std::string& initializer, const LocalTensor& tensor, int64_t threads) {
  const Attributes attributes{{"initializer", initializer}, {"scale", 0.5}};
  std::vector<char> bytes(static_cast<size_t>(tensor.bytes()), 'x');
  const absl::Status drawn = DrawInitialValues(attributes, tensor, 7, "w", threads, bytes.data());
  EXPECT_TRUE(drawn.ok()) << drawn;
  return bytes;
}

TEST(InitialValues, DoNotDependOnTheThreads) {
  const LocalTensor tensors[] = {
      {DType::kF32, {403, 251}, {{0, 0}, {403, 251}}},  // rows that end within a block of random words
      {DType::kF32, {403, 251}, {{5, 3}, {397, 240}}},  // the part of a rank
      {DType::kF64, {1, 1, 7, 20011}, {{0, 0, 0, 0}, {1, 1, 7, 20011}}},
      {DType::kBF16, {90001}, {{1}, {89999}}},
      {DType::kF32, {1, 1}, {{0, 0}, {1, 1}}},
      {DType::kF32, {400, 400}, {{400, 0}, {0, 400}}},  // nothing
  };
  for (const LocalTensor& tensor : tensors) {
    for (const std::string initializer : {"constant", "uniform", "glorot_normal"}) {
      if (initializer == "glorot_normal" && tensor.global.size() == 1) continue;
      const std::vector<char> one = Drawn(initializer, tensor, 1);
      for (const int64_t threads : {2, 3, 500}) {
        EXPECT_EQ(Drawn(initializer, tensor, threads), one)
            << initializer << " " << ToString(tensor.box.size) << " by " << threads;
      }
    }
  }
}

TEST(InitialValues, PiecesLieOneBehindTheOtherInTheBox) {
  const Box box{{2, 0, 5}, {1, 7, 3}};
  EXPECT_EQ(PiecesOf(box, 0), std::vector<Box>{box});
  EXPECT_EQ(PiecesOf(box, 3),
            (std::vector<Box>{{{2, 0, 5}, {1, 2, 3}}, {{2, 2, 5}, {1, 2, 3}}, {{2, 4, 5}, {1, 3, 3}}}));
  EXPECT_EQ(PiecesOf(box, 100).size(), 7U);
  EXPECT_EQ(PiecesOf({{}, {}}, 4).size(), 1U);
}

// One of a thread's own is told as if there were no others.
TEST(InitialValues, ErrorsAreTold) {
  std::vector<float> data(200000);
  const LocalTensor tensor{DType::kF32, {200000}, {{0}, {200000}}};
  const absl::Status status =
      DrawInitialValues({{"initializer", "he_normal"}, {"scale", 1.0}}, tensor, 7, "w", 3, data.data());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace partita
