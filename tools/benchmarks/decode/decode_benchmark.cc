#include "tools/benchmarks/decode/decode_benchmark.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>

#include "runtime/base/status.h"
#include "runtime/data/pictures/picture_batches.h"
#include "runtime/data/pictures/picture_folder.h"
#include "runtime/data/pictures/picture_shards.h"
#include "tools/benchmarks/decode/made_pictures.h"
#include "tools/benchmarks/median.h"
#include "tools/benchmarks/timed_process.h"

namespace partita {
namespace {

constexpr int kMade = 16;  // pictures of each class

// As torchvision's RandomResizedCrop: at least so much of the area.
constexpr double kLeastArea = 0.08;

// One batch is a round.
absl::StatusOr<std::shared_ptr<PictureBatches>> OpenPictures(const std::string& folder,
                                                             const DecodeBenchmarkOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<DecodeThreads> threads, DecodeThreads::Start(1));
  const ScanOptions scan{BadFilePolicy::kSkip, /*test_share=*/0};
  ASSIGN_OR_RETURN(const PictureSets sets, ShardsOf(folder).empty() ? ScanPictureFolder(folder, scan, *threads)
                                                                    : ScanPictureShards(folder, scan, *threads));
  PictureBatchOptions batches;
  batches.batch_rows = std::min(options.pictures, static_cast<int64_t>(sets.train.samples.size()));
  batches.views.size = {options.size, options.size};
  batches.views.least_area = kLeastArea;
  batches.views.flip = true;
  batches.normalization = NoNormalization(batches.channels);
  batches.fields.pixels = DType::kU8;
  batches.bad_files = BadFilePolicy::kSkip;
  return PictureBatches::Create(std::make_shared<const PictureSet>(sets.train), threads, batches);
}

// Seconds of a batch.
absl::StatusOr<double> Decode(const PictureBatches& batches, int64_t batch) {
  std::vector<std::vector<std::byte>> memory;
  FieldBuffers buffers;
  for (const Field& field : batches.fields()) {
    buffers.emplace_back(memory.emplace_back(static_cast<size_t>(batches.batch_rows() * field.row_bytes())));
  }
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(batches.Fill(batch, {0, batches.batch_rows()}, buffers));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

absl::StatusOr<DecodeRow> Measure(const std::string& folder, const DecodeBenchmarkOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<PictureBatches> batches, OpenPictures(folder, options));
  const int64_t pictures = batches->batch_rows();
  std::unique_ptr<TimedProcess> peer;
  if (!options.peer_command.empty()) {
    std::vector<std::string> command = options.peer_command;
    command.insert(command.end(), {folder, std::to_string(options.size)});
    ASSIGN_OR_RETURN(peer, TimedProcess::Start(command));
  }
  std::vector<double> ours, theirs;
  for (int64_t round = -1; round < options.rounds; ++round) {
    ASSIGN_OR_RETURN(const double seconds, Decode(*batches, round + 1));
    const double speed = static_cast<double>(pictures) / seconds;
    double peer_speed = 0;
    if (peer != nullptr) {
      ASSIGN_OR_RETURN(const double peer_seconds, peer->Run(pictures));
      peer_speed = static_cast<double>(pictures) / peer_seconds;
    }
    if (round < 0) continue;  // files are read into the system's memory
    ours.push_back(speed);
    theirs.push_back(peer_speed);
  }
  DecodeRow row;
  row.size = options.size;
  row.pictures_per_s = Median(ours);
  if (peer == nullptr) return row;
  row.peer = peer->version();
  row.peer_pictures_per_s = Median(theirs);
  row.ratio = MedianRatio(ours, theirs);
  return row;
}

// A folder that is gone at the end.
class MadeFolder {
 public:
  MadeFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("partita-decode-{}", getpid())) {}
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;
  ~MadeFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

absl::StatusOr<std::vector<DecodeRow>> BenchmarkDecode(const DecodeBenchmarkOptions& options) {
  std::vector<DecodeRow> rows;
  if (!options.folder.empty()) {
    ASSIGN_OR_RETURN(rows.emplace_back(), Measure(options.folder, options));
    rows.back().pictures = options.folder;
    return rows;
  }
  for (const std::string format : {"jpeg", "png"}) {
    const MadeFolder folder;
    RETURN_IF_ERROR(MakePictures(folder.path(), format, kMade));
    ASSIGN_OR_RETURN(rows.emplace_back(), Measure(folder.path(), options));
    rows.back().pictures = format + " 375 x 500";
  }
  return rows;
}

}  // namespace partita
