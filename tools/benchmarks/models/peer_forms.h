// The ways in which the other framework runs a model.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_PEER_FORMS_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_PEER_FORMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct PeerForm {
  std::string name;                    // "eager", "compile-malloc"
  std::string mode;                    // --mode of tools/peer/train.py
  std::vector<std::string> variables;  // "NAME=value" that it is started with
};

// On the host eager, compile, and each with a C library that keeps what is freed; on a GPU eager, graph and compile.
const std::vector<PeerForm>& PeerForms(bool gpu);

// "eager,compile", as --peer-forms has them; "all". kInvalidArgument: a name that is none of them.
absl::StatusOr<std::vector<PeerForm>> ReadPeerForms(const std::string& names, bool gpu);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_PEER_FORMS_H_
