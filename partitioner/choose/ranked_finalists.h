// Chooses among the plans that searches found, and reports the others.
#ifndef PARTITA_PARTITIONER_CHOOSE_RANKED_FINALISTS_H_
#define PARTITA_PARTITIONER_CHOOSE_RANKED_FINALISTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/choose/candidate.h"
#include "partitioner/choose/objective.h"

namespace partita {

// The best first: those that fit before those that do not, then by the objective, then by seconds of a step, then as
// they were. There is one at least. kResourceExhausted: none fits; it names the nearest and what it lacks.
// kInvalidArgument: none can be run, and why the first cannot; ValueOf has no value of one.
absl::StatusOr<std::vector<Finalist>> Ranked(std::vector<Finalist> finalists, const Objective& objective);

// The least difference of two predictions that decides which plan is faster (docs/measured.md 5).
inline constexpr double kPredictionError = 0.06;

// Of plans for the shortest step, ranked: moves one to the front that leaves no rank idle, and of these one that needs
// the fewest ranks, if its step is at most kPredictionError longer than the first one's.
void PreferFewerRanks(std::vector<Finalist>& ranked);

// The ranked plans as a table for display, the chosen one first.
std::string FormatFinalists(const std::vector<Finalist>& finalists);

// What the words in that table mean, a line each.
std::string FormatWords(const std::vector<Finalist>& finalists);

// Why a strategy was chosen, one line each: search, objective, predicted seconds, bound or gap, rejected plans.
std::vector<std::string> ReasonsFor(const std::vector<Finalist>& finalists);

// "12.345 s of training", "0.2 MB on the fullest rank": a value of the objective, for display.
std::string FormatValue(ObjectiveKind objective, double value);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_RANKED_FINALISTS_H_
