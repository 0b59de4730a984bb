#include "run/data/pair_data.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "graph/ir/generated_name.h"
#include "run/data/text_data.h"
#include "run/host/log.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/pairs/pair_batches.h"
#include "runtime/data/pairs/pair_set.h"
#include "runtime/data/text/vocabulary.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr char kSource[] = ".source.txt", kTarget[] = ".target.txt";

// Also a link that leads nowhere, which is an error and no missing file.
bool IsThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool HasSide(const fs::path& set) { return IsThere(set.string() + kSource) || IsThere(set.string() + kTarget); }

absl::StatusOr<PairBatchOptions> OptionsOf(const RunSpec& spec, const ArrayRequest& fields) {
  PairBatchOptions options;
  options.batch_rows = fields.batch_rows;
  options.seed = fields.seed;
  options.wanted = fields.wanted;
  for (const std::vector<WantedField>& each : fields.further) {
    ASSIGN_OR_RETURN(options.further.emplace_back(), PairSizeOf(each));
  }
  const std::string long_pairs = spec.dataset().pairs().long_pairs();
  if (long_pairs == "skip") options.long_pairs = LongPairs::kLeaveOut;
  if (long_pairs == "cut") options.long_pairs = LongPairs::kCut;
  options.row_weights = {kSampleWeightName, fields.floating, {}};
  return options;
}

// Null where there is no such set, or nobody needs it. What it holds is added to the manifest.
absl::StatusOr<std::shared_ptr<const BatchSource>> ReadSet(const fs::path& set, Need need, const Vocabulary& vocabulary,
                                                           const PairBatchOptions& options, EmptyLines empty,
                                                           std::string& manifest) {
  if (need == Need::kNo || !HasSide(set)) return nullptr;
  const std::string source = set.string() + kSource, target = set.string() + kTarget;
  ASSIGN_OR_RETURN(PairSet pairs, NeedTargets(options.wanted) ? ReadPairs(source, target, vocabulary, empty)
                                                              : ReadSources(source, vocabulary, empty));
  WarnOfBrokenWords(source, pairs.source.broken);
  WarnOfBrokenWords(target, pairs.target.broken);
  WarnOfUnknownWords(source, pairs.source.words, vocabulary);
  if (NeedTargets(options.wanted)) WarnOfUnknownWords(target, pairs.target.words, vocabulary);
  manifest += fmt::format("{} pairs, {:016x}; ", pairs.count(), Digest(pairs));
  ASSIGN_OR_RETURN(std::shared_ptr<PairBatches> batches, PairBatches::Create(std::move(pairs), options));
  if (const int64_t left_out = batches->left_out(); left_out > 0) {
    Warn("{}: {} left out, longer than the graph takes", set.string(), Counted(left_out, "pair"));
  }
  if (batches->cut() > 0) {
    Warn("{}: {} cut, longer than the graph takes", set.string(), Counted(batches->cut(), "pair"));
  }
  return batches;
}

}  // namespace

bool HoldsPairs(const std::string& path) {
  return HoldsText(path) && (HasSide(fs::path(path) / "train") || HasSide(fs::path(path) / "test"));
}

absl::StatusOr<TrainingData> PairData(const std::string& path, const RunSpec& spec, const ArrayRequest& fields,
                                      const DataRequest& request) {
  const fs::path folder = path;
  ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(path, fields.wanted));
  RETURN_IF_ERROR(CheckPairMarks(vocabulary));
  ASSIGN_OR_RETURN(PairBatchOptions options, OptionsOf(spec, fields));
  TrainingData data;
  data.manifest =
      fmt::format("{} different words; long pairs: {}; ", vocabulary.size(), spec.dataset().pairs().long_pairs());
  const EmptyLines empty = request.empty_lines ? EmptyLines::kAllowed : EmptyLines::kRefused;
  ASSIGN_OR_RETURN(data.training,
                   ReadSet(folder / "train", request.training, vocabulary, options, empty, data.manifest));
  options.mode = BatchMode::kEvaluation;
  ASSIGN_OR_RETURN(data.test, ReadSet(folder / "test", request.test, vocabulary, options, empty, data.manifest));
  return data;
}

}  // namespace partita
