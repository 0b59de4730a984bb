// What a caller of the library asks for, as the description of a run.
#ifndef PARTITA_PARTITA_SPEC_OF_H_
#define PARTITA_PARTITA_SPEC_OF_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "partita/partita.h"
#include "proto/run.pb.h"

namespace partita::api {

// What the description is for. A plan takes the settings of sessions and those of `trainer plan`.
enum class SpecUse : uint8_t { kSession, kPlan };

// `source`: where the model is from, for messages. kInvalidArgument: fields that contradict each other, a setting that
// there is not, or a value that is not allowed.
absl::StatusOr<RunSpec> SpecOf(const std::string& source, const Split& split, const Options& options,
                               SpecUse use = SpecUse::kSession);
absl::StatusOr<RunSpec> SpecOf(const std::string& source, const Run& run, SpecUse use = SpecUse::kSession);

// The settings of a Run's text alone, each with an allowed value; whether they go together is not checked.
absl::StatusOr<RunSpec> SettingsIn(const std::string& text);

}  // namespace partita::api

#endif  // PARTITA_PARTITA_SPEC_OF_H_
