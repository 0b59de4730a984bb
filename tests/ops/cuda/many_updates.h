// Many parameters of odd sizes, some empty, updated together: each as if it were alone.
#ifndef PARTITA_TESTS_OPS_CUDA_MANY_UPDATES_H_
#define PARTITA_TESTS_OPS_CUDA_MANY_UPDATES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/cuda/launch/optimizer.h"
#include "ops/registry.h"
#include "ops/values/update_attributes.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {

// `update(sets, set_count, scalars, tensors)` returns the number of launches. What lies where an output goes is there
// before, so that `w` is updated in its place.
template <typename F, typename Update>
void ExpectManyAreAsEachAlone(int64_t parameters, int launches, const Update& update) {
  const GroupUpdate<F> rule = UpdateWith<F>(*CompleteAttributes(*Ops().Find(F::kName), {}));
  const float rate = 0.1f, clip = 0.5f, other_clip = 0.25f;
  const int32_t iteration = 4, apply = 1;
  const launch::UpdateAddresses scalars{&rate, &apply, F::kCountsSteps ? &iteration : nullptr};
  const launch::UpdateSet<F> sets[] = {{rule, &clip}, {rule, nullptr}, {{rule.update, 0.5}, &other_clip}};
  using Tensors = std::vector<std::vector<float>>;
  std::vector<Tensors> before(2 + F::kSlots.size());  // w, g and the slots
  for (int64_t t = 0; t < parameters; ++t) {
    const int64_t n = t % 7 == 3 ? 0 : t * t % 301 + 1;
    for (size_t i = 0; i < before.size(); ++i) {
      const Values values = RandomValues(n, static_cast<uint64_t>(7 * t) + i);
      before[i].emplace_back(values.begin(), values.end());
      if (i >= 2) std::ranges::for_each(before[i].back(), [](float& value) { value = std::abs(value); });
    }
  }
  std::vector<std::array<float, 2>> squares;
  for (int64_t t = 0; t < parameters; ++t) {
    squares.push_back({static_cast<float>(t % 5), static_cast<float>(t % 4)});  // some are 0
  }
  const auto tensor = [&squares](std::vector<Tensors>& own, size_t t) {
    launch::UpdateTensor<F> at;
    at.w = at.new_w = own[0][t].data();
    at.g = own[1][t].data();
    for (size_t s = 0; s < F::kSlots.size(); ++s) at.slots[s] = at.new_slots[s] = own[2 + s][t].data();
    if constexpr (ReadsNorms<F>) at.w_squares = &squares[t][0], at.g_squares = &squares[t][1];
    at.elements = static_cast<int64_t>(own[0][t].size());
    return at;
  };
  std::vector<Tensors> alone = before, many = before;
  std::vector<launch::UpdateTensor<F>> tensors;
  for (size_t t = 0; t < before[0].size(); ++t) {
    tensors.push_back(tensor(many, t));
    tensors.back().set = static_cast<int>(t % 3);
    const launch::UpdateTensor<F> one = tensor(alone, t);
    if (one.elements == 0) continue;
    EXPECT_EQ(update(&sets[t % 3], 1, scalars, std::vector{one}), 1);
  }
  EXPECT_EQ(update(sets, 3, scalars, tensors), launches) << F::kName;
  EXPECT_EQ(many, alone) << F::kName;
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(many[i] == before[i], i == 1) << F::kName;
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_CUDA_MANY_UPDATES_H_
