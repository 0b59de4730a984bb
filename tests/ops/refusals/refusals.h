// What is refused, and with which words.
#ifndef PARTITA_TESTS_OPS_REFUSALS_REFUSALS_H_
#define PARTITA_TESTS_OPS_REFUSALS_REFUSALS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/ops/infer.h"

namespace partita {

struct Refusal {
  std::string op;
  Attributes attributes;
  std::vector<std::optional<TensorType>> inputs;
  std::string message;  // a part of it
};

inline void ExpectRefused(const std::vector<Refusal>& refusals) {
  for (const Refusal& r : refusals) {
    const auto outputs = Infer(r.op, r.attributes, r.inputs);
    ASSERT_FALSE(outputs.ok()) << r.op << ": expected " << r.message;
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument) << r.op;
    EXPECT_NE(std::string(outputs.status().message()).find(r.message), std::string::npos)
        << r.op << ": " << outputs.status() << "\nexpected: " << r.message;
  }
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_REFUSALS_REFUSALS_H_
