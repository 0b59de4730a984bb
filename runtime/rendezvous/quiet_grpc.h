#ifndef PARTITA_RUNTIME_RENDEZVOUS_QUIET_GRPC_H_
#define PARTITA_RUNTIME_RENDEZVOUS_QUIET_GRPC_H_

#include <grpc/support/log.h>

namespace partita {

// gRPC writes what goes wrong to standard error; here it becomes a Status, or is a stranger's fault.
inline void QuietGrpc() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_RENDEZVOUS_QUIET_GRPC_H_
