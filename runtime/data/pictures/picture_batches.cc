#include "runtime/data/pictures/picture_batches.h"

#include <algorithm>
#include <utility>

#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "runtime/data/pictures/show_picture.h"

namespace partita {
namespace {

// Pixels of a side and numbers of a batch: sizes in bytes stay far from the end of 64 bits.
constexpr int64_t kLongestSide = 1 << 14, kLargestBatch = int64_t{1} << 40;

bool IsReal(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

absl::Status CheckViews(const ViewOptions& views) {
  const PictureSize& size = views.size;
  const int64_t shorter = std::min(size.height, size.width), longer = std::max(size.height, size.width);
  if (shorter < 1 || longer > kLongestSide) {
    return InvalidArgument("pictures: found a size of {} x {}, allowed are sides of 1 to {}", size.height, size.width,
                           kLongestSide);
  }
  if (views.resize != 0 && (views.resize < shorter || views.resize > kLongestSide)) {
    return InvalidArgument("pictures: found {} for the side that pictures are scaled to, allowed are {} to {}",
                           views.resize, shorter, kLongestSide);
  }
  if (!(views.least_area >= 0 && views.least_area <= 1) || !(views.colour >= 0 && views.colour <= 1)) {
    return InvalidArgument("pictures: found a least area of {} and colours by {}, allowed are 0 to 1", views.least_area,
                           views.colour);
  }
  if (views.shift < 0 || views.shift >= shorter) {
    return InvalidArgument("pictures: found a shift of {} pixels, allowed are 0 to {}", views.shift, shorter - 1);
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const PictureBatchOptions& options, int64_t samples) {
  RETURN_IF_ERROR(SampleOrder::Check(options.mode, samples, options.batch_rows));
  RETURN_IF_ERROR(CheckViews(options.views));
  const PictureFields& fields = options.fields;
  if ((!IsReal(fields.pixels) && fields.pixels != DType::kU8) || !IsReal(fields.floating)) {
    return InvalidArgument("pictures: found pixels of {} and weights of {}, allowed are f32, f64 and pixels of u8",
                           Name(fields.pixels), Name(fields.floating));
  }
  if (options.channels != 1 && options.channels != 3) {
    return InvalidArgument("pictures: found {} channels, allowed are 1 (grey) and 3 (colour)", options.channels);
  }
  if (options.views.size.pixels() * options.channels > kLargestBatch / options.batch_rows) {
    return InvalidArgument("batch: found {} rows of {} x {} x {}, allowed are at most {} numbers", options.batch_rows,
                           options.views.size.height, options.views.size.width, options.channels, kLargestBatch);
  }
  return CheckNormalization(options.normalization, options.channels);
}

std::vector<Field> FieldsOf(const PictureBatchOptions& options) {
  const PictureFields& names = options.fields;
  const PictureSize& size = options.views.size;
  return {{names.pictures, names.pixels, {size.height, size.width, options.channels}},
          {names.labels, DType::kI32, {}},
          {names.weights, names.floating, {}}};
}

template <typename T>
std::vector<T> TableIf(bool wanted, const Normalization& normalization) {
  return wanted ? NormalizationTable<T>(normalization) : std::vector<T>();
}

template <typename T>
void Normalize(std::span<const uint8_t> shown, const std::vector<T>& table, std::span<std::byte> pixels) {
  T* out = reinterpret_cast<T*>(pixels.data());
  const size_t channels = table.size() / 256;
  for (size_t i = 0; i < shown.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) *out++ = table[c * 256 + shown[i + c]];
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<PictureBatches>> PictureBatches::Create(std::shared_ptr<const PictureSet> set,
                                                                       std::shared_ptr<DecodeThreads> threads,
                                                                       PictureBatchOptions options) {
  RETURN_IF_ERROR(CheckOptions(options, static_cast<int64_t>(set->samples.size())));
  return std::shared_ptr<PictureBatches>(new PictureBatches(std::move(set), std::move(threads), std::move(options)));
}

PictureBatches::PictureBatches(std::shared_ptr<const PictureSet> set, std::shared_ptr<DecodeThreads> threads,
                               PictureBatchOptions options)
    : set_(std::move(set)),
      threads_(std::move(threads)),
      options_(std::move(options)),
      fields_(FieldsOf(options_)),
      order_(options_.mode, static_cast<int64_t>(set_->samples.size()), options_.batch_rows, options_.seed),
      view_key_(PhiloxKey(options_.seed, kPictureViewName)),
      table_f32_(TableIf<float>(options_.fields.pixels == DType::kF32, options_.normalization)),
      table_f64_(TableIf<double>(options_.fields.pixels == DType::kF64, options_.normalization)) {}

absl::Status PictureBatches::FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const {
  const int64_t epoch = batch / batches_per_epoch();
  const std::vector<int64_t> samples = order_.Samples(batch, rows);
  const size_t picture_bytes = static_cast<size_t>(fields_[0].row_bytes());
  auto* const labels = reinterpret_cast<int32_t*>(out[1].data());
  order_.WriteWeights(batch, samples, options_.fields.floating, out[2]);
  return threads_->Run(rows.size(), [&](int64_t i) {
    const size_t row = static_cast<size_t>(i);
    const std::span<std::byte> pixels = out[0].subspan(row * picture_bytes, picture_bytes);
    if (samples[row] != SampleOrder::kNoSample) return FillRow(epoch, samples[row], pixels, labels[row]);
    std::ranges::fill(pixels, std::byte{0});
    labels[row] = 0;
    return absl::OkStatus();
  });
}

absl::Status PictureBatches::FillRow(int64_t epoch, int64_t sample, std::span<std::byte> pixels, int32_t& label) const {
  const int64_t count = static_cast<int64_t>(set_->samples.size());
  thread_local std::vector<uint8_t> shown;
  shown.resize(static_cast<size_t>(Elements(fields_[0].row)));
  absl::Status status;
  for (int64_t tries = 0; tries < count; ++tries, sample = (sample + 1) % count) {
    status = Show(epoch, sample, shown);
    if (status.ok()) {
      Write(shown, pixels);
      label = set_->samples[static_cast<size_t>(sample)].label;
      return status;
    }
    RETURN_IF_ERROR(LeaveOut(sample, status));
  }
  return status;
}

absl::Status PictureBatches::Show(int64_t epoch, int64_t sample, std::span<uint8_t> shown) const {
  const PictureSample& from = set_->samples[static_cast<size_t>(sample)];
  return ShowPicture(*set_, from, options_.channels, options_.views.size, shown, [&](PictureSize size) {
    return options_.mode == BatchMode::kEvaluation ? MiddleView(options_.views, size)
                                                   : DrawView(options_.views, view_key_, epoch, sample, size);
  });
}

void PictureBatches::Write(std::span<const uint8_t> shown, std::span<std::byte> pixels) const {
  if (options_.fields.pixels == DType::kF32) {
    Normalize(shown, table_f32_, pixels);
  } else if (options_.fields.pixels == DType::kF64) {
    Normalize(shown, table_f64_, pixels);
  } else {
    std::ranges::copy(std::as_bytes(shown), pixels.begin());
  }
}

int64_t PictureBatches::left_out() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(left_out_.size());
}

absl::Status PictureBatches::LeaveOut(int64_t sample, const absl::Status& bad) const {
  BadFiles files;
  // An evaluation counts each sample once: no other picture takes a damaged one's place.
  if (options_.mode == BatchMode::kEvaluation && options_.bad_files == BadFilePolicy::kSkip) return bad;
  files.policy = options_.bad_files;
  RETURN_IF_ERROR(files.Add(bad));
  const std::lock_guard lock(mutex_);
  if (left_out_.insert(sample).second) options_.warn(std::string(bad.message()));
  return absl::OkStatus();
}

}  // namespace partita
