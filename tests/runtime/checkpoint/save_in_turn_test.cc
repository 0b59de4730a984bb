#include "runtime/checkpoint/save_in_turn.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "runtime/base/files.h"

namespace partita {
namespace {

const std::vector<std::string> kBytes = {std::string("\1\2\3", 3), std::string(24, '\5'), "", std::string(16, '\7')};

std::vector<NamedTensor> Tensors(bool with_bytes) {
  std::vector<NamedTensor> tensors = {{"image", DType::kU8, {1, 3}, {}},
                                      {"w", DType::kF32, {2, 3}, {}},
                                      {"none", DType::kF32, {0, 7}, {}},
                                      {"losses", DType::kF64, {2}, {}}};
  for (size_t t = 0; with_bytes && t < tensors.size(); ++t) tensors[t].bytes = std::as_bytes(std::span(kBytes[t]));
  return tensors;
}

class SavedInTurn : public ::testing::Test {
 protected:
  ~SavedInTurn() override { ::unlink(path_.c_str()); }

  const std::string path_ = ::testing::TempDir() + "/in_turn_" + std::to_string(::getpid());
  std::vector<size_t> asked_;
  // Whose bytes are there until the next one is asked for, and no longer.
  std::string held_;

  absl::StatusOr<std::string_view> Ask(size_t tensor) {
    asked_.push_back(tensor);
    held_ = kBytes[tensor];
    return held_;
  }
};

TEST_F(SavedInTurn, HasTheBytesOfAFileThatIsSavedAtOnce) {
  const Metadata metadata = {{"key", "text"}};
  ASSERT_TRUE(SaveSafetensors(path_, Tensors(true), metadata).ok());
  const std::string at_once = *ReadFile(path_, 1 << 20);
  ASSERT_TRUE(SaveInTurn(path_, Tensors(false), metadata, [this](size_t tensor) { return Ask(tensor); }).ok());
  EXPECT_EQ(*ReadFile(path_, 1 << 20), at_once);
  EXPECT_EQ(asked_, (std::vector<size_t>{3, 2, 1, 0})) << "in the order of the file";
}

// A pipe is begun when all tensors are there, and so is written to its end whatever becomes of those who had them.
TEST_F(SavedInTurn, APipeHasTheSameBytes) {
  ASSERT_TRUE(SaveSafetensors(path_, Tensors(true), {}).ok());
  const std::string at_once = *ReadFile(path_, 1 << 20);
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = *ReadFile(path_, 1 << 20); });
  EXPECT_TRUE(SaveInTurn(path_, Tensors(false), {}, [this](size_t tensor) { return Ask(tensor); }).ok());
  reader.join();
  EXPECT_EQ(read, at_once);
}

TEST_F(SavedInTurn, LeavesTheOldFileWhereATensorCannotBeHad) {
  ASSERT_TRUE(WriteFileAtomically(path_, "old").ok());
  for (const size_t last : {1U, 3U}) {
    asked_.clear();
    const auto fail = [&](size_t tensor) -> absl::StatusOr<std::string_view> {
      if (asked_.size() == last) return absl::OutOfRangeError("gone");
      return Ask(tensor);
    };
    EXPECT_EQ(SaveInTurn(path_, Tensors(false), {}, fail), absl::OutOfRangeError("gone"));
    EXPECT_EQ(asked_.size(), last) << "nothing is asked for behind an error";
    EXPECT_EQ(*ReadFile(path_, 100), "old");
  }
}

}  // namespace
}  // namespace partita
