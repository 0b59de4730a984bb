// Text in UTF-8 is taken with its mark and without; every other encoding of Unicode is refused by its name.
#include "runtime/base/text_file.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

TEST(TextFile, TheMarkIsTakenOffOnce) {
  for (const std::string text : {"", "x", "epochs = 2\n", "\xc3\xb6"}) {
    std::string plain = text, marked = "\xef\xbb\xbf" + text;
    EXPECT_TRUE(TakeOffMark("f", plain).ok());
    EXPECT_TRUE(TakeOffMark("f", marked).ok());
    EXPECT_EQ(plain, text);
    EXPECT_EQ(marked, text);
  }
  std::string twice = "\xef\xbb\xbf\xef\xbb\xbfx";
  EXPECT_TRUE(TakeOffMark("f", twice).ok());
  EXPECT_EQ(twice, "\xef\xbb\xbfx");
}

// "ab" in each encoding, with its mark and without.
TEST(TextFile, OtherEncodingsAreCalledByName) {
  const struct {
    std::string bytes, name;
  } cases[] = {{std::string("\xff\xfe"
                            "a\0b\0",
                            6),
                "UTF-16"},
               {std::string("\xfe\xff\0a\0b", 6), "UTF-16"},
               {std::string("\xff\xfe", 2), "UTF-16"},
               {std::string("a\0b\0", 4), "UTF-16LE"},
               {std::string("\0a\0b", 4), "UTF-16BE"},
               {std::string("\xff\xfe\0\0a\0\0\0", 8), "UTF-32"},
               {std::string("\0\0\xfe\xff\0\0\0a", 8), "UTF-32"},
               {std::string("a\0\0\0b\0\0\0", 8), "UTF-32LE"},
               {std::string("\0\0\0a\0\0\0b", 8), "UTF-32BE"}};
  for (const auto& [bytes, name] : cases) {
    std::string text = bytes;
    const absl::Status refused = TakeOffMark("f", text);
    EXPECT_EQ(std::string(refused.message()),
              "f: is text in " + name + "; expected UTF-8 (iconv -f " + name + " -t UTF-8 FILE > NEW converts it)");
  }
}

}  // namespace
}  // namespace partita
