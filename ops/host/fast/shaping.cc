// Fast concat and slice: whole runs of bytes, of any dtype.
#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"

namespace partita {
namespace {

// Copies one run. The runs of channel blocks are short, a few vectors; calling memcpy for each would cost more.
inline void CopyRun(char* to, const char* from, int64_t bytes) {
  if (bytes >= 512) {
    std::memcpy(to, from, bytes);
    return;
  }
  int64_t done = 0;
  for (; done + 32 <= bytes; done += 32) std::memcpy(to + done, from + done, 32);
  for (; done + 4 <= bytes; done += 4) std::memcpy(to + done, from + done, 4);
  for (; done < bytes; ++done) to[done] = from[done];
}

// A box of a dense tensor as runs of bytes that are contiguous in both the tensor and the (dense) box.
class Runs {
 public:
  Runs(const Shape& whole, const Shape& begin, const Shape& part, int64_t element_bytes)
      : count_(Elements(part)), bytes_(element_bytes) {
    if (count_ == 0) return;
    for (size_t d = 0; d < whole.size(); ++d) {
      // A dimension that is whole joins the one before it.
      if (!dimensions_.empty() && part[d] == whole[d]) {
        dimensions_.back() = {dimensions_.back().whole * whole[d], dimensions_.back().begin * whole[d],
                              dimensions_.back().part * part[d]};
      } else {
        dimensions_.push_back({whole[d], begin[d], part[d]});
      }
    }
    if (dimensions_.empty()) return;
    bytes_ *= dimensions_.back().part;
    count_ /= dimensions_.back().part;
    start_ = dimensions_.back().begin * element_bytes;
    row_ = dimensions_.back().whole * element_bytes;
    dimensions_.pop_back();
  }

  int64_t count() const { return count_; }
  int64_t bytes() const { return bytes_; }

  // The offset of run i in the tensor; in the box it is i * bytes().
  int64_t Offset(int64_t i) const {
    int64_t offset = start_, stride = row_;
    for (auto d = dimensions_.rbegin(); d != dimensions_.rend(); ++d) {
      const bool outermost = d + 1 == dimensions_.rend();
      offset += stride * (d->begin + (outermost ? i : i % d->part));
      if (!outermost) i /= d->part;
      stride *= d->whole;
    }
    return offset;
  }

  // Calls f(offset in the tensor, offset in the box) for every run.
  template <typename F>
  void ForAll(const F& f) const {
    constexpr int64_t kPieces = 16;
    ParallelFor(std::min(count_, kPieces), count_ * bytes_ / 4, [&](int64_t piece) {
      const int64_t pieces = std::min(count_, kPieces);
      for (int64_t i = count_ * piece / pieces; i < count_ * (piece + 1) / pieces; ++i) f(Offset(i), i * bytes_);
    });
  }

 private:
  struct Dimension {
    int64_t whole, begin, part;
  };

  std::vector<Dimension> dimensions_;
  int64_t count_, bytes_;
  int64_t start_ = 0, row_ = 0;
};

}  // namespace

absl::StatusOr<PreparedKernel> FastConcat(const LocalNode& node) {
  const size_t axis = node.attributes.Int("axis");
  const Shape whole = node.outputs[0].shape();
  const int64_t size = SizeOf(node.outputs[0].dtype);
  int64_t outer = 1, inner = size;
  for (size_t d = 0; d < axis; ++d) outer *= whole[d];
  for (size_t d = axis + 1; d < whole.size(); ++d) inner *= whole[d];
  std::vector<int64_t> parts;  // bytes of each input in one outer row
  for (size_t k = 0; k < node.inputs.size(); ++k) parts.push_back(InputShape(node, k)[axis] * inner);
  return Prepared([=, row = whole[axis] * inner](const KernelArguments& a) {
    constexpr int64_t kPieces = 16;
    const int64_t pieces = std::min(outer, kPieces);
    ParallelFor(pieces, outer * row / 4, [&](int64_t piece) {
      for (int64_t i = outer * piece / pieces; i < outer * (piece + 1) / pieces; ++i) {
        char* to = Out<char>(a, 0) + i * row;
        for (size_t k = 0; k < parts.size(); ++k) {
          CopyRun(to, In<char>(a, k) + i * parts[k], parts[k]);
          to += parts[k];
        }
      }
    });
  });
}

absl::StatusOr<PreparedKernel> FastSlice(const LocalNode& node) {
  const Runs runs(InputShape(node, 0), node.attributes.Ints("begin"), node.outputs[0].shape(),
                  SizeOf(node.outputs[0].dtype));
  return Prepared([runs](const KernelArguments& a) {
    runs.ForAll(
        [&](int64_t whole, int64_t part) { CopyRun(Out<char>(a, 0) + part, In<char>(a, 0) + whole, runs.bytes()); });
  });
}

absl::StatusOr<PreparedKernel> FastSliceGrad(const LocalNode& node) {
  const Runs runs(node.outputs[0].shape(), node.attributes.Ints("begin"), InputShape(node, 0),
                  SizeOf(node.outputs[0].dtype));
  return Prepared([runs, bytes = node.outputs[0].bytes()](const KernelArguments& a) {
    if (bytes > 0) std::memset(a.outputs[0], 0, bytes);
    runs.ForAll(
        [&](int64_t whole, int64_t part) { CopyRun(Out<char>(a, 0) + whole, In<char>(a, 0) + part, runs.bytes()); });
  });
}

}  // namespace partita
