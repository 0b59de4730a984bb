// The options for compiling and running a program, from a command's flags.
#ifndef PARTITA_RUN_PLAN_RUN_OPTIONS_H_
#define PARTITA_RUN_PLAN_RUN_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/make_program.h"
#include "graph/schedule/machine_speed.h"
#include "graph/sets/set_results.h"
#include "proto/run.pb.h"
#include "runtime/api/rank/session_options.h"

namespace partita {

// What floating values of the graph are: f32, or f64 where --precision says so.
DType FloatingType(const RunSpec& spec);

// The model of the GPU that --device and --gpu say (ModelOfGpu); of the host empty.
std::string GpuModelFor(const RunSpec& spec);

// `speed`: of the target machine (SpeedFor), also below.
ProgramOptions ReadProgramOptions(const RunSpec& spec, const MachineSpeed& speed);

// How results of the model's evaluation follow from those of batches.
absl::StatusOr<SetResults> SetResultsOf(const Model& model);

// MakeProgram of the graph that the command's argument names, whose evaluation reports what SetResultsOf asks for and
// behind it what the options do; errors name that file, and the strategy's.
absl::StatusOr<Program> MakeProgramOf(const RunSpec& spec, const Model& model, const Strategy& strategy,
                                      const ProgramOptions& options);

SessionOptions ReadSessionOptions(const RunSpec& spec, const MachineSpeed& speed);

// The same for a command that is deterministic and computes f32 in f32: without --tf32, --deterministic, --plan-cache.
SessionOptions ReadExactSessionOptions(const RunSpec& spec, const MachineSpeed& speed);

// The same for a command that runs nothing: without seeds.
SessionOptions ReadPlanOptions(const RunSpec& spec, const MachineSpeed& speed);

// FlagError: --disable-pass names a pass that programs need, or none; --dump-after names none.
absl::Status CheckPasses(const RunSpec& spec);

// Whether ranks can run on what --device and --gpu say: said before anything is read, and before threads are started.
absl::Status CheckDevice(const RunSpec& spec);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_RUN_OPTIONS_H_
