// Which values of a graph lie channels first in its ONNX model. Images are [n,h,w,c] here; the convolutions and pools
// of ONNX read [n,c,h,w].
#ifndef PARTITA_EXPORTER_ONNX_IMAGE_ORDERS_H_
#define PARTITA_EXPORTER_ONNX_IMAGE_ORDERS_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace partita::onnx_export {

// Of the dimensions of a value of four dimensions; all others lie as in the graph.
enum class Order : uint8_t { kGraph, kChannelsFirst };

// Dimension d of a value that lies channels first is dimension kChannelsFirstOrder[d] in the graph.
inline constexpr int kChannelsFirstOrder[] = {0, 3, 1, 2};
inline constexpr int kGraphOrder[] = {0, 2, 3, 1};  // the reverse

// By value: kChannelsFirst where a convolution, a pool or a batch norm gives or reads it, or where nodes that may
// compute in any order (elementwise ones, concat, slice) connect it with such a value. So a chain of them needs one
// transposition before and one after it.
std::vector<Order> ImageOrders(const Graph& graph);

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_IMAGE_ORDERS_H_
