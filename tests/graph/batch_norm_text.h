// What a batch norm reads, as the text of a graph to which a test adds its nodes.
#ifndef PARTITA_TESTS_GRAPH_BATCH_NORM_TEXT_H_
#define PARTITA_TESTS_GRAPH_BATCH_NORM_TEXT_H_

namespace partita {

inline constexpr char kBatchNorm[] = R"(state %mean
state %variance
%x = input() f32[6,5,5,4]
%gamma = parameter() initializer=constant f32[4]
%beta = parameter() initializer=constant f32[4]
%mean = state() initializer=constant f32[4]
%variance = state() initializer=constant f32[4]
)";

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_BATCH_NORM_TEXT_H_
