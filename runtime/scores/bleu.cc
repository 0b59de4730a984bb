#include "runtime/scores/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

namespace partita {
namespace {

using Words = std::vector<std::string>;

struct InOrderOfWords {
  bool operator()(std::span<const std::string> a, std::span<const std::string> b) const {
    return std::ranges::lexicographical_compare(a, b);
  }
};

using Counts = std::map<std::span<const std::string>, int64_t, InOrderOfWords>;

Counts CountNgrams(const Words& words, size_t order) {
  Counts counts;
  for (size_t i = 0; i + order <= words.size(); ++i) ++counts[std::span(words).subspan(i, order)];
  return counts;
}

int64_t Matches(const Counts& hypothesis, const Counts& reference) {
  int64_t matches = 0;
  for (const auto& [ngram, count] : hypothesis) {
    const auto found = reference.find(ngram);
    if (found != reference.end()) matches += std::min(count, found->second);
  }
  return matches;
}

double BrevityPenalty(int64_t hypothesis, int64_t reference) {
  if (hypothesis >= reference) return 1;
  return hypothesis == 0 ? 0 : std::exp(1 - static_cast<double>(reference) / static_cast<double>(hypothesis));
}

}  // namespace

void Bleu::Add(const Words& hypothesis, const Words& reference) {
  hypothesis_words_ += static_cast<int64_t>(hypothesis.size());
  reference_words_ += static_cast<int64_t>(reference.size());
  for (size_t order = 1; order <= kBleuOrders && order <= hypothesis.size(); ++order) {
    matches_[order - 1] += Matches(CountNgrams(hypothesis, order), CountNgrams(reference, order));
    ngrams_[order - 1] += static_cast<int64_t>(hypothesis.size() - order + 1);
  }
}

BleuScore Bleu::Score() const {
  BleuScore score;
  score.hypothesis_words = hypothesis_words_, score.reference_words = reference_words_;
  score.brevity_penalty = BrevityPenalty(hypothesis_words_, reference_words_);
  if (std::ranges::count(matches_, 0) == kBleuOrders) return score;
  double logarithms = 0, smoothing = 1;
  for (int n = 0; n < kBleuOrders; ++n) {
    if (ngrams_[n] == 0) return score;
    if (matches_[n] == 0) smoothing *= 2;
    const double matches = matches_[n] == 0 ? 1 / smoothing : static_cast<double>(matches_[n]);
    score.precisions[n] = 100 * matches / static_cast<double>(ngrams_[n]);
    logarithms += std::log(score.precisions[n]);
  }
  score.bleu = score.brevity_penalty * std::exp(logarithms / kBleuOrders);
  return score;
}

}  // namespace partita
