// Files that users take for another kind are called what they are.
#include "runtime/base/file_kind.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(FileKind, IsToldByTheFirstBytes) {
  const std::string zip = "PK\x03\x04" + std::string(26, '\x01');
  const struct {
    std::string bytes;
    std::string_view kind;
  } cases[] = {{"", "an empty file"},
               {zip + "model/data.pkl", kTorchKind},
               {zip + "x.npy", "NumPy arrays (.npz)"},
               {zip + "x", "a zip archive"},
               {std::string("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 15), kTorchKind},
               {std::string("\x80\x04\x95\x01\0", 5), "a Python pickle"},
               {"\x93NUMPY", "a NumPy array (.npy)"},
               {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
               {std::string(257, '\x01') + "ustar", "a tar archive"},
               {"x,y\r\n1,2\r\n", "text"},
               {"\xc3\xb6", "text"},
               {std::string("ab\0cd", 5), kUnknownKind},
               {std::string("RIFF\x01\0\0\0WEBP", 12), "a WebP picture"},
               {"RIFF", "text"}};
  for (const auto& [bytes, kind] : cases) EXPECT_EQ(KindOfFile(bytes), kind) << bytes;
  EXPECT_EQ(KindOfFileAt("/nowhere"), kUnknownKind);
}

}  // namespace
}  // namespace partita
