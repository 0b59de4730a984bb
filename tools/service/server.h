// The server: its ports, credentials and limits, from its start to its end in good order.
#ifndef PARTITA_TOOLS_SERVICE_SERVER_H_
#define PARTITA_TOOLS_SERVICE_SERVER_H_

#include <atomic>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "tools/service/service_spec.pb.h"

namespace partita::service {

struct Ports {
  int calls = 0;
  int metrics = 0;  // 0: none
};

// FlagError: flags that do not go together.
absl::Status CheckService(const ServiceSpec& spec);

// Serves until `stop` is not 0; `on_start` is called once calls are accepted. Then running trainings are saved, and
// calls in progress have a few seconds to end. kUnavailable: an address is not to be had.
absl::Status Serve(const ServiceSpec& spec, const std::atomic<int>& stop, const std::function<void(Ports)>& on_start);

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_SERVER_H_
