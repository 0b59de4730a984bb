// Which files every reader skips, by name, and that the case of an ending does not count.
#include "runtime/base/file_name.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(FileName, FilesOfOtherSystems) {
  for (const char* const path : {".DS_Store", "._x.png", "a/._x.png", "__MACOSX/x.png", "a/__MACOSX/b/x.png",
                                 "Thumbs.db", "THUMBS.DB", "a/ehthumbs.db", "desktop.ini", "Desktop.INI",
                                 ".hidden/x.png", "./._x", "@eaDir/x", "$RECYCLE.BIN/x", "a/Icon\r"}) {
    EXPECT_TRUE(IsForeignFile(path)) << path;
  }
  for (const char* const path : {"", "x.png", "./x.png", "../x.png", "a/../x.png", "Thumbs.db.png", "MACOSX/x", "x.",
                                 "README", "my thumbs.db/..x"}) {
    EXPECT_EQ(IsForeignFile(path), std::string_view(path).ends_with("..x")) << path;
  }
}

TEST(FileName, EndingsInAnyCase) {
  for (const char* const name : {"x.npy", "x.NPY", ".Npy"}) EXPECT_TRUE(HasEnding(name, ".npy")) << name;
  for (const char* const name : {"npy", "x.npz", "x.npy.gz", ""}) EXPECT_FALSE(HasEnding(name, ".npy")) << name;
  for (const char* const name : {"x.JPG", "x.jpeg", "x.PnG"}) EXPECT_TRUE(HasPictureEnding(name)) << name;
  EXPECT_FALSE(HasPictureEnding("x.gif"));
}

}  // namespace
}  // namespace partita
