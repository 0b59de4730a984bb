// The service: trainings and predictions for other machines and languages, over gRPC (docs/guide/service.md).
#include <string>

#include "tools/commands/processes/set_up.h"
#include "tools/commands/processes/signals.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"
#include "tools/program/start/clean_start.h"
#include "tools/service/server.h"
#include "tools/service/service_spec.pb.h"

namespace {

using namespace partita;

// The host alone: a second line of the output of a program that reads it would be in the way.
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

absl::StatusOr<int> RunServe(const ContextOf<ServiceSpec>& context) {
  const StopSignals signals;
  const auto say = [&](const service::Ports& ports) {
    context.out << fmt::format("calls {}:{}", HostOf(context.spec.address()), ports.calls);
    if (ports.metrics != 0) {
      context.out << fmt::format(" metrics {}:{}", HostOf(context.spec.metrics_address()), ports.metrics);
    }
    context.out << std::endl;
  };
  RETURN_IF_ERROR(service::Serve(context.spec, signals.flag(), say));
  return kExitFinished;
}

absl::Status SetUp(const google::protobuf::Message& message) {
  const auto& spec = static_cast<const ServiceSpec&>(message);
  RunSpec process;
  process.mutable_output()->set_log(spec.log());
  process.mutable_output()->set_log_format(spec.log_format());
  return SetUpProcess(process);
}

}  // namespace

int main(int argc, char** argv) {
  StartClean(argv);
  const ProgramDefinition program = {
      "partita_service",
      "train and predict for clients over gRPC",
      ServiceSpec::default_instance(),
      {{"serve", "serve until a signal", "", Runs<ServiceSpec>(RunServe)}},
      [](const google::protobuf::Message& message, const std::string&) {
        return service::CheckService(static_cast<const ServiceSpec&>(message));
      },
      SetUp,
  };
  return RunMain(program, argc, argv);
}
