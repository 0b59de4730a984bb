#include "run/data/text_data.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "graph/ir/generated_name.h"
#include "graph/value/node_name.h"
#include "run/host/log.h"
#include "runtime/base/status.h"
#include "runtime/data/pairs/pair_fields.h"
#include "runtime/data/text/token_batches.h"
#include "runtime/data/text/token_file.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr char kVocabulary[] = "vocabulary.txt";
constexpr double kManyUnknown = 0.2;  // of a text's words
constexpr const char* kFieldsOfIds[] = {kSourceField, kIdsField, kTargetsField};

// Also a link that leads nowhere, which is an error and no missing file.
bool IsThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

absl::Status CheckVocabulary(const Vocabulary& vocabulary, const std::vector<WantedField>& wanted) {
  for (const WantedField& each : wanted) {
    const bool of_words = std::ranges::find(kFieldsOfIds, each.field.name) != std::end(kFieldsOfIds);
    if (!of_words || each.classes == 0 || each.classes == vocabulary.size()) continue;
    return InvalidArgument("{}: found {} words; field {} of the graph has ids of {} {}", vocabulary.path(),
                           vocabulary.size(), Quoted(each.field.name), each.classes, each.ids ? "rows" : "classes");
  }
  return absl::OkStatus();
}

// Null where there is no such text, or nobody needs it. What it holds is added to the manifest.
absl::StatusOr<std::shared_ptr<const BatchSource>> ReadText(const fs::path& path, Need need,
                                                            const Vocabulary& vocabulary, TokenBatchOptions options,
                                                            std::string& manifest) {
  const fs::path as_words = path.string() + ".txt", as_ids = path.string() + ".ids";
  const bool words = IsThere(as_words), ids = IsThere(as_ids);
  if (need == Need::kNo || (!words && !ids)) return nullptr;
  if (words && ids) {
    return InvalidArgument("{}: is a text, and so is {}; one of them is allowed", as_words.string(), as_ids.string());
  }
  const std::string file = words ? as_words.string() : as_ids.string();
  BrokenWords broken;
  ASSIGN_OR_RETURN(std::vector<int32_t> text, words ? ReadWords(file, vocabulary, &broken) : ReadIds(file, vocabulary));
  WarnOfBrokenWords(file, broken);
  WarnOfUnknownWords(file, text, vocabulary);
  manifest += fmt::format("{} words, {:016x}; ", text.size(), Digest(text));
  absl::StatusOr<std::shared_ptr<TokenBatches>> batches = TokenBatches::Create(std::move(text), std::move(options));
  if (!batches.ok()) return WithContext(file, batches.status());
  return *std::move(batches);
}

}  // namespace

bool HoldsText(const std::string& path) { return IsThere(fs::path(path) / kVocabulary); }

absl::StatusOr<Vocabulary> ReadVocabulary(const std::string& path, const std::vector<WantedField>& wanted) {
  ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Read((fs::path(path) / kVocabulary).string()));
  RETURN_IF_ERROR(CheckVocabulary(vocabulary, wanted));
  return vocabulary;
}

void WarnOfUnknownWords(const std::string& path, std::span<const int32_t> words, const Vocabulary& vocabulary) {
  const std::optional<int32_t> unknown = vocabulary.Find(kUnknown);
  if (!unknown || words.empty()) return;
  const auto share = static_cast<double>(std::ranges::count(words, *unknown)) / static_cast<double>(words.size());
  if (share <= kManyUnknown) return;
  Warn("{}: {:.0f} % of its words are not in {} and count as {}", path, 100 * share, vocabulary.path(), kUnknown);
}

void WarnOfBrokenWords(const std::string& path, const BrokenWords& broken) {
  if (broken.count == 0) return;
  Warn(
      "{}: line {}, position {}: found {}, which is no UTF-8 and counts as {}{}; iconv -f LATIN1 -t UTF-8 FILE > NEW "
      "converts a text in Latin-1",
      path, broken.line, broken.position, Quoted(broken.first), kUnknown,
      broken.count > 1 ? fmt::format(" ({} words are such)", broken.count) : "");
}

absl::StatusOr<TrainingData> TextData(const std::string& path, const ArrayRequest& fields, const DataRequest& request) {
  const fs::path folder = path;
  ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(path, fields.wanted));
  TrainingData data;
  data.manifest = fmt::format("{} different words; ", vocabulary.size());
  const auto options = [&](BatchMode mode) {
    return TokenBatchOptions{mode, fields.batch_rows, fields.wanted, {kSampleWeightName, fields.floating, {}}};
  };
  ASSIGN_OR_RETURN(data.training, ReadText(folder / "train", request.training, vocabulary,
                                           options(BatchMode::kTraining), data.manifest));
  ASSIGN_OR_RETURN(data.test,
                   ReadText(folder / "test", request.test, vocabulary, options(BatchMode::kEvaluation), data.manifest));
  return data;
}

}  // namespace partita
