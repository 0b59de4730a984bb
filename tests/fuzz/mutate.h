// Mutates inputs of a corpus without knowing their format: changes bits, bytes and numbers; deletes, doubles, repeats
// and moves parts; and copies parts from other inputs of the corpus.
#ifndef PARTITA_TESTS_FUZZ_MUTATE_H_
#define PARTITA_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace partita {

inline constexpr size_t kLargestInput = 256 << 10;

class Mutator {
 public:
  // An empty corpus is one of nothing.
  Mutator(std::vector<std::string> corpus, uint64_t seed);

  // At most kLargestInput bytes: a function of corpus, seed and number alone.
  std::string Make(int64_t number) const;

 private:
  std::vector<std::string> corpus_;
  uint64_t seed_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_FUZZ_MUTATE_H_
