// Lets an average pooling take the means of what a convolution of single pixels makes, where it takes those of what the
// convolution reads.
//
//   before   %p = average_pool(%x) f32[4,17,17,768]            %y = conv2d(%p, %w) f32[4,17,17,192]
//   after    %y@unpooled = conv2d(%x, %w) f32[4,17,17,192]     %y@pooled = average_pool(%y@unpooled) f32[4,17,17,192]
//
// Both are linear, the pooling in rows and columns, the convolution in channels, so either order gives the same numbers
// but for rounding, whatever the pooling does at the border. Applies only if the convolution has at most half as many
// output channels as input channels, the pooling has stride 1 and an output for each pixel, and no other node reads %p.
// (With so few channels it also outweighs a bias and an activation that fuse_epilogues.h could have joined to the
// convolution.) Both nodes have new names, because neither computes %y or %p. Both follow the strategy's entry for %y;
// an entry for %p has no effect.
#ifndef PARTITA_OPS_FUSIONS_POOL_LAST_H_
#define PARTITA_OPS_FUSIONS_POOL_LAST_H_

#include "graph/ir/op_definition.h"

namespace partita {

// Gives the same graph back, uncopied, where there is nothing to exchange.
Graph PoolLast(Graph graph, const OpRegistry&);

}  // namespace partita

#endif  // PARTITA_OPS_FUSIONS_POOL_LAST_H_
