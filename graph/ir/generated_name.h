// Names that the compiler gives. They carry '@', which user names may not (docs/design.md 5.16).
#ifndef PARTITA_GRAPH_IR_GENERATED_NAME_H_
#define PARTITA_GRAPH_IR_GENERATED_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/value/attributes.h"

namespace partita {

inline bool IsGenerated(std::string_view name) { return name.find('@') != std::string_view::npos; }
// What a user named, for which this name was given: "a/weights@d@all_reduce" -> "a/weights"; itself if it is the
// user's; empty: for the whole step ("@iteration").
inline std::string UserNameOf(std::string_view name) { return std::string(name.substr(0, name.find('@'))); }

inline constexpr char kIterationName[] = "@iteration";

// By which the schedule plateau's rate is multiplied: who trains writes it. The same on all ranks.
inline constexpr char kRateFactorName[] = "@learning_rate_factor";
inline constexpr char kVoteName[] = "@vote";                   // an input of programs that count votes
inline constexpr char kSampleWeightName[] = "@sample_weight";  // an input of evaluation: what each row weighs

// A state beside another: its moving average.
inline std::string AverageName(const std::string& name) { return name + "@average"; }

// The state whose initial values a state of this name has: itself, or the one that it is like.
std::string DrawnAs(const Attributes& attributes, const std::string& name);

// "x" and 1 -> "x@micro1"
std::string MicroBatchName(const std::string& name, int64_t micro_batch);

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_GENERATED_NAME_H_
