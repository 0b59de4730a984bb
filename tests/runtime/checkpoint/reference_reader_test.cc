// Our files read by the real safetensors package, and its files by us.
//
// The package is a pinned wheel that Bazel unpacks beside the test (tools/bazel/python.txt).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/files.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {
namespace {

// Debian's interpreter, with the unpacked wheels before its own packages.
std::string Python() {
  const std::filesystem::path wheels = std::filesystem::absolute("../python_wheels/site");
  return "PYTHONPATH='" + wheels.lexically_normal().string() + "' /usr/bin/python3";
}

class ReferenceReader : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(std::system((Python() + " -c 'import safetensors.numpy'").c_str()), 0);
    folder_ = ::testing::TempDir() + "/reference_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // Runs a script in the folder; its standard error is shown if it fails.
  bool Run(const std::string& script) {
    EXPECT_TRUE(WriteFileAtomically(folder_ + "/script.py", script).ok());
    return std::system(("cd '" + folder_ + "' && " + Python() + " script.py").c_str()) == 0;
  }

  std::string folder_;
};

TEST_F(ReferenceReader, ReadsWhatWeWrite) {
  const std::vector<float> weights = {1.5f, -2, 3, 4, 5, 6};
  const std::vector<double> losses = {0.1, 1e300};
  const std::vector<int32_t> step = {-7};
  const std::vector<uint8_t> image = {0, 127, 255};
  const std::vector<NamedTensor> tensors = {{"conv/weight", DType::kF32, {3, 1, 2}, std::as_bytes(std::span(weights))},
                                            {"losses", DType::kF64, {2}, std::as_bytes(std::span(losses))},
                                            {"step", DType::kI32, {}, std::as_bytes(std::span(step))},
                                            {"image \"\xc3\xa4\"", DType::kU8, {3}, std::as_bytes(std::span(image))},
                                            {"empty", DType::kF32, {0, 5}, {}}};
  ASSERT_TRUE(SaveSafetensors(folder_ + "/ours.safetensors", tensors, {{"model", "lenet5"}}).ok());
  EXPECT_TRUE(Run(R"(
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file
t = load_file('ours.safetensors')
assert set(t) == {'conv/weight', 'losses', 'step', 'image "\u00e4"', 'empty'}, t.keys()
def same(name, dtype, shape, values):
    assert t[name].dtype == dtype and t[name].shape == shape and t[name].ravel().tolist() == values, (name, t[name])
same('conv/weight', np.float32, (3, 1, 2), [1.5, -2, 3, 4, 5, 6])
same('losses', np.float64, (2,), [0.1, 1e300])
same('step', np.int32, (), [-7])
same('image "\u00e4"', np.uint8, (3,), [0, 127, 255])
same('empty', np.float32, (0, 5), [])
with safe_open('ours.safetensors', framework='np') as f:
    assert f.metadata()['format'] == 'pt' and f.metadata()['model'] == 'lenet5', f.metadata()
    assert f.get_slice('conv/weight')[1:2].ravel().tolist() == [3, 4]
)"));
}

TEST_F(ReferenceReader, WritesWhatWeRead) {
  ASSERT_TRUE(Run(R"(
import numpy as np
from safetensors.numpy import save_file
save_file({'w': np.arange(6, dtype=np.float32).reshape(2, 3), 's': np.array(3, dtype=np.int64), 'h': np.zeros(3, np.float16)},
          'theirs.safetensors', metadata={'note': 'x'})
)"));
  const auto file = LoadSafetensors(folder_ + "/theirs.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metadata().at("note"), "x");
  const int64_t shape[] = {2, 3};
  const auto bytes = file->Get("w", DType::kF32, shape);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const std::vector<float> expected = {0, 1, 2, 3, 4, 5};
  const auto expected_bytes = std::as_bytes(std::span(expected));
  EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(), expected_bytes.begin(), expected_bytes.end()));
  EXPECT_EQ(file->Find("s")->type->name, "I64");
}

TEST_F(ReferenceReader, DamagedFilesAreRefusedByBoth) {
  const std::vector<float> weights = {1, 2};
  const std::vector<NamedTensor> tensors = {{"w", DType::kF32, {2}, std::as_bytes(std::span(weights))}};
  const auto encoded = EncodeSafetensors("f", tensors, {});
  ASSERT_TRUE(encoded.ok());
  std::string whole = encoded->head;
  whole.append(reinterpret_cast<const char*>(weights.data()), 8);
  int count = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/cut" + std::to_string(count++), whole.substr(0, length)).ok());
    EXPECT_FALSE(SafetensorsFile::Parse("f", whole.substr(0, length)).ok());
  }
  EXPECT_TRUE(Run("count = " + std::to_string(count) + R"(
from safetensors import safe_open, SafetensorError
for i in range(count):
    try:
        safe_open(f'cut{i}', framework='np').__enter__()
    except (SafetensorError, OSError, ValueError):
        continue
    raise SystemExit(f'cut{i} was taken')
)"));
}

}  // namespace
}  // namespace partita
