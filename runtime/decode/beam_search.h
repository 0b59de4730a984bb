// Beam search for the most probable sequences of words: each step extends only the best hypotheses.
//
// Pure host code: what the model says of the next word is a function. For a batch of sentences all hypotheses are rows
// of that function's batch. Scores are those of Wu et al. 2016, section 7 (docs/papers.md 11.15):
//
//   score(Y) = log P(Y) / lp(Y) + cp(Y)     lp(Y) = ((5 + |Y|) / 6)^length_penalty
//   cp(Y) = coverage_penalty sum over the source's places i of log min(sum over j of p(i, j), 1)
//
// |Y|: its words and its end; p(i, j): the attention that place i gets when word j is chosen. Hypotheses that are
// pruned are compared by log P alone, for all are equally long. A beam that is wide enough for all sequences finds the
// best of them. Ties: the hypothesis with the better beginning, of these the lower word; of ended ones the first.
#ifndef PARTITA_RUNTIME_DECODE_BEAM_SEARCH_H_
#define PARTITA_RUNTIME_DECODE_BEAM_SEARCH_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct BeamOptions {
  int64_t beam = 5;         // hypotheses of a sentence
  int64_t most_words = 50;  // of a hypothesis, its end counted
  double length_penalty = 0.6;
  double coverage_penalty = 0.1;        // if the model reports its attention
  int32_t begin = 2, end = 3;           // ids of what each sequence begins and ends with
  std::vector<int32_t> never = {0, 2};  // what is no word of a sequence: padding, the beginning
};

// What a model says of the words behind each row's hypothesis. `attention` may be empty. Both are valid until the next
// step.
struct NextWords {
  std::span<const float> log_probabilities;  // [rows, words]
  std::span<const float> attention;          // [rows, places]
};

// One step. Row r continues row `parents[r]` of the previous step with the word `ids[r]`. In the first step, parents
// are the rows themselves, at their beginning. Rows of sentence s are s * beam, ..., s * beam + beam - 1.
using DecodeStep =
    std::function<absl::StatusOr<NextWords>(std::span<const int32_t> ids, std::span<const int32_t> parents)>;

struct Hypothesis {
  std::vector<int32_t> words = {};  // without beginning and end
  double score = 0;
  double log_probability = 0;
  bool ended = true;  // false: it was cut at most_words
};

// By sentence the hypotheses that were found, at most `beam`, the best one first; those that did not end only where
// none did. `source_places`: of each sentence, those that are no padding. kInvalidArgument: options that make no sense,
// steps whose sizes are no rows, an `end` that is no word. kOutOfRange: a log-probability that is not a number or above
// 0; the row is named. Errors of the step come through.
absl::StatusOr<std::vector<std::vector<Hypothesis>>> BeamSearch(std::span<const int64_t> source_places,
                                                                const BeamOptions& options, const DecodeStep& step);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DECODE_BEAM_SEARCH_H_
