#include "tests/graph/shipped/shipped.h"

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::string PathOf(const char* name) { return std::string("tools/models/examples/") + name + ".pbtxt"; }

}  // namespace

absl::StatusOr<Model> Shipped::Load() const {
  ASSIGN_OR_RETURN(Model loaded, LoadModel(PathOf(model), Ops()));
  loaded.learning_rate.steps = 100;
  return loaded;
}

absl::StatusOr<Strategy> Shipped::LoadSplit() const { return LoadStrategy(PathOf(strategy)); }

}  // namespace partita
