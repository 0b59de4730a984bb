// The real service as its users run it, and a client of it.
#ifndef PARTITA_TESTS_TOOLS_SERVICE_SERVICE_PROCESS_H_
#define PARTITA_TESTS_TOOLS_SERVICE_SERVICE_PROCESS_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "proto/service.grpc.pb.h"

namespace partita::service {

// Starts a program; its standard output can be read from `*output` unless that is null.
pid_t Spawn(const std::vector<std::string>& command, int* output);
// 128 + the signal's number where one ended it.
int WaitFor(pid_t process);
int RunCommand(const std::vector<std::string>& command);

class ServiceProcess {
 public:
  // Returns when it accepts calls, or has ended without. Ports are free ones.
  explicit ServiceProcess(const std::vector<std::string>& flags);
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;
  ~ServiceProcess();

  bool started() const { return !address_.empty(); }
  const std::string& address() const { return address_; }
  v1::Partita::Stub& stub() const { return *stub_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  std::string Metrics() const;  // the page
  int64_t PeakBytes() const;    // of resident memory
  void Signal(int signal) const;
  int Wait();  // the exit code

 private:
  pid_t process_ = 0;
  std::string address_;
  int metrics_port_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Partita::Stub> stub_;
};

}  // namespace partita::service

#endif  // PARTITA_TESTS_TOOLS_SERVICE_SERVICE_PROCESS_H_
