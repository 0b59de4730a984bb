// Vocabularies, and texts as ids: what is read, and where it is said to be wrong.
#include "runtime/data/text/token_file.h"

#include <gtest/gtest.h>

#include "runtime/base/files.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

std::string FileOf(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + "/" + name;
  EXPECT_OK(WriteFileAtomically(path, contents));
  return path;
}

absl::StatusOr<Vocabulary> Known(const std::string& contents) {
  return Vocabulary::Read(FileOf("vocabulary.txt", contents));
}

// Without the folder of the files.
std::string Said(const absl::Status& status) {
  std::string message(status.message());
  const std::string folder = testing::TempDir() + "/";
  for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
    message.erase(at, folder.size());
  }
  return message;
}

TEST(Vocabulary, HasAWordOnEachLine) {
  ASSERT_OK_AND_ASSIGN(const Vocabulary known, Known("the\n</s>\ncat"));
  EXPECT_EQ(known.size(), 3);
  EXPECT_EQ(known.Find("the"), 0);
  EXPECT_EQ(known.Find("cat"), 2);
  EXPECT_EQ(known.Find("dog"), std::nullopt);
}

TEST(Vocabulary, MayComeFromAnEditorOfWindows) {
  ASSERT_OK_AND_ASSIGN(const Vocabulary known, Known("\xef\xbb\xbfthe\r\ncat\r\n</s>"));
  EXPECT_EQ(known.size(), 3);
  EXPECT_EQ(known.Find("the"), 0);
  EXPECT_EQ(known.Word(1), "cat");
  ASSERT_OK_AND_ASSIGN(const auto ids, ReadWords(FileOf("t.txt", "\xef\xbb\xbfthe cat\r\n\r\ncat\r\n"), known));
  EXPECT_EQ(ids, std::vector<int32_t>({0, 1, 2, 1, 2}));
  EXPECT_EQ(Said(Known("the\r\n\r\ncat\r\n").status()), "vocabulary.txt: line 2: found '', a line has one word");
}

TEST(Vocabulary, RefusesLinesThatAreNoWords) {
  EXPECT_EQ(Said(Known("").status()), "vocabulary.txt: found no words");
  EXPECT_EQ(Said(Known("a\n\nb\n").status()), "vocabulary.txt: line 2: found '', a line has one word");
  EXPECT_EQ(Said(Known("a\nb c\n").status()), "vocabulary.txt: line 2: found 'b c', a line has one word");
  EXPECT_EQ(Said(Known("a\nb\na\n").status()), "vocabulary.txt: line 3: word 'a' is that of line 1");
}

TEST(ReadWords, EndsLinesThatHaveWords) {
  ASSERT_OK_AND_ASSIGN(const Vocabulary known, Known("</s>\nthe\ncat\n<unk>\n"));
  ASSERT_OK_AND_ASSIGN(const auto ids, ReadWords(FileOf("t.txt", "the  cat\n\n \t\na\tcat"), known));
  EXPECT_EQ(ids, std::vector<int32_t>({1, 2, 0, 3, 2, 0}));
}

TEST(ReadWords, NamesTheWordThatNobodyKnows) {
  ASSERT_OK_AND_ASSIGN(const Vocabulary known, Known("the\ncat\n"));
  ASSERT_OK_AND_ASSIGN(const auto ids, ReadWords(FileOf("t.txt", "the\ncat the\n"), known));
  EXPECT_EQ(ids, std::vector<int32_t>({0, 1, 0}));
  EXPECT_EQ(Said(ReadWords(FileOf("t.txt", "the\ncat dog the\n"), known).status()),
            "t.txt: line 2, position 2: found 'dog', which vocabulary.txt has not; nor has it <unk>, which would stand "
            "for it");
  EXPECT_EQ(Said(ReadWords(FileOf("t.txt", "\n \n"), known).status()), "t.txt: found no words");
}

// A word in Latin-1 is no word of a vocabulary in UTF-8. It counts as unknown, and is reported, unlike a rare word.
TEST(ReadWords, CountsWordsThatAreNoUtf8) {
  ASSERT_OK_AND_ASSIGN(const Vocabulary known, Known("<unk>\nthe\ncaf\xc3\xa9\nna\xefve\n"));
  BrokenWords broken;
  const std::string text = "the caf\xc3\xa9 na\xefve dog\nthe caf\xe9\ncaf\xe9\n";
  ASSERT_OK_AND_ASSIGN(const auto ids, ReadWords(FileOf("t.txt", text), known, &broken));
  EXPECT_EQ(ids, std::vector<int32_t>({1, 2, 3, 0, 1, 0, 0}));
  EXPECT_EQ(broken.count, 2);
  EXPECT_EQ(broken.line, 2);
  EXPECT_EQ(broken.position, 2);
  EXPECT_EQ(broken.first, "caf\xe9");
}

TEST(IsUtf8, TellsCharactersThatAreNotWhole) {
  for (const char* text :
       {"", "the", "caf\xc3\xa9", "\xe2\x82\xac", "\xef\xbf\xbd", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text : {"\xe9", "caf\xe9", "\xc3", "\xe2\x82", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "\xc3(", "\xe2\x82("}) {
    EXPECT_FALSE(IsUtf8(text)) << testing::PrintToString(std::string(text));
  }
}

TEST(ReadIds, NamesWhatIsNoId) {
  ASSERT_OK_AND_ASSIGN(const Vocabulary known, Known("the\ncat\n</s>\n"));
  ASSERT_OK_AND_ASSIGN(const auto ids, ReadIds(FileOf("t.ids", "0 2\n1\n"), known));
  EXPECT_EQ(ids, std::vector<int32_t>({0, 2, 1}));
  const auto refused = [&](const std::string& text) { return Said(ReadIds(FileOf("t.ids", text), known).status()); };
  EXPECT_EQ(refused("0 1\n2 2 3\n"), "t.ids: line 2, position 3: found 3, ids are 0 to 2");
  EXPECT_EQ(refused("0\n\n-1\n"), "t.ids: line 3, position 1: found -1, ids are 0 to 2");
  EXPECT_EQ(refused("0 1x"), "t.ids: line 1, position 2: found '1x', ids are 0 to 2");
  EXPECT_EQ(refused("99999999999999999999"), "t.ids: line 1, position 1: found '99999999999999999999', ids are 0 to 2");
  EXPECT_EQ(refused(""), "t.ids: found no words");
}

}  // namespace
}  // namespace partita
