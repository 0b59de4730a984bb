// Adapters of a session: those of --load-adapter, with which it begins, and those that --save-adapter writes.
#ifndef PARTITA_RUN_BEGINNING_ADAPTER_STATES_H_
#define PARTITA_RUN_BEGINNING_ADAPTER_STATES_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "proto/run.pb.h"
#include "runtime/api/session.h"

namespace partita {

// The parameters that are adapters: files of weights need not have them.
std::set<std::string> AdapterNames(const Model& model);

// What a folder of adapters has for the states of a program, read before there is a session.
struct AdapterStates {
  std::map<std::string, HostTensor> states;
  std::string digest;  // "": no folder is read
};
// Of --load-adapter; none without it. kInvalidArgument: the folder lacks an adapter, or has another shape than the
// model.
absl::StatusOr<AdapterStates> ReadAdapterStates(const RunSpec& spec, const Program& program);
absl::Status LoadAdapterStates(const AdapterStates& adapters, Session& session);

// kInvalidArgument: what is trained beside adapters has no name or order in PEFT's files that is known here.
absl::Status CheckAdapterSave(const RunSpec& spec, const Model& model);
// Writes the adapters, and the modules that are trained whole, to the folder of --save-adapter. Collective; the process
// of rank 0 writes. kOutOfRange on all: a value that is not finite.
absl::Status SaveAdapterStates(const RunSpec& spec, const Model& model, const Session& session);

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_ADAPTER_STATES_H_
