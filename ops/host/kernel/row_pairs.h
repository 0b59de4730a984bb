// Pairs of ids and rows as one list, and which of its rows have the same id, as kernels of merge_rows see them.
#ifndef PARTITA_OPS_HOST_KERNEL_ROW_PAIRS_H_
#define PARTITA_OPS_HOST_KERNEL_ROW_PAIRS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/host/kernel/ids.h"

namespace partita {

class RowPairs {
 public:
  explicit RowPairs(const LocalNode& node) : channels_(node.outputs[1].shape()[1]) {
    const IntList& padding = node.attributes.Ints("padding_rows");
    for (size_t p = 0; p < padding.size(); ++p) {
      pairs_.push_back({count_, padding[p]});
      count_ += Input(node, 2 * p).elements();
    }
  }

  int64_t count() const { return count_; }  // of all ids
  int64_t channels() const { return channels_; }

  // The row at a place of the list.
  template <typename T>
  const T* Row(const KernelArguments& arguments, int64_t place) const {
    size_t p = pairs_.size() - 1;
    while (pairs_[p].first > place) --p;
    return In<T>(arguments, 2 * p + 1) + (place - pairs_[p].first) * channels_;
  }

  // Places by their ids, those of one id in their order, and where the runs of one id begin; `begins` has an end more.
  struct Runs {
    const Reading* readings;
    const int64_t* begins;
    int64_t count;
  };
  int64_t scratch_bytes() const {
    return count_ * static_cast<int64_t>(sizeof(Reading)) + (count_ + 1) * static_cast<int64_t>(sizeof(int64_t));
  }
  Runs Sort(const KernelArguments& arguments) const {
    Reading* const readings = Scratch<Reading>(arguments);
    auto* const begins = Scratch<int64_t>(arguments, count_ * static_cast<int64_t>(sizeof(Reading)));
    const int64_t found = Find(arguments, readings);
    std::sort(readings, readings + found);
    int64_t runs = 0;
    for (int64_t i = 0; i < found; ++i) {
      if (i == 0 || readings[i].row != readings[i - 1].row) begins[runs++] = i;
    }
    begins[runs] = found;
    return {readings, begins, runs};
  }

 private:
  struct Pair {
    int64_t first, padding;
  };

  int64_t Find(const KernelArguments& arguments, Reading* readings) const {
    int64_t found = 0;
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const int64_t end = p + 1 < pairs_.size() ? pairs_[p + 1].first : count_;
      for (int64_t place = pairs_[p].first; place < end; ++place) {
        const int64_t id = In<int32_t>(arguments, 2 * p)[place - pairs_[p].first];
        if (id >= 0 && id != pairs_[p].padding) readings[found++] = {id, place};
      }
    }
    return found;
  }

  int64_t channels_;
  int64_t count_ = 0;
  std::vector<Pair> pairs_;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_ROW_PAIRS_H_
