#include "tests/fuzz/targets/targets.h"

#include <algorithm>
#include <iterator>

namespace partita {
namespace {

constexpr FuzzTarget kTargets[] = {
    {"graph_text", FeedGraphText, 2000},
    {"graph_binary", FeedGraphBinary, 2000},
    {"strategy_text", FeedStrategyText, 4000},
    {"strategy_binary", FeedStrategyBinary, 4000},
    {"cluster", FeedCluster, 4000},
    {"profile", FeedProfile, 4000},
    {"epoch_curve", FeedEpochCurve, 4000},
    {"flight_record", FeedFlightRecord, 4000},
    {"control_stream", FeedControlStream, 4000},
    {"safetensors", FeedSafetensors, 10000},
    {"checkpoint_record", FeedCheckpointRecord, 4000},
    {"resealed_record", FeedResealedRecord, 4000},
    {"idx", FeedIdx, 10000},
    {"npy", FeedNpy, 10000},
    {"npz", FeedNpz, 4000},
    {"labels", FeedLabels, 4000},
    {"words", FeedWords, 4000},
    {"ids", FeedIds, 4000},
    {"vocabulary", FeedVocabulary, 4000},
    {"tar", FeedTar, 4000},
    {"picture", FeedPicture, 2000},
    {"config_file", FeedConfigFile, 10000},
    {"command_line", FeedCommandLine, 4000},
};

}  // namespace

std::span<const FuzzTarget> FuzzTargets() { return kTargets; }

const FuzzTarget* FindFuzzTarget(const std::string& name) {
  const auto* const found = std::ranges::find(kTargets, name, &FuzzTarget::name);
  return found == std::end(kTargets) ? nullptr : found;
}

}  // namespace partita
