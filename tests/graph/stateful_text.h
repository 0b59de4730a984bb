// Nodes with states, as the text of a graph to which a test adds its own.
#ifndef PARTITA_TESTS_GRAPH_STATEFUL_TEXT_H_
#define PARTITA_TESTS_GRAPH_STATEFUL_TEXT_H_

#include <string>

namespace partita {

// What a batch norm reads, and behind it `nodes`.
inline std::string BatchNormText(const std::string& nodes) {
  std::string text = R"(state %mean
state %variance
%x = input() f32[6,5,5,4]
%gamma = parameter() initializer=constant f32[4]
%beta = parameter() initializer=constant f32[4]
%mean = state() initializer=constant f32[4]
%variance = state() initializer=constant f32[4]
)";
  text += nodes;
  return text;
}

// An LSTM that continues from its end in the previous step, followed by `nodes`.
inline std::string CarriedText(const std::string& nodes = "") {
  std::string text = R"(%g = input() f32[4,3,8]
%w = parameter() initializer=constant f32[2,8]
%y = lstm(%g, %w, _, _, _, _) carry=true f32[4,3,2]
metric %y
)";
  text += nodes;
  return text;
}

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_STATEFUL_TEXT_H_
