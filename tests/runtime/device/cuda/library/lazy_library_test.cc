// Where libraries are looked for, and what is said when one is missing or of another version.
#include "runtime/device/cuda/library/lazy_library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace partita {
namespace {

namespace fs = std::filesystem;

class LazyLibraryTest : public testing::Test {
 protected:
  LibrarySearch Search() {
    return {[this](const char* name) {
              const auto found = variables_.find(name);
              return found == variables_.end() ? nullptr : found->second.c_str();
            },
            "/program"};
  }

  fs::path Folder(const std::string& name) {
    const fs::path folder = root_ / name;
    fs::create_directories(folder);
    return folder;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "lazy_library";
  std::map<std::string, std::string> variables_;
};

TEST_F(LazyLibraryTest, LooksInThisOrder) {
  const fs::path packages = Folder("venv/lib/python3.11/site-packages/nvidia/nccl/lib").parent_path();
  Folder("venv/lib/python3.11/site-packages/nvidia/cudnn/lib");
  Folder("usr/lib/python3.12/dist-packages/nvidia/nccl/lib");
  Folder("usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib");
  std::ofstream(Folder("usr/bin") / "python3") << "";
  variables_ = {{"PARTITA_CUDA_LIBRARIES", "/first:/second"},
                {"CUDA_HOME", "/toolkit"},
                {"VIRTUAL_ENV", (root_ / "venv").string()},
                {"PATH", "/nowhere:" + (root_ / "usr/bin").string()}};
  const std::vector<std::string> expected = {
      "/first/libnccl.so.2",
      "/second/libnccl.so.2",
      "/program/libnccl.so.2",
      "libnccl.so.2",
      "/toolkit/lib64/libnccl.so.2",
      "/toolkit/lib/libnccl.so.2",
      "/usr/local/cuda/lib64/libnccl.so.2",
      "/usr/local/cuda/lib/libnccl.so.2",
      (packages.parent_path() / "cudnn/lib/libnccl.so.2").string(),
      (packages / "lib/libnccl.so.2").string(),
      (root_ / "usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2").string(),
      (root_ / "usr/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2").string(),
  };
  EXPECT_EQ(LibraryCandidates("libnccl.so.2", Search()), expected);
}

// A wheel's library finds those that pip has installed beside it, whatever environment is active.
TEST_F(LazyLibraryTest, AWheelFindsItsNeighbours) {
  const fs::path packages =
      Folder("other/lib/python3.12/site-packages/nvidia/cu13/lib").parent_path().parent_path().parent_path();
  LibrarySearch search = Search();
  search.own_folder = Folder("other/lib/python3.12/site-packages/partita/lib").string();
  const std::vector<std::string> candidates = LibraryCandidates("libcublasLt.so.13", search);
  EXPECT_EQ(candidates[1], search.own_folder + "/libcublasLt.so.13");
  EXPECT_EQ(candidates.back(), (packages / "nvidia/cu13/lib/libcublasLt.so.13").string());
  search.own_folder = Folder("other/lib/python3.12/elsewhere/partita/lib").string();
  Folder("other/lib/python3.12/elsewhere/nvidia/cu13/lib");
  EXPECT_EQ(LibraryCandidates("libcublasLt.so.13", search).back(), "/usr/local/cuda/lib/libcublasLt.so.13");
}

TEST_F(LazyLibraryTest, FillsAllSlots) {
  double (*cosine)(double) = nullptr;
  double (*root)(double) = nullptr;
  const absl::Status loaded = LoadLibrary(
      {"libm", "libm.so.6"}, {{"cos", reinterpret_cast<void**>(&cosine)}, {"sqrt", reinterpret_cast<void**>(&root)}});
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(root(49), 7);
}

TEST_F(LazyLibraryTest, OfAnotherVersionFillsNone) {
  void* cosine = nullptr;
  void* newer = nullptr;
  const absl::Status status = LoadLibrary({"libm", "libm.so.6"}, {{"cos", &cosine}, {"cos_of_2030", &newer}});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("another version"), std::string::npos) << status;
  EXPECT_NE(std::string(status.message()).find("cos_of_2030"), std::string::npos) << status;
  EXPECT_EQ(cosine, nullptr);
}

TEST_F(LazyLibraryTest, MissingIsOneSentence) {
  const absl::Status status = LoadLibrary({"NCCL", "libnothing.so.2"}, {}, Search());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(std::string(status.message()).rfind("NCCL is missing: there is no libnothing.so.2", 0), 0u) << status;
}

TEST_F(LazyLibraryTest, ThatIsNoLibrarySaysWhy) {
  std::ofstream(Folder("broken") / "libbroken.so.1") << "no ELF";
  variables_["PARTITA_CUDA_LIBRARIES"] = (root_ / "broken").string();
  const absl::Status status = LoadLibrary({"broken", "libbroken.so.1"}, {}, Search());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(status.message()).find("libbroken.so.1: "), std::string::npos) << status;
}

TEST_F(LazyLibraryTest, TheFolderOfTheVariableComesFirst) {
  const fs::path folder = Folder("mine");
  fs::copy_file("/lib/x86_64-linux-gnu/libm.so.6", folder / "libmine.so.1", fs::copy_options::overwrite_existing);
  variables_["PARTITA_CUDA_LIBRARIES"] = folder.string();
  void* cosine = nullptr;
  const absl::Status loaded = LoadLibrary({"mine", "libmine.so.1"}, {{"cos", &cosine}}, Search());
  EXPECT_TRUE(loaded.ok()) << loaded;
  EXPECT_NE(cosine, nullptr);
}

}  // namespace
}  // namespace partita
