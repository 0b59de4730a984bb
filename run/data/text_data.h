// Text as batches: a folder with the words that a model knows, and texts of them.
#ifndef PARTITA_RUN_DATA_TEXT_DATA_H_
#define PARTITA_RUN_DATA_TEXT_DATA_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "run/data/array_data.h"
#include "run/data/data.h"
#include "runtime/data/text/broken_words.h"
#include "runtime/data/text/vocabulary.h"
#include "runtime/train/trainer.h"

namespace partita {

// Whether `path` is a folder with vocabulary.txt.
bool HoldsText(const std::string& path);

// That of such a folder. kInvalidArgument: it is not as large as a table that fields of ids choose rows of, or the
// classes that are told apart.
absl::StatusOr<Vocabulary> ReadVocabulary(const std::string& path, const std::vector<WantedField>& wanted);

// Warns if so large a share of a text's words is kUnknown that its tokenization must differ from the vocabulary's.
void WarnOfUnknownWords(const std::string& path, std::span<const int32_t> words, const Vocabulary& vocabulary);

// Warns of words of a text that are no UTF-8, if there are any.
void WarnOfBrokenWords(const std::string& path, const BrokenWords& broken);

// The texts of `path` that are there and that `request` needs: train.txt and test.txt, or train.ids and test.ids.
// kInvalidArgument: a text in both forms; what ReadVocabulary refuses.
absl::StatusOr<TrainingData> TextData(const std::string& path, const ArrayRequest& fields, const DataRequest& request);

}  // namespace partita

#endif  // PARTITA_RUN_DATA_TEXT_DATA_H_
