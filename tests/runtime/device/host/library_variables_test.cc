#include "runtime/device/host/library_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LibraryVariables, EachRowIsReached) {
  std::set<std::string> names;
  for (const LibraryVariable& row : LibraryVariables()) {
    std::string name = row.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    if (name.ends_with('*')) name.back() = '!';
    EXPECT_EQ(FindLibraryVariable(name), &row) << name << ": a row before it covers it";
    EXPECT_FALSE(std::string(row.reason).empty()) << name;
  }
}

TEST(LibraryVariables, OfALibraryThatHasNoRowOfTheirOwn) {
  const LibraryVariable* const unknown = FindLibraryVariable("ONEDNN_SOMETHING_NEW");
  ASSERT_NE(unknown, nullptr);
  EXPECT_EQ(unknown->handling, VariableHandling::kDropped);
  EXPECT_EQ(FindLibraryVariable("NCCL_SOCKET_IFNAME")->handling, VariableHandling::kKept);
  EXPECT_EQ(FindLibraryVariable("PATH"), nullptr);
  EXPECT_EQ(FindLibraryVariable("JPEGMEMORY"), nullptr);
  EXPECT_EQ(FindLibraryVariable(""), nullptr);
}

TEST(LibraryVariables, AreFoundByNameAndShown) {
  const char* const environment[] = {"PATH=/bin", "OMP_DYNAMIC=true",    "nonsense",
                                     "JPEGMEM=",  "SSL_CERT_DIR=/certs", nullptr};
  const std::vector<FoundVariable> found = FindLibraryVariables(environment);
  ASSERT_EQ(found.size(), 3);
  EXPECT_EQ(found[0].name, "JPEGMEM");
  EXPECT_EQ(found[0].value, "");
  EXPECT_THAT(found[1].ToString(), HasSubstr("OMP_DYNAMIC=true (OpenMP): pinned: "));
  EXPECT_THAT(found[2].ToString(), HasSubstr("SSL_CERT_DIR=/certs (OpenSSL): kept: "));
}

}  // namespace
}  // namespace partita
