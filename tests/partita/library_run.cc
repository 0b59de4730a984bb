// Trains by the library on a batch of eight equal rows, from a file to a file, on one rank or on DATA replicas:
//
//   library_run GRAPH LOAD|- STEPS SAVE [DATA]
//
// Prints "trains" after the first step. An error of a step is printed with "the process is alive" behind it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "partita/partita.h"

using namespace partita::api;

namespace {

int Fail(const Error& error) { return std::fprintf(stderr, "%s\n", error.message.c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  const int replicas = argc == 6 ? std::atoi(argv[5]) : 1;
  const Result<Model> model = Model::FromFile(argv[1]);
  if (!model) return Fail(model.error());
  Result<Session> session = Session::Start(*model, {.data = replicas}, {.seed = 1, .threads_per_rank = 1});
  if (!session) return Fail(session.error());
  if (std::string(argv[2]) != "-") {
    if (const Outcome loaded = session->Load(argv[2])) return Fail(*loaded);
  }
  std::vector<float> x;
  for (int i = 0; i < 8 * 6; ++i) x.push_back(static_cast<float>(i % 6 + 1) / 8 - 0.5f);
  const std::vector<int32_t> labels(8, 2);
  for (int step = 0; step < std::atoi(argv[3]); ++step) {
    const Result<StepResult> result =
        session->Train({{"x", {Type::kF32, {8, 6}, x.data()}}, {"labels", {Type::kI32, {8}, labels.data()}}});
    if (!result) return Fail(result.error()), std::puts("the process is alive"), 1;
    if (step == 0) std::puts("trains"), std::fflush(stdout);
  }
  if (const Outcome saved = session->Save(argv[4])) return Fail(*saved);
  return 0;
}
