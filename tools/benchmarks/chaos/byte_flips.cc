#include "tools/benchmarks/chaos/byte_flips.h"

#include <fstream>
#include <random>

#include "runtime/base/input_file.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/checkpoint/sharded/record.h"
#include "tools/benchmarks/chaos/saved_session.h"

namespace partita {
namespace {

constexpr uint64_t kShareOfRecord = 10;  // one of so many
constexpr int64_t kLargestFile = 1 << 30;

// A file of the checkpoint, and the tensors in it by their places.
struct DamagedFile {
  std::string name, path, bytes;
  int64_t data_begin = 0;
  std::vector<StoredTensor> tensors;

  // Null: it lies before or between them.
  const StoredTensor* TensorAt(int64_t place) const {
    for (const StoredTensor& tensor : tensors) {
      if (place >= data_begin + tensor.begin && place < data_begin + tensor.end) return &tensor;
    }
    return nullptr;
  }
};

absl::StatusOr<DamagedFile> OpenFile(const std::string& checkpoint, const std::string& name) {
  DamagedFile file;
  file.name = name;
  file.path = checkpoint + "/" + name;
  ASSIGN_OR_RETURN(file.bytes, ReadRegularFile(file.path, kLargestFile));
  return file;
}

absl::StatusOr<DamagedFile> OpenShard(const std::string& checkpoint, const std::string& name) {
  ASSIGN_OR_RETURN(DamagedFile file, OpenFile(checkpoint, name));
  ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(file.path));
  file.data_begin = reader.data_begin();
  file.tensors.assign(reader.header().tensors().begin(), reader.header().tensors().end());
  return file;
}

// Of the record first, then of the shards.
absl::StatusOr<std::vector<DamagedFile>> OpenFiles(const std::string& checkpoint) {
  std::vector<DamagedFile> files;
  ASSIGN_OR_RETURN(files.emplace_back(), OpenFile(checkpoint, kRecordFile));
  ASSIGN_OR_RETURN(const CheckpointRecord record, ParseRecord(kRecordFile, files.front().bytes));
  for (const SavedShard& shard : record.shards) {
    ASSIGN_OR_RETURN(files.emplace_back(), OpenShard(checkpoint, ShardFile(shard.rank)));
  }
  return files;
}

absl::Status SetByte(const DamagedFile& file, int64_t place, char byte) {
  std::fstream stream(file.path, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(place).put(byte);
  stream.close();
  return stream.good() ? absl::OkStatus() : ResourceExhausted("{}: cannot write", file.path);
}

// Empty: it was found.
std::string Missed(const absl::Status& read, const DamagedFile& file, int64_t place) {
  const std::string said(read.message());
  const StoredTensor* const tensor = file.TensorAt(place);
  const bool named = said.find(file.name) != std::string::npos &&
                     (tensor == nullptr || said.find("tensor " + Printable(tensor->name)) != std::string::npos);
  if (absl::IsInvalidArgument(read) && named) return "";
  return fmt::format("{}: byte {}: {}", file.name, place, read.ok() ? "not found" : said);
}

}  // namespace

absl::StatusOr<ByteFlips> FlipBytes(const std::string& checkpoint, int64_t count, uint64_t seed) {
  RETURN_IF_ERROR(Contents(checkpoint).status());
  ASSIGN_OR_RETURN(const std::vector<DamagedFile> files, OpenFiles(checkpoint));
  std::mt19937_64 draw(seed);
  ByteFlips flips;
  while (flips.count() < count) {
    const bool in_record = files.size() == 1 || draw() % kShareOfRecord == 0;
    const DamagedFile& file = files[in_record ? 0 : 1 + draw() % (files.size() - 1)];
    const auto place = static_cast<int64_t>(draw() % file.bytes.size());
    const char good = file.bytes[static_cast<size_t>(place)];
    RETURN_IF_ERROR(SetByte(file, place, static_cast<char>(good ^ 1 << draw() % 8)));
    const std::string missed = Missed(Contents(checkpoint).status(), file, place);
    RETURN_IF_ERROR(SetByte(file, place, good));
    if (!missed.empty()) flips.missed.push_back(missed);
    Tally& tally = in_record ? flips.in_record : file.TensorAt(place) == nullptr ? flips.in_heads : flips.in_tensors;
    tally.Add(missed.empty());
  }
  RETURN_IF_ERROR(Contents(checkpoint).status());
  return flips;
}

}  // namespace partita
