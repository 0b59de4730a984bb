// Trains on a service, follows the run, and predicts one sample with what it has learnt:
//
//   service_client HOST:PORT GRAPH.pbtxt 'data = "/srv/data"' FIELD SIZE...
//
// Environment: PARTITA_TOKEN, the service's token. The sample is a row of zeros of the field's sizes, without the
// batch.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "proto/service.grpc.pb.h"

namespace {

using namespace partita::v1;

int Fail(const grpc::Status& status) {
  std::fprintf(stderr, "%s\n", status.error_message().c_str());
  return 1;
}

// A call with the token.
std::unique_ptr<grpc::ClientContext> Call() {
  auto context = std::make_unique<grpc::ClientContext>();
  if (const char* token = std::getenv("PARTITA_TOKEN")) {
    context->AddMetadata("authorization", std::string("Bearer ") + token);
  }
  return context;
}

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const auto service = Partita::NewStub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));

  RunRequest request;
  request.mutable_model()->set_text(TextOf(argv[2]));
  request.set_settings(argv[3]);
  RunStatus run;
  if (const grpc::Status status = service->Submit(Call().get(), request, &run); !status.ok()) return Fail(status);

  RunName name;
  name.set_id(run.id());
  const auto context = Call();
  const auto changes = service->Watch(context.get(), name);
  while (changes->Read(&run)) {
    std::printf("%s %s step %lld of %lld, loss %.4f\n", run.id().c_str(), RunState_Name(run.state()).c_str(),
                static_cast<long long>(run.progress().step()), static_cast<long long>(run.progress().steps()),
                run.progress().loss());
  }
  if (const grpc::Status status = changes->Finish(); !status.ok()) return Fail(status);
  if (run.state() != FINISHED) return std::fprintf(stderr, "%s\n", run.message().c_str()), 1;

  PredictRequest sample;
  sample.set_run(run.id());
  Tensor& field = (*sample.mutable_fields())[argv[4]];
  field.add_shape(1);
  size_t elements = 1;
  for (int i = 5; i < argc; ++i) {
    field.add_shape(std::atoll(argv[i]));
    elements *= static_cast<size_t>(std::atoll(argv[i]));
  }
  field.set_data(std::string(elements * sizeof(float), '\0'));
  PredictReply predicted;
  if (const grpc::Status status = service->Predict(Call().get(), sample, &predicted); !status.ok()) return Fail(status);
  for (const auto& [value, tensor] : predicted.values()) {
    std::printf("%s", value.c_str());
    for (size_t i = 0; i < tensor.data().size() / sizeof(float); ++i) {
      float element = 0;
      std::memcpy(&element, tensor.data().data() + i * sizeof(float), sizeof(float));
      std::printf(" %g", element);
    }
    std::printf("\n");
  }
  return 0;
}
