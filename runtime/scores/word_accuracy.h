// The share of sequences that are right as a whole: of pronunciations, of words that would be spoken right.
#ifndef PARTITA_RUNTIME_SCORES_WORD_ACCURACY_H_
#define PARTITA_RUNTIME_SCORES_WORD_ACCURACY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita {

// Thread-compatible.
class WordAccuracy {
 public:
  void Add(const std::vector<std::string>& hypothesis, const std::vector<std::string>& reference);

  int64_t sequences() const { return sequences_; }
  int64_t right() const { return right_; }
  // Of sounds alone: a digit behind a vowel, which is two capitals, says how it is stressed (AH0, EY1).
  int64_t right_without_stress() const { return right_without_stress_; }
  // Most references have such a digit, so they are pronunciations.
  bool has_stress() const { return 2 * stressed_ > sequences_; }

 private:
  int64_t sequences_ = 0, right_ = 0, right_without_stress_ = 0, stressed_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_SCORES_WORD_ACCURACY_H_
