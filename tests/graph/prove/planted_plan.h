// A rank's launches under a plan of memory that a test may spoil, and what the launches then really read.
#ifndef PARTITA_TESTS_GRAPH_PROVE_PLANTED_PLAN_H_
#define PARTITA_TESTS_GRAPH_PROVE_PLANTED_PLAN_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/ir/kernel_catalogue.h"
#include "graph/ir/program.h"
#include "graph/plan/storage.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"
#include "graph/schedule/schedule.h"

namespace partita {

// Storage that a planner might have assigned by mistake, and which mistake it is.
struct PlantedFault {
  std::string what;
  StoragePlan storage;
};

// How many faults there were.
struct PlantedFaults {
  int refused = 0;   // some launch reads a foreign byte
  int accepted = 0;  // none does
  PlantedFaults& operator+=(const PlantedFaults& more) {
    refused += more.refused;
    accepted += more.accepted;
    return *this;
  }
};

class PlantedPlan {
 public:
  // All of them must outlive the plan. `grouped`: one launch for all updates.
  PlantedPlan(const Program& program, const Graph& entry, int rank, const KernelCatalogue& kernels, bool grouped);

  // Expects VerifySchedule to accept the plan as it is and to refuse it with each fault under which some launch reads a
  // foreign byte. Planted are outputs of launches in the place of inputs, tensors and storages where others lie, and
  // storages with shorter lives; at most `most`, drawn by `seed`.
  PlantedFaults ExpectRefused(uint64_t seed, size_t most) const;

 private:
  std::vector<PlantedFault> Faults(uint64_t seed, size_t most) const;
  std::vector<PlantedFault> OutputsInPlace() const;
  std::vector<PlantedFault> TensorsElsewhere(std::mt19937_64& random) const;
  std::vector<PlantedFault> ShorterLives() const;
  bool MayMove(TensorId tensor, TensorId to) const;
  PlantedFault Moved(TensorId tensor, TensorId to, const std::string& how) const;

  // With waits for every conflict, and one lifetime for all of the arena: nothing but contents can be wrong.
  Schedule Bind(const StoragePlan& storage) const;

  // Whether every launch reads in two steps what it would if every tensor had memory of its own, and overwrites what it
  // reads only where lowering allows it. Walks over every word.
  bool ReadsWhatItMeans(const StoragePlan& storage) const;

  const Program& program_;
  const Graph& entry_;
  const int rank_;
  const LocalGraph local_;
  LocalProgram lowered_;
  StoragePlan storage_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_PROVE_PLANTED_PLAN_H_
