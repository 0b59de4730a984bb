// A small model and its data, on the disk.
#ifndef PARTITA_TESTS_TOOLS_SERVICE_CLASSIFIER_H_
#define PARTITA_TESTS_TOOLS_SERVICE_CLASSIFIER_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita::service {

inline constexpr int64_t kBatch = 8, kFeatures = 6, kClasses = 4, kSamples = 40, kTestSamples = 16;

// Its values: `logits` of `x`, in batches of kBatch.
inline constexpr char kClassifier[] = R"pb(
  schema_version: 1
  name: "classifier"
  nodes {
    name: "x"
    op: "input"
    attributes {
      name: "shape"
      integers { values: [ 8, 6 ] }
    }
  }
  nodes {
    name: "labels"
    op: "input"
    attributes {
      name: "shape"
      integers { values: 8 }
    }
    attributes { name: "dtype" text: "i32" }
  }
  nodes {
    name: "w1"
    op: "parameter"
    attributes {
      name: "shape"
      integers { values: [ 6, 10 ] }
    }
    attributes { name: "initializer" text: "glorot_uniform" }
  }
  nodes { name: "h" op: "matmul" inputs: "x" inputs: "w1" }
  nodes { name: "r" op: "relu" inputs: "h" }
  nodes {
    name: "w2"
    op: "parameter"
    attributes {
      name: "shape"
      integers { values: [ 10, 4 ] }
    }
    attributes { name: "initializer" text: "glorot_uniform" }
  }
  nodes { name: "logits" op: "matmul" inputs: "r" inputs: "w2" }
  nodes { name: "loss" op: "softmax_cross_entropy" inputs: "logits" inputs: "labels" }
  nodes { name: "accuracy" op: "accuracy" inputs: "logits" inputs: "labels" }
  loss: "loss"
  metrics: "accuracy"
  learning_rate { schedule: "constant" base: 0.05 }
  optimizer { momentum: 0.9 }
)pb";

// The samples of the test set, row by row.
std::vector<float> TestRows();

// A folder for `--data` with a training set and a test set.
void WriteData(const std::string& folder);

// The values of a .npy file of f32.
std::vector<float> ReadNpy(const std::string& path);

std::string ReadBytes(const std::string& path);

}  // namespace partita::service

#endif  // PARTITA_TESTS_TOOLS_SERVICE_CLASSIFIER_H_
