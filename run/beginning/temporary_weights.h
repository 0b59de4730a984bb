// A file of weights in the system's folder for temporary files, from which ranks read what they hold.
#ifndef PARTITA_RUN_BEGINNING_TEMPORARY_WEIGHTS_H_
#define PARTITA_RUN_BEGINNING_TEMPORARY_WEIGHTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace partita {

// The file and its folder are gone with the object.
class TemporaryWeights {
 public:
  // kResourceExhausted: the folder cannot be made.
  static absl::StatusOr<std::shared_ptr<const TemporaryWeights>> Make();
  explicit TemporaryWeights(const std::string& made) : folder_(made), path_(made + "/weights.safetensors") {}
  TemporaryWeights(const TemporaryWeights&) = delete;
  TemporaryWeights& operator=(const TemporaryWeights&) = delete;
  ~TemporaryWeights();

  const std::string& path() const { return path_; }  // to be written by the caller

 private:
  const std::string folder_, path_;
};

}  // namespace partita

#endif  // PARTITA_RUN_BEGINNING_TEMPORARY_WEIGHTS_H_
