// What a parallel text is, and what it may not be.
#include "runtime/data/pairs/pair_set.h"

#include <gtest/gtest.h>

#include "tests/runtime/data/pairs/pair_files.h"

namespace partita {
namespace {

std::vector<int32_t> Ids(std::span<const int32_t> words) { return {words.begin(), words.end()}; }

TEST(PairSet, HasASentenceOnEachLine) {
  ASSERT_OK_AND_ASSIGN(const PairSet pairs, Pairs("\xef\xbb\xbf"
                                                  "a b\nc\n",
                                                  "e  <unk>\tx\r\n a"));
  ASSERT_EQ(pairs.count(), 2);
  EXPECT_EQ(Ids(pairs.source[0]), std::vector<int32_t>({4, 5}));
  EXPECT_EQ(Ids(pairs.source[1]), std::vector<int32_t>({6}));
  EXPECT_EQ(Ids(pairs.target[0]), std::vector<int32_t>({8, kUnknownId, kUnknownId}));
  EXPECT_EQ(Ids(pairs.target[1]), std::vector<int32_t>({4}));
}

TEST(PairSet, CountsWordsThatAreNoUtf8) {
  ASSERT_OK_AND_ASSIGN(const PairSet pairs, Pairs("a b\nc \xe9\n\xe9 b\n", "a\nx\nc\n"));
  EXPECT_EQ(pairs.source.broken.count, 2);
  EXPECT_EQ(pairs.source.broken.line, 2);
  EXPECT_EQ(pairs.source.broken.position, 2);
  EXPECT_EQ(pairs.target.broken.count, 0);
}

TEST(PairSet, NamesTheLineThatIsNoSentence) {
  const auto refused = [](const std::string& source, const std::string& target) {
    return Said(Pairs(source, target).status());
  };
  EXPECT_EQ(
      refused("a\n \nb\n", "a\nb\nc\n"),
      "source.txt: line 2: found no words; expected at least one: remove the line, and its line in the other file");
  EXPECT_EQ(
      refused("a\nb\n", "a\n\n"),
      "target.txt: line 2: found no words; expected at least one: remove the line, and its line in the other file");
  EXPECT_EQ(refused("", "a\n"), "source.txt: found no lines");
  EXPECT_EQ(refused("a\nb a <pad>\n", "a\nb\n"),
            "source.txt: line 2, position 3: found <pad>, a mark that a text may not have");
  EXPECT_EQ(refused("a\n", "<s> a\n"), "target.txt: line 1, position 1: found <s>, a mark that a text may not have");
  EXPECT_EQ(refused("a\nb\n", "a\n"),
            "target.txt: found 1 line, source.txt has 2; each line is the translation of its line there");
}

TEST(PairSet, VocabulariesBeginWithTheMarks) {
  const auto check = [](const std::string& words) {
    return Said(CheckPairMarks(Vocabulary::Read(FileOf("v.txt", words)).value()));
  };
  EXPECT_EQ(check("<pad>\n<unk>\n<s>\n</s>\nthe\n"), "");
  EXPECT_EQ(check("</s>\n<unk>\nthe\n"),
            "v.txt: line 1: found another word than <pad>; parallel texts need <pad>, <unk>, <s> and </s> first");
  EXPECT_EQ(check("<pad>\n<unk>\n"),
            "v.txt: line 3: found another word than <s>; parallel texts need <pad>, <unk>, <s> and </s> first");
}

TEST(PairSet, DigestsTellBoundariesApart) {
  const auto digest = [](const std::string& source, const std::string& target) {
    return Digest(Pairs(source, target).value());
  };
  EXPECT_EQ(digest("a b\nc\n", "d\ne\n"), digest("a  b\nc", "d\ne"));
  EXPECT_NE(digest("a b\nc\n", "d\ne\n"), digest("a\nb c\n", "d\ne\n"));
  EXPECT_NE(digest("a b\nc\n", "d\ne\n"), digest("d\ne\n", "a b\nc\n"));
}

}  // namespace
}  // namespace partita
