// The shipped models with the strategies that are shipped for them.
#ifndef PARTITA_TESTS_GRAPH_SHIPPED_SHIPPED_H_
#define PARTITA_TESTS_GRAPH_SHIPPED_SHIPPED_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/status/statusor.h"
#include "graph/derive/strategy.h"
#include "graph/ir/model.h"

namespace partita {

struct Shipped {
  const char* model;
  const char* strategy;

  // Of a run of 100 steps.
  absl::StatusOr<Model> Load() const;
  absl::StatusOr<Strategy> LoadSplit() const;
};

inline constexpr Shipped kShipped[] = {
    {"mini_inception", "mini_inception_2x2"},
    {"mini_inception", "mini_inception_mixed"},
    {"mini_inception", "mini_inception_domain"},
    {"lenet5", "lenet5_data_model"},
    {"lenet5", "lenet5_placement"},
    {"lenet5", "lenet5_mixed"},
    {"lenet5", "lenet5_pipeline"},
    {"lenet5", "lenet5_domain"},
    {"lenet5", "lenet5_groups"},
    {"lenet5", "lenet5_grid"},
    {"lenet5", "lenet5_workers"},
    {"lenet5", "lenet5_meshes"},
    {"mlp", "mlp_data_model"},
    {"mlp", "mlp_placement"},
    {"mlp", "mlp_mixed"},
    {"mlp", "mlp_classes"},
};

inline std::string NameOf(const testing::TestParamInfo<Shipped>& shipped) { return shipped.param.strategy; }

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_SHIPPED_SHIPPED_H_
