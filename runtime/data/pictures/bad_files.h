// The policy for unusable files: they end the run, or are skipped and counted.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_BAD_FILES_H_
#define PARTITA_RUNTIME_DATA_PICTURES_BAD_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace partita {

enum class BadFilePolicy { kStop, kSkip };

// Follows the sentence about a file that ends the run.
inline constexpr char kSkipHint[] = "; --bad-files=skip skips such files";

// The files that were skipped. Thread-compatible.
struct BadFiles {
  static constexpr size_t kTold = 5;

  BadFilePolicy policy = BadFilePolicy::kStop;
  int64_t count = 0;
  std::vector<std::string> first;  // what is wrong with the first few

  // `bad` says what is wrong with a file. Under kStop it is returned with kSkipHint; under kSkip it is counted. An
  // error that is not the file's (there is no memory) is returned under either.
  absl::Status Add(const absl::Status& bad);
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_BAD_FILES_H_
