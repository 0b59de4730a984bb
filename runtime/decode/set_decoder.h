// Decodes every sample of a set with a trained model, by beam search over two entry points of its program (ModelEntry)
// of the same batch N:
//
//   encode   from fields of the data: what is computed once for each sample
//   step     `last_words` i32 [N] or [N,1], the word that comes last in each row; its results are `log_probabilities`
//            [N, words] or [N, 1, words], and perhaps `attention` [N, places] or [N, 1, places]
//
// Each further input of `step` is filled by its field's name: with the result of that name from the previous step,
// before the first step from `encode`, or zeros; if no result of `step` has that name, with that of `encode`, or the
// data's field. `places` [N, n, n], if no other source fills it, has ones on each row's diagonal: appended to the
// values that attention reads, they make it return its own probabilities. All rows of a batch are encoded at once; N /
// beam of them, of about one length, are then decoded together, each in `beam` rows of `step`.
#ifndef PARTITA_RUNTIME_DECODE_SET_DECODER_H_
#define PARTITA_RUNTIME_DECODE_SET_DECODER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/batch_source.h"
#include "runtime/decode/beam_search.h"

namespace partita {

inline constexpr char kEncodeEntry[] = "encode", kStepEntry[] = "step";

struct SetDecoderOptions {
  BeamOptions beam;
  std::string lengths_field = "source_lengths";        // i32, places of a sample that coverage counts; not there: all
  std::function<void(int64_t)> on_progress = nullptr;  // called after each batch with the number of samples done
};

// Collective. The best hypothesis of each sample of `source` (of BatchMode::kEvaluation), in the set's order. Empty if
// `*stop` (may be null) became non-zero before the end. kInvalidArgument: a program without these entry points, or
// whose inputs and results are not those above; a batch of fewer rows than the beam; a source with buckets, or without
// a field that `encode` reads.
absl::StatusOr<std::optional<std::vector<Hypothesis>>> DecodeSet(Session& session, const BatchSource& source,
                                                                 const SetDecoderOptions& options,
                                                                 const std::atomic<int>* stop);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DECODE_SET_DECODER_H_
