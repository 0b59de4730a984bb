// Splits a line of text into the words that a score counts, by the rules that published scores use.
//
//   none   what stands between white space
//   13a    that of NIST's mteval-v13a, which WMT uses: ASCII punctuation is set apart, a period or comma between digits
//          is not; &quot; &amp; &lt; &gt; are the characters that they mean
//   intl   that of mteval-v14: punctuation and symbols of any script are set apart, punctuation between digits is not
//
// As sacreBLEU has them (Post, A Call for Clarity in Reporting BLEU Scores, WMT 2018).
#ifndef PARTITA_RUNTIME_SCORES_TOKENS_H_
#define PARTITA_RUNTIME_SCORES_TOKENS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

enum class TokenRule { kNone, k13a, kInternational };

struct TokenOptions {
  TokenRule rule = TokenRule::k13a;
  bool lower_case = false;
};

// kInvalidArgument: the line is no UTF-8.
absl::StatusOr<std::vector<std::string>> TokensOf(const std::string& line, const TokenOptions& options);

// The line that pieces of words stand for, as sentencepiece divides text: spaces part pieces, and U+2581 is a space.
std::string JoinPieces(const std::string& line);

}  // namespace partita

#endif  // PARTITA_RUNTIME_SCORES_TOKENS_H_
