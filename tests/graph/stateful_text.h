// Nodes with states, as the text of a graph to which a test adds its own.
#ifndef PARTITA_TESTS_GRAPH_STATEFUL_TEXT_H_
#define PARTITA_TESTS_GRAPH_STATEFUL_TEXT_H_

namespace partita {

// What a batch norm reads.
inline constexpr char kBatchNorm[] = R"(state %mean
state %variance
%x = input() f32[6,5,5,4]
%gamma = parameter() initializer=constant f32[4]
%beta = parameter() initializer=constant f32[4]
%mean = state() initializer=constant f32[4]
%variance = state() initializer=constant f32[4]
)";

// An LSTM that goes on where it ended in the step before.
inline constexpr char kCarried[] = R"(%g = input() f32[4,3,8]
%w = parameter() initializer=constant f32[2,8]
%y = lstm(%g, %w, _, _, _, _) carry=true f32[4,3,2]
metric %y
)";

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_STATEFUL_TEXT_H_
