// What every reader of foreign bytes promises: it takes them or refuses them with a sentence, and what it took it can
// say again. A promise that is broken ends the process, as a crash does, so that a fuzzer keeps the bytes.
#ifndef PARTITA_TESTS_FUZZ_TARGETS_PROMISE_H_
#define PARTITA_TESTS_FUZZ_TARGETS_PROMISE_H_

#include <string>

#include "absl/status/status.h"

namespace partita {

void Promise(bool kept, const std::string& otherwise);

// A refusal blames the input or its size, in one line of printable characters.
void PromiseRefusal(const absl::Status& status);

}  // namespace partita

#endif  // PARTITA_TESTS_FUZZ_TARGETS_PROMISE_H_
