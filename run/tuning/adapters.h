// Which adapters a run's model has: by --lora-rank and the flags beside it, or those of --load-adapter.
#ifndef PARTITA_RUN_TUNING_ADAPTERS_H_
#define PARTITA_RUN_TUNING_ADAPTERS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "runtime/checkpoint/adapter_folder.h"

namespace partita {

// The model with its adapters; as it is without these flags, or if it has adapters already. FlagError: errors of
// WithAdapters (graph/read/adapted_model.h); kInvalidArgument: the folder is not to be read, or has adapters of modules
// or parameters that the model lacks.
absl::StatusOr<Model> Adapted(const RunSpec& spec, Model model);

// alpha and dropout of the flags or, with --load-adapter, of the folder.
struct AdapterSettings {
  double alpha = 0, dropout = 0;
};
absl::StatusOr<AdapterSettings> SettingsOfAdapters(const RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_RUN_TUNING_ADAPTERS_H_
