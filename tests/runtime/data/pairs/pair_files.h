// Files of parallel texts for tests.
#ifndef PARTITA_TESTS_RUNTIME_DATA_PAIRS_PAIR_FILES_H_
#define PARTITA_TESTS_RUNTIME_DATA_PAIRS_PAIR_FILES_H_

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/files.h"
#include "runtime/data/pairs/pair_set.h"
#include "tests/testing/assert_ok.h"

namespace partita {

inline std::string FileOf(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + "/" + name;
  EXPECT_OK(WriteFileAtomically(path, contents));
  return path;
}

// Ids from 4 on: a, b, c, d, e.
inline Vocabulary Letters() {
  return Vocabulary::Read(FileOf("vocabulary.txt", "<pad>\n<unk>\n<s>\n</s>\na\nb\nc\nd\ne\n")).value();
}

inline absl::StatusOr<PairSet> Pairs(const std::string& source, const std::string& target) {
  return ReadPairs(FileOf("source.txt", source), FileOf("target.txt", target), Letters());
}

// Without the folder of the files.
inline std::string Said(const absl::Status& status) {
  std::string message(status.message());
  const std::string folder = testing::TempDir() + "/";
  for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
    message.erase(at, folder.size());
  }
  return message;
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_DATA_PAIRS_PAIR_FILES_H_
