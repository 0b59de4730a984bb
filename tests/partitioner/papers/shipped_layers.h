// The layers of a shipped network, for one sample.
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_SHIPPED_LAYERS_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_SHIPPED_LAYERS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/registry.h"
#include "tests/partitioner/papers/layers.h"
#include "tools/models/models.h"

namespace partita {

inline std::vector<Layer> ShippedLayers(const std::string& name) {
  ModelOptions options;
  options.batch = 1;
  const absl::StatusOr<Model> model = MakeModel(name, options, Ops());
  EXPECT_TRUE(model.ok()) << model.status();
  absl::StatusOr<std::vector<Layer>> layers = LayersOf(model->graph);
  EXPECT_TRUE(layers.ok()) << layers.status();
  return *std::move(layers);
}

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_SHIPPED_LAYERS_H_
