// Arrays and texts: what was read is as large as it says, and no word is outside of the vocabulary.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/data/arrays/array_file.h"
#include "runtime/data/arrays/label_file.h"
#include "runtime/data/arrays/npy.h"
#include "runtime/data/byte_stream.h"
#include "runtime/data/idx.h"
#include "runtime/data/text/token_file.h"
#include "tests/fuzz/targets/input_path.h"
#include "tests/fuzz/targets/promise.h"
#include "tests/fuzz/targets/targets.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "input";

void CheckArray(const absl::StatusOr<Array>& array) {
  if (!array.ok()) return PromiseRefusal(array.status());
  int64_t bytes = SizeOf(array->type);
  for (const int64_t size : array->sizes) bytes *= size;
  Promise(!array->sizes.empty() && bytes > 0 && static_cast<int64_t>(array->bytes.size()) == bytes,
          "an array of another size than it says");
}

void CheckIds(const absl::StatusOr<std::vector<int32_t>>& ids, const Vocabulary& vocabulary) {
  if (!ids.ok()) return PromiseRefusal(ids.status());
  Promise(std::ranges::all_of(*ids, [&](int32_t id) { return id >= 0 && id < vocabulary.size(); }),
          "a word that is not in the vocabulary");
}

// The two files under the names by which a reader finds one beside the other.
class LabelFolder {
 public:
  LabelFolder(const std::string& classes, const std::string& table) : path_(table + ".folder") {
    fs::remove_all(path_);
    fs::create_directory(path_);
    fs::create_symlink(classes, path_ / "classes.txt");
    fs::create_symlink(table, path_ / "table.csv");
  }
  LabelFolder(const LabelFolder&) = delete;
  LabelFolder& operator=(const LabelFolder&) = delete;
  ~LabelFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  std::string table() const { return path_ / "table.csv"; }

 private:
  const fs::path path_;
};

const Vocabulary& SmallVocabulary() {
  static const auto& vocabulary =
      *new Vocabulary(Vocabulary::Read(AsFile(".vocabulary", "<unk>\n</s>\nthe\nof\na\n")).value());
  return vocabulary;
}

}  // namespace

void FeedIdx(const std::string& bytes) { CheckArray(ParseIdx(kName, bytes)); }

void FeedNpy(const std::string& bytes) {
  const auto stream = OpenByteStream(kName, bytes);
  if (!stream.ok()) return PromiseRefusal(stream.status());
  CheckArray(ReadNpy(**stream, kName));
}

// Any file of arrays, told by its first bytes.
void FeedNpz(const std::string& bytes) {
  const absl::StatusOr<std::unique_ptr<ArrayFile>> file = ArrayFile::Open(AsFile(".npz", bytes));
  if (!file.ok()) return PromiseRefusal(file.status());
  if ((*file)->keys().empty()) CheckArray((*file)->Read(""));
  for (const std::string& key : (*file)->keys()) CheckArray((*file)->Read(key));
}

// The classes, an empty line, and the table: two files.
void FeedLabels(const std::string& bytes) {
  const size_t end = std::min(bytes.find("\n\n"), bytes.size());
  const std::string classes = AsFile(".classes", bytes.substr(0, end));
  const std::string table = AsFile(".table", bytes.substr(std::min(end + 2, bytes.size())));
  static const LabelFolder folder(classes, table);
  const absl::StatusOr<Array> labels = ReadLabels(folder.table());
  CheckArray(labels);
  if (!labels.ok()) return;
  Promise(labels->type == ElementType::kBool && labels->sizes.size() == 2, "labels that are no table of 0 and 1");
  Promise(std::ranges::all_of(labels->bytes, [](uint8_t value) { return value <= 1; }), "a label beside 0 and 1");
}

void FeedWords(const std::string& bytes) {
  CheckIds(ReadWords(AsFile(".txt", bytes), SmallVocabulary()), SmallVocabulary());
}

void FeedIds(const std::string& bytes) {
  CheckIds(ReadIds(AsFile(".ids", bytes), SmallVocabulary()), SmallVocabulary());
}

void FeedVocabulary(const std::string& bytes) {
  const std::string path = AsFile(".txt", bytes);
  const absl::StatusOr<Vocabulary> vocabulary = Vocabulary::Read(path);
  if (!vocabulary.ok()) return PromiseRefusal(vocabulary.status());
  CheckIds(ReadWords(path, *vocabulary), *vocabulary);
}

}  // namespace partita
