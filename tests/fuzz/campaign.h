// A target fed with many inputs, in a process of its own, so that a crash is an answer.
#ifndef PARTITA_TESTS_FUZZ_CAMPAIGN_H_
#define PARTITA_TESTS_FUZZ_CAMPAIGN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/targets/targets.h"

namespace partita {

struct Campaign {
  std::vector<std::string> corpus;  // fed as it is, and then mutated
  int64_t inputs = 0;               // mutated ones
  uint64_t seed = 1;
};

// What broke a target.
struct Breach {
  std::string input;
  std::string how;  // "signal 11", "exit code 1", "no answer for 60 s"
};

struct CampaignResult {
  int64_t fed = 0;
  int64_t peak_bytes = 0;  // memory of the process, at most
  std::optional<Breach> breach;
};

// Of a process with one thread. Inputs are those of Mutator(corpus, seed), so that a campaign can be had again.
CampaignResult RunCampaign(const FuzzTarget& target, const Campaign& campaign);

// The files of a folder and those below it, in the order of their names; none if there is no such folder.
std::vector<std::string> ReadCorpus(const std::string& folder);

}  // namespace partita

#endif  // PARTITA_TESTS_FUZZ_CAMPAIGN_H_
