// Each function hands the bytes to one reader of foreign bytes, and holds it to what it promises whatever they are
// (tests/fuzz/targets/promise.h). Thread-compatible: some write the bytes to a file of this process.
#ifndef PARTITA_TESTS_FUZZ_TARGETS_TARGETS_H_
#define PARTITA_TESTS_FUZZ_TARGETS_TARGETS_H_

#include <cstdint>
#include <span>
#include <string>

namespace partita {

struct FuzzTarget {
  const char* name;  // of the folder of its corpus, too
  void (*feed)(const std::string& bytes);
  int64_t smoke;  // how many inputs its test makes: about a second's
};

// All of them.
std::span<const FuzzTarget> FuzzTargets();

// Null: there is none.
const FuzzTarget* FindFuzzTarget(const std::string& name);

// Protos (proto_files.cc).
void FeedGraphText(const std::string& bytes);
void FeedGraphBinary(const std::string& bytes);
void FeedStrategyText(const std::string& bytes);
void FeedStrategyBinary(const std::string& bytes);
void FeedCluster(const std::string& bytes);
void FeedProfile(const std::string& bytes);
void FeedEpochCurve(const std::string& bytes);
void FeedFlightRecord(const std::string& bytes);
void FeedControlStream(const std::string& bytes);

// Models and what training leaves behind (checkpoint_files.cc).
void FeedSafetensors(const std::string& bytes);
void FeedCheckpointRecord(const std::string& bytes);
void FeedResealedRecord(const std::string& bytes);

// What is trained on (data_files.cc, picture_files.cc).
void FeedIdx(const std::string& bytes);
void FeedNpy(const std::string& bytes);
void FeedNpz(const std::string& bytes);
void FeedLabels(const std::string& bytes);
void FeedWords(const std::string& bytes);
void FeedIds(const std::string& bytes);
void FeedVocabulary(const std::string& bytes);
void FeedTar(const std::string& bytes);
void FeedPicture(const std::string& bytes);

// What a user sets (settings.cc).
void FeedConfigFile(const std::string& bytes);
void FeedCommandLine(const std::string& bytes);

}  // namespace partita

#endif  // PARTITA_TESTS_FUZZ_TARGETS_TARGETS_H_
