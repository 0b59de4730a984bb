// Tokens and scores are sacreBLEU's.
#include "runtime/scores/bleu.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tests/runtime/scores/sacrebleu_scores.h"
#include "tests/runtime/scores/sacrebleu_tokens.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using Lines = std::vector<std::string>;

BleuScore ScoreOf(const Lines& hypotheses, const Lines& references, const TokenOptions& options) {
  Bleu bleu;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    bleu.Add(TokensOf(hypotheses[i], options).value(), TokensOf(references[i], options).value());
  }
  return bleu.Score();
}

void ExpectSame(const BleuScore& ours, const sacrebleu::Scored& theirs, const std::string& of) {
  constexpr double kRounding = 1e-9;
  EXPECT_NEAR(ours.bleu, theirs.bleu, kRounding) << of;
  EXPECT_NEAR(ours.brevity_penalty, theirs.brevity_penalty, kRounding) << of;
  EXPECT_EQ(ours.hypothesis_words, theirs.hypothesis_words) << of;
  EXPECT_EQ(ours.reference_words, theirs.reference_words) << of;
  for (int n = 0; n < kBleuOrders; ++n) EXPECT_NEAR(ours.precisions[n], theirs.precisions[n], kRounding) << of << n;
}

// tools/peer/golden/bleu.py has the same.
std::string Made(int i, bool of_hypothesis) {
  Lines words;
  for (int j = 0; j < 5 + i % 19; ++j) {
    const bool other = of_hypothesis && (i + 2 * j) % 7 == 0;
    words.push_back(other ? "w" + std::to_string(j) : "W" + std::to_string((i * i + 3 * j * j) % 23));
  }
  if (of_hypothesis && i % 5 == 0) words.resize(words.size() - 2);
  return absl::StrJoin(words, " ") + (i % 3 == 0 ? "." : "");
}

TEST(Tokens, AreThoseOfSacreBleu) {
  for (const sacrebleu::Tokenized& each : sacrebleu::AllTokenized()) {
    ASSERT_OK_AND_ASSIGN(const Lines tokens, TokensOf(each.line, each.options));
    EXPECT_EQ(absl::StrJoin(tokens, " "), each.tokens) << each.line;
  }
}

TEST(Tokens, AreOfText) {
  for (const TokenRule rule : {TokenRule::kNone, TokenRule::k13a, TokenRule::kInternational}) {
    EXPECT_EQ(TokensOf("ab \xff", {rule, false}).status().message(), "byte 4 is no UTF-8");
    EXPECT_EQ(TokensOf("\xc3", {rule, true}).status().message(), "byte 1 is no UTF-8");
  }
}

TEST(Pieces, AreJoinedToWords) {
  EXPECT_EQ(JoinPieces("\u2581this \u2581pa ck age , \u2581per ch\u00e9"), "this package, perch\u00e9");
  EXPECT_EQ(JoinPieces("age \u2581x"), "age x");
  EXPECT_EQ(JoinPieces(""), "");
}

TEST(Bleu, IsThatOfSacreBleu) {
  for (const sacrebleu::Corpus& corpus : sacrebleu::AllCorpora()) {
    for (const sacrebleu::Scored& scored : corpus.scores) {
      ExpectSame(ScoreOf(corpus.hypotheses, corpus.references, scored.options), scored, corpus.name);
    }
  }
}

TEST(Bleu, IsThatOfSacreBleuOfManyLines) {
  Lines hypotheses, references;
  for (int i = 0; i < sacrebleu::kMadeLines; ++i) {
    hypotheses.push_back(Made(i, true));
    references.push_back(Made(i, false));
  }
  for (const sacrebleu::Scored& scored : sacrebleu::MadeScores()) {
    EXPECT_GT(scored.bleu, 20);
    ExpectSame(ScoreOf(hypotheses, references, scored.options), scored, "made");
  }
}

}  // namespace
}  // namespace partita
