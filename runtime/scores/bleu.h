// BLEU of a corpus: how many n-grams of hypotheses their references have (Papineni et al., BLEU: a Method for Automatic
// Evaluation of Machine Translation, ACL 2002).
//
//   precision_n = sum over sentences of n-grams that the reference has too, each at most as often / n-grams
//   BLEU = 100 brevity_penalty (precision_1 precision_2 precision_3 precision_4)^(1/4)
//   brevity_penalty = exp(1 - reference words / hypothesis words), at most 1
//
// Where an order has no match, its precision is 1 / (2^k n-grams), at the k-th such order (mteval-v13a; method 3 of
// Chen and Cherry, A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU, WMT 2014); where no order
// has one, or none n-grams, BLEU is 0. That is what sacreBLEU computes by default.
#ifndef PARTITA_RUNTIME_SCORES_BLEU_H_
#define PARTITA_RUNTIME_SCORES_BLEU_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace partita {

inline constexpr int kBleuOrders = 4;

struct BleuScore {
  double bleu = 0;                                  // 0 to 100
  std::array<double, kBleuOrders> precisions = {};  // 0 to 100, as they are multiplied
  double brevity_penalty = 1;
  int64_t hypothesis_words = 0, reference_words = 0;
};

// Thread-compatible.
class Bleu {
 public:
  void Add(const std::vector<std::string>& hypothesis, const std::vector<std::string>& reference);
  BleuScore Score() const;

 private:
  std::array<int64_t, kBleuOrders> matches_ = {}, ngrams_ = {};
  int64_t hypothesis_words_ = 0, reference_words_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_SCORES_BLEU_H_
