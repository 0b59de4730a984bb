// Reference kernels of softmax in pieces: rows of the classes that the rank has (ops/definitions/split_softmax.cc).
#include "ops/functors/softmax.h"
#include "ops/host/kernel/labels.h"
#include "ops/host/reference/reference_kernels.h"

namespace partita {
namespace {

struct BlockRows {
  explicit BlockRows(const LocalNode& node)
      : n(MakeRows(InputShape(node, 0)).rows), classes(InputShape(node, 0).back()) {}
  int64_t n, classes;
};

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceRowMaximum(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) Out<T>(a, 0)[i] = RowMaximum(In<T>(a, 0) + i * rows.classes, rows.classes);
  });
}

absl::StatusOr<PreparedKernel> ReferenceRowExponentials(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) {
      Out<T>(a, 0)[i] = RowExponentials(In<T>(a, 0) + i * rows.classes, rows.classes, In<T>(a, 1)[i]);
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceRowExponentialsGrad(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) {
      const T maximum = In<T>(a, 1)[i], dsum = In<T>(a, 2)[i];
      for (int64_t at = i * rows.classes; at < (i + 1) * rows.classes; ++at) {
        Out<T>(a, 0)[at] = std::exp(In<T>(a, 0)[at] - maximum) * dsum;
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxNormalize(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) {
      const T maximum = In<T>(a, 1)[i], inverse = T(1) / In<T>(a, 2)[i];
      for (int64_t at = i * rows.classes; at < (i + 1) * rows.classes; ++at) {
        Out<T>(a, 0)[at] = std::exp(In<T>(a, 0)[at] - maximum) * inverse;
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceSoftmaxNormalizeGrad(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) {
      double sum = 0;
      for (int64_t at = i * rows.classes; at < (i + 1) * rows.classes; ++at) {
        sum += static_cast<double>(In<T>(a, 0)[at]) * static_cast<double>(In<T>(a, 1)[at]);
      }
      Out<T>(a, 0)[i] = static_cast<T>(-sum) / In<T>(a, 2)[i];
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxNormalize(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) {
      const T total = In<T>(a, 1)[i] + std::log(In<T>(a, 2)[i]);
      for (int64_t at = i * rows.classes; at < (i + 1) * rows.classes; ++at) {
        Out<T>(a, 0)[at] = In<T>(a, 0)[at] - total;
      }
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceLogSoftmaxNormalizeGrad(const LocalNode& node) {
  const BlockRows rows(node);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < rows.n; ++i) {
      double sum = 0;
      for (int64_t c = 0; c < rows.classes; ++c) sum += static_cast<double>(In<T>(a, 0)[i * rows.classes + c]);
      Out<T>(a, 0)[i] = static_cast<T>(-sum) / In<T>(a, 1)[i];
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceCrossEntropy(const LocalNode& node) {
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    double sum = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
      if (rows.Ignores(a, i)) continue;
      const T total = In<T>(a, 3)[i] + std::log(In<T>(a, 4)[i]);
      const T share = CrossEntropyShare(In<T>(a, 0) + i * rows.classes, rows.classes,
                                        rows.Label(a, i) - rows.first_class, rows.all_classes, T(smoothing), total);
      sum += static_cast<double>(rows.Weight<T>(a, i) * share);
    }
    *Out<T>(a, 0) = static_cast<T>(sum / rows.weights.divisor);
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceCrossEntropyLogitsGrad(const LocalNode& node) {
  const LabelledRows rows(node);
  const double smoothing = node.attributes.Float("label_smoothing");
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(rows.Check(a));
    for (int64_t i = 0; i < rows.n; ++i) {
      const T factor = rows.Ignores(a, i) ? T(0) : rows.Factor<T>(a, i);
      const int64_t label = rows.Label(a, i) - rows.first_class;
      for (int64_t c = 0; c < rows.classes; ++c) {
        Out<T>(a, 0)[i * rows.classes + c] = -factor * SmoothedTarget(c, label, rows.all_classes, T(smoothing));
      }
    }
    return absl::OkStatus();
  });
}

// (sum, labels, sample_weight?, dloss)
absl::StatusOr<PreparedKernel> ReferenceCrossEntropySumGrad(const LocalNode& node) {
  const int64_t n = Elements(InputShape(node, 0));
  const LossWeights weights(node, InputShape(node, 0).size(), 2);
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) {
    for (int64_t i = 0; i < n; ++i) {
      const T factor = *In<T>(a, 3) * WeightOfRow<T>(weights, a, i) / static_cast<T>(weights.divisor);
      Out<T>(a, 0)[i] = In<int32_t>(a, 1)[i] == weights.ignored ? T(0) : factor / In<T>(a, 0)[i];
    }
  });
}

}  // namespace partita
