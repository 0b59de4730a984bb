// Bytes as a file, for readers that open one.
#ifndef PARTITA_TESTS_FUZZ_TARGETS_INPUT_PATH_H_
#define PARTITA_TESTS_FUZZ_TARGETS_INPUT_PATH_H_

#include <string>

namespace partita {

// A file of this process whose name ends so, with these bytes; the next call of that ending overwrites it.
std::string AsFile(const std::string& ending, const std::string& bytes);

}  // namespace partita

#endif  // PARTITA_TESTS_FUZZ_TARGETS_INPUT_PATH_H_
