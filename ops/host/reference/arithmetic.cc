// Reference kernels of element-wise ops, bias, dropout and pixels. Outputs may lie at the address of an input.
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/functors/elementwise.h"
#include "ops/functors/noise.h"
#include "ops/host/kernel/global_index.h"
#include "ops/host/kernel/node_dropout.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/node_geometry.h"
#include "ops/values/pixel_scale.h"
#include "runtime/base/bf16.h"

namespace partita {
namespace {

// Calls f with a null pointer of the C++ type of `dtype`.
template <typename F>
void WithType(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kF32:
      return f(static_cast<float*>(nullptr));
    case DType::kF64:
      return f(static_cast<double*>(nullptr));
    case DType::kI32:
      return f(static_cast<int32_t*>(nullptr));
    case DType::kU8:
      return f(static_cast<uint8_t*>(nullptr));
    case DType::kBF16:
      return f(static_cast<Bf16*>(nullptr));
  }
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceConstant(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  const DType dtype = node.outputs[0].dtype;
  const double value = node.attributes.Float("value");
  return Prepared([=](const KernelArguments& a) {
    WithType(dtype, [&]<typename T>(T*) {
      for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = static_cast<T>(value);
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceCast(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  const DType from = Input(node, 0).dtype, to = node.outputs[0].dtype;
  return Prepared([=](const KernelArguments& a) {
    WithType(from, [&]<typename From>(From*) {
      WithType(to, [&]<typename To>(To*) {
        for (int64_t i = 0; i < elements; ++i) Out<To>(a, 0)[i] = static_cast<To>(In<From>(a, 0)[i]);
      });
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceAdd(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [elements]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < elements; ++i) {
      T sum = In<T>(a, 0)[i];
      for (size_t k = 1; k < a.inputs.size(); ++k) sum += In<T>(a, k)[i];
      Out<T>(a, 0)[i] = sum;
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceUnary(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  return AtPlace(UnaryOps(), PlaceOf(UnaryOps(), node.op->name), [&]<typename F>() {
    return PreparedFloating(node.outputs[0].dtype, [elements]<typename T>(const KernelArguments& a) {
      for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = F::Value(In<T>(a, 0)[i]);
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceBinary(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  return AtPlace(BinaryOps(), PlaceOf(BinaryOps(), node.op->name), [&]<typename F>() {
    return PreparedFloating(node.outputs[0].dtype, [elements]<typename T>(const KernelArguments& a) {
      for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = F::Value(In<T>(a, 0)[i], In<T>(a, 1)[i]);
    });
  });
}

absl::StatusOr<PreparedKernel> ReferenceScale(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  const double factor = node.attributes.Float("factor");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = static_cast<T>(factor) * In<T>(a, 0)[i];
  });
}

absl::StatusOr<PreparedKernel> ReferenceOver(const LocalNode& node) {
  return PreparedFloating(node.outputs[0].dtype,
                          [elements = node.outputs[0].elements()]<typename T>(const KernelArguments& a) {
                            const T s = *In<T>(a, 1);
                            for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = In<T>(a, 0)[i] / s;
                          });
}

absl::StatusOr<PreparedKernel> ReferenceBias(const LocalNode& node) {
  const ChannelRows x = MakeRows(node.outputs[0].shape());
  return PreparedFloating(node.outputs[0].dtype, [x]<typename T>(const KernelArguments& a) {
    for (int64_t r = 0; r < x.rows; ++r) {
      for (int64_t c = 0; c < x.channels; ++c) {
        Out<T>(a, 0)[r * x.channels + c] = In<T>(a, 0)[r * x.channels + c] + In<T>(a, 1)[c];
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceBiasGrad(const LocalNode& node) {
  const ChannelRows dy = MakeRows(InputShape(node, 0));
  return PreparedFloating(node.outputs[0].dtype, [dy]<typename T>(const KernelArguments& a) {
    for (int64_t c = 0; c < dy.channels; ++c) {
      double sum = 0;
      for (int64_t r = 0; r < dy.rows; ++r) sum += In<T>(a, 0)[r * dy.channels + c];
      Out<T>(a, 0)[c] = static_cast<T>(sum);
    }
  });
}

// (dy, y) -> db, masked
absl::StatusOr<PreparedKernel> ReferenceBiasGradRelu(const LocalNode& node) {
  return ReferenceBehindRelu(node, 0, ReferenceBiasGrad);
}

absl::StatusOr<PreparedKernel> ReferenceDropout(const LocalNode& node) {
  const LocalTensor x = node.outputs[0];
  const int64_t first_sample = node.attributes.Int("first_sample");
  return PreparedFloating(x.dtype, [=, dropout = NodeDropout(node, "rate", 1)]<typename T>(const KernelArguments& a) {
    const DropoutStep step = dropout.Of(a);
    const GlobalRows rows(x, first_sample);
    for (int64_t r = 0; r < rows.count; ++r) {
      const uint64_t start = rows.Start(r);
      for (int64_t i = 0; i < rows.length; ++i) {
        const int64_t local = r * rows.length + i;
        Out<T>(a, 0)[local] = step.Of(In<T>(a, 0)[local], start + static_cast<uint64_t>(i));
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceNoise(const LocalNode& node) {
  const LocalTensor x = node.outputs[0];
  const int64_t first_sample = node.attributes.Int("first_sample");
  const bool normal = node.attributes.String("distribution") == "normal";
  const std::string& key = node.attributes.String("key");
  return PreparedFloating(x.dtype, [=, name = key.empty() ? node.name : key]<typename T>(const KernelArguments& a) {
    const auto* const step = In<int32_t>(a, 1);
    const NoiseStep noise{normal, PhiloxKey(a.seed, name), step == nullptr ? 0 : static_cast<uint64_t>(*step)};
    const GlobalRows rows(x, first_sample);
    for (int64_t r = 0; r < rows.count; ++r) {
      const uint64_t start = rows.Start(r);
      for (int64_t i = 0; i < rows.length; ++i) {
        Out<T>(a, 0)[r * rows.length + i] = static_cast<T>(noise.At(start + static_cast<uint64_t>(i)));
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferencePositions(const LocalNode& node) {
  const DimensionPlaces places = MakeDimensionPlaces(node);
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < elements; ++i) {
      Out<T>(a, 0)[i] = static_cast<T>(static_cast<double>(places.first + i / places.behind % places.size));
    }
  });
}

absl::StatusOr<PreparedKernel> ReferencePixels(const LocalNode& node) {
  ASSIGN_OR_RETURN(const PixelScale scale, LocalPixelScale(node));
  const int64_t elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < elements; ++i) {
      const int64_t c = i % scale.channels;
      Out<T>(a, 0)[i] = PixelValue<T>(In<uint8_t>(a, 0)[i], scale.mean[c], scale.deviation[c]);
    }
  });
}

}  // namespace partita
