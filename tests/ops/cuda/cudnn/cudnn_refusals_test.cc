// What finalizing descriptors refuses: each mistake is planted in the fake and, where it is installed, in cuDNN itself,
// which needs no GPU for it.
#include <gtest/gtest.h>

#include <optional>

#include "ops/cuda/cudnn/cudnn_descriptor.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"

namespace partita {
namespace {

using Sizes = std::vector<int64_t>;

// Makes descriptors; the first error is kept, and what is made from it is not made.
class Maker {
 public:
  explicit Maker(const CudnnApi& api) : api_(api) {}

  absl::Status status() const { return status_; }

  CudnnDescriptor Finalize(CudnnBuilder& builder) {
    if (!status_.ok()) return nullptr;
    absl::StatusOr<CudnnDescriptor> made = builder.Finalize();
    status_ = made.status();
    if (!made.ok()) return nullptr;
    kept_.push_back(*made);
    return *made;
  }
  CudnnBuilder Builder(cudnnBackendDescriptorType_t type) { return CudnnBuilder(api_, type, "a descriptor"); }

  struct TensorOf {
    Sizes size;  // n, h, w, c
    int64_t id = 1;
    int64_t alignment = 16;
    bool is_virtual = false;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    int without = 0;  // an attribute
    bool short_strides = false;
    std::optional<int64_t> row_stride = std::nullopt;
  };
  CudnnDescriptor Tensor(const TensorOf& t) {
    const Sizes& s = t.size;
    Sizes strides = {s[1] * s[2] * s[3], 1, s[2] * s[3], s[3]};
    if (t.short_strides) strides.pop_back();
    if (t.row_stride.has_value()) strides[2] = *t.row_stride;
    if (t.row_stride.value_or(0) > s[2] * s[3]) strides[0] = s[1] * *t.row_stride;
    CudnnBuilder builder = Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    if (t.without != CUDNN_ATTR_TENSOR_DATA_TYPE)
      builder.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, t.type);
    if (t.without != CUDNN_ATTR_TENSOR_DIMENSIONS) {
      builder.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, Sizes{s[0], s[3], s[1], s[2]});
    }
    if (t.without != CUDNN_ATTR_TENSOR_STRIDES) builder.Set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    if (t.without != CUDNN_ATTR_TENSOR_UNIQUE_ID) builder.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, t.id);
    if (t.without != CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) {
      builder.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, t.alignment);
    }
    builder.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, t.is_virtual);
    return Finalize(builder);
  }
  // Images 2x8x8x4, filters 6x3x3x4, outputs 2x8x8x6.
  CudnnDescriptor X() { return Tensor({{2, 8, 8, 4}, 1}); }
  CudnnDescriptor W() { return Tensor({{6, 3, 3, 4}, 2}); }
  CudnnDescriptor Y() { return Tensor({{2, 8, 8, 6}, 3}); }

  struct WindowOf {
    Sizes before = {1, 1}, after = {1, 1}, stride = {1, 1}, dilation = {1, 1};
  };
  CudnnDescriptor Window(const WindowOf& w) {
    CudnnBuilder builder = Builder(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    builder.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    builder.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    builder.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2});
    builder.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, w.before).Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, w.after);
    if (!w.stride.empty()) builder.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, w.stride);
    if (!w.dilation.empty()) builder.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, w.dilation);
    return Finalize(builder);
  }

  CudnnDescriptor Forward(const CudnnDescriptor& x, const CudnnDescriptor& w, const CudnnDescriptor& y,
                          const CudnnDescriptor& window) {
    if (!status_.ok()) return nullptr;
    CudnnBuilder builder = Builder(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    if (x != nullptr) builder.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    if (w != nullptr) builder.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    if (y != nullptr) builder.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    if (window != nullptr) builder.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, window);
    return Finalize(builder);
  }
  CudnnDescriptor Forward(const CudnnDescriptor& y, const WindowOf& window) {
    return Forward(X(), W(), y, Window(window));
  }

  CudnnDescriptor Pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor& b,
                            const CudnnDescriptor& y) {
    CudnnBuilder what = Builder(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    what.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    what.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    const CudnnDescriptor made = Finalize(what);
    if (!status_.ok()) return nullptr;
    CudnnBuilder builder = Builder(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, made);
    if (x != nullptr) builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    builder.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return Finalize(builder);
  }

  CudnnDescriptor Graph(const std::vector<CudnnDescriptor>& operations) {
    if (!status_.ok()) return nullptr;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const CudnnDescriptor& operation : operations) raw.push_back(operation.get());
    CudnnBuilder graph = Builder(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()),
              raw.data());
    return Finalize(graph);
  }

  // The status of a call besides the builder's.
  void Call(cudnnStatus_t status) { status_ = CudnnStatus(api_, status, "a call"); }
  const CudnnApi& api() const { return api_; }

 private:
  const CudnnApi& api_;
  absl::Status status_;
  std::vector<CudnnDescriptor> kept_;
};

struct Case {
  const char* name;
  void (*run)(Maker& m);
};

constexpr int64_t kOne = 1;

const Case kMistakes[] = {
    {"a tensor of which nothing is set",
     [](Maker& m) {
       CudnnBuilder builder = m.Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
       m.Finalize(builder);
     }},
    {"no sizes",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .without = CUDNN_ATTR_TENSOR_DIMENSIONS});
     }},
    {"no strides",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .without = CUDNN_ATTR_TENSOR_STRIDES});
     }},
    {"no alignment",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .without = CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT});
     }},
    {"three strides of four",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .short_strides = true});
     }},
    {"a negative size",
     [](Maker& m) {
       m.Tensor({{2, 8, -1, 4}});
     }},
    {"alignment 0",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .alignment = 0});
     }},
    {"alignment 2 of f32",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .alignment = 2});
     }},
    {"an attribute is set after the end",
     [](Maker& m) {
       m.Call(m.api().cudnnBackendSetAttribute(m.X().get(), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &kOne));
     }},
    {"finalized twice", [](Maker& m) { m.Call(m.api().cudnnBackendFinalize(m.X().get())); }},
    {"an attribute of another descriptor",
     [](Maker& m) {
       CudnnBuilder builder = m.Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
       m.Finalize(builder.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, kOne));
     }},
    {"an attribute of another type",
     [](Maker& m) {
       CudnnBuilder builder = m.Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
       m.Finalize(builder.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT32, kOne));
     }},
    {"two ids",
     [](Maker& m) {
       CudnnBuilder builder = m.Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
       m.Finalize(builder.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Sizes{1, 2}));
     }},
    {"no address of a value",
     [](Maker& m) {
       CudnnBuilder builder = m.Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
       m.Finalize(builder.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr));
     }},
    {"a window without strides", [](Maker& m) { m.Window({.stride = {}}); }},
    {"a window without dilations", [](Maker& m) { m.Window({.dilation = {}}); }},
    {"a window with one dilation", [](Maker& m) { m.Window({.dilation = {1}}); }},
    {"stride 0",
     [](Maker& m) {
       m.Window({.stride = {0, 1}});
     }},
    {"dilation 0",
     [](Maker& m) {
       m.Window({.dilation = {1, 0}});
     }},
    {"a negative padding",
     [](Maker& m) {
       m.Window({.before = {-1, 1}});
     }},
    {"a window of three dimensions",
     [](Maker& m) {
       m.Window({{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}});
     }},
    {"too few rows",
     [](Maker& m) {
       m.Forward(m.Tensor({{2, 7, 8, 6}, 3}), {});
     }},
    {"too many columns",
     [](Maker& m) {
       m.Forward(m.Tensor({{2, 8, 9, 6}, 3}), {});
     }},
    {"the size without a stride",
     [](Maker& m) {
       m.Forward(m.Y(), {.stride = {2, 2}});
     }},
    {"the size without a dilation",
     [](Maker& m) {
       m.Forward(m.Y(), {.dilation = {2, 2}});
     }},
    {"more images than there are",
     [](Maker& m) {
       m.Forward(m.Tensor({{3, 8, 8, 6}, 3}), {});
     }},
    {"channels that no filter makes",
     [](Maker& m) {
       m.Forward(m.Tensor({{2, 8, 8, 5}, 3}), {});
     }},
    {"filters of three channels of four",
     [](Maker& m) {
       m.Forward(m.X(), m.Tensor({{6, 3, 3, 3}, 2}), m.Y(), m.Window({}));
     }},
    {"five filters in two groups",
     [](Maker& m) {
       m.Forward(m.X(), m.Tensor({{5, 3, 3, 2}, 2}), m.Tensor({{2, 8, 8, 5}, 3}), m.Window({}));
     }},
    {"no images", [](Maker& m) { m.Forward(nullptr, m.W(), m.Y(), m.Window({})); }},
    {"no filters", [](Maker& m) { m.Forward(m.X(), nullptr, m.Y(), m.Window({})); }},
    {"no outputs", [](Maker& m) { m.Forward(m.X(), m.W(), nullptr, m.Window({})); }},
    {"no window", [](Maker& m) { m.Forward(m.X(), m.W(), m.Y(), nullptr); }},
    {"images that are not final",
     [](Maker& m) { m.Forward(*m.Builder(CUDNN_BACKEND_TENSOR_DESCRIPTOR).Empty(), m.W(), m.Y(), m.Window({})); }},
    {"images whose rows lie on each other",
     [](Maker& m) {
       m.Forward(m.Tensor({.size = {2, 8, 8, 4}, .row_stride = 4}), m.W(), m.Y(), m.Window({}));
     }},
    {"outputs whose rows lie on each other",
     [](Maker& m) {
       m.Forward(m.Tensor({.size = {2, 8, 8, 6}, .id = 3, .row_stride = 42}), {});
     }},
    {"filters with gaps",
     [](Maker& m) {
       m.Forward(m.X(), m.Tensor({.size = {6, 3, 3, 4}, .id = 2, .row_stride = 16}), m.Y(), m.Window({}));
     }},
    {"an addition of one tensor", [](Maker& m) { m.Pointwise(CUDNN_POINTWISE_ADD, m.Y(), nullptr, m.Y()); }},
    {"a relu of nothing", [](Maker& m) { m.Pointwise(CUDNN_POINTWISE_RELU_FWD, nullptr, nullptr, m.Y()); }},
    {"an operation that is not final",
     [](Maker& m) { m.Graph({*m.Builder(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR).Empty()}); }},
    {"a graph without operations", [](Maker& m) { m.Graph({}); }},
    {"an output that is written twice",
     [](Maker& m) {
       m.Graph({m.Forward(m.Y(), {}), m.Forward(m.Y(), {})});
     }},
};

// What the fake refuses of its own accord: the library finds it later, or makes something else of it.
const Case kStricter[] = {
    {"no type",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .without = CUDNN_ATTR_TENSOR_DATA_TYPE});
     }},
    {"no id",
     [](Maker& m) {
       m.Tensor({.size = {2, 8, 8, 4}, .without = CUDNN_ATTR_TENSOR_UNIQUE_ID});
     }},
    {"a relu that changes the size",
     [](Maker& m) {
       m.Pointwise(CUDNN_POINTWISE_RELU_FWD, m.Y(), nullptr, m.Tensor({{2, 8, 8, 5}, 4}));
     }},
    {"a bias of five channels for six",
     [](Maker& m) {
       m.Pointwise(CUDNN_POINTWISE_ADD, m.Y(), m.Tensor({{1, 1, 1, 5}, 4}), m.Tensor({{2, 8, 8, 6}, 5}));
     }},
    {"an id of two tensors",
     [](Maker& m) {
       m.Graph({m.Forward(m.X(), m.Tensor({{6, 3, 3, 4}, 1}), m.Y(), m.Window({}))});
     }},
    {"rows of stride 0",
     [](Maker& m) {
       m.Graph({m.Forward(m.Tensor({.size = {2, 8, 8, 6}, .id = 3, .row_stride = 0}), {})});
     }},
    {"a virtual tensor that nothing wrote",
     [](Maker& m) {
       m.Graph({m.Pointwise(CUDNN_POINTWISE_RELU_FWD, m.Tensor({{2, 8, 8, 6}, 5, 16, true}), nullptr, m.Y())});
     }},
    {"a graph that ends in a virtual tensor",
     [](Maker& m) {
       m.Graph({m.Forward(m.Tensor({{2, 8, 8, 6}, 5, 16, true}), {})});
     }},
};

const Case kRight[] = {
    {"a convolution without scalars", [](Maker& m) { m.Graph({m.Forward(m.Y(), {})}); }},
    {"groups",
     [](Maker& m) {
       m.Graph({m.Forward(m.X(), m.Tensor({{6, 3, 3, 2}, 2}), m.Y(), m.Window({}))});
     }},
    {"a stride, a dilation, a padding on one side",
     [](Maker& m) {
       const Maker::WindowOf window = {{2, 0}, {1, 0}, {2, 1}, {1, 3}};
       m.Graph({m.Forward(m.Tensor({{2, 5, 2, 6}, 3}), window)});
     }},
    {"images in a larger memory",
     [](Maker& m) {
       m.Graph({m.Forward(m.Tensor({.size = {2, 8, 8, 4}, .row_stride = 48}), m.W(), m.Y(), m.Window({}))});
     }},
    {"a bias and a relu",
     [](Maker& m) {
       const CudnnDescriptor sums = m.Tensor({{2, 8, 8, 6}, 5, 16, true}),
                             added = m.Tensor({{2, 8, 8, 6}, 6, 16, true});
       m.Graph({m.Forward(sums, {}), m.Pointwise(CUDNN_POINTWISE_ADD, sums, m.Tensor({{1, 1, 1, 6}, 4}), added),
                m.Pointwise(CUDNN_POINTWISE_RELU_FWD, added, nullptr, m.Y())});
     }},
};

absl::Status StatusOf(const CudnnApi& api, const Case& c) {
  Maker maker(api);
  c.run(maker);
  return maker.status();
}

TEST(CudnnRefusals, TheFakeRefusesEveryMistake) {
  for (const Case& c : kMistakes) {
    FakeCudnn fake;
    EXPECT_EQ(StatusOf(fake.api(), c).code(), absl::StatusCode::kInternal) << c.name;
    EXPECT_EQ(fake.refusals.size(), 1u) << c.name;
    EXPECT_EQ(fake.live, 0) << c.name;
  }
}

TEST(CudnnRefusals, TheFakeRefusesMoreThanTheLibrary) {
  for (const Case& c : kStricter) {
    FakeCudnn fake;
    EXPECT_FALSE(StatusOf(fake.api(), c).ok()) << c.name;
    EXPECT_EQ(fake.refusals.size(), 1u) << c.name;
  }
}

TEST(CudnnRefusals, TheFakeTakesWhatIsRight) {
  for (const Case& c : kRight) {
    FakeCudnn fake;
    EXPECT_EQ(StatusOf(fake.api(), c), absl::OkStatus()) << c.name;
  }
}

TEST(CudnnRefusals, TheLibraryAnswersLikewise) {
  const absl::StatusOr<CudnnApi> api = LoadCudnn();
  if (!api.ok()) GTEST_SKIP() << api.status().message();
  for (const Case& c : kMistakes) {
    EXPECT_EQ(StatusOf(*api, c).code(), absl::StatusCode::kInternal) << c.name;
  }
  for (const Case& c : kStricter) EXPECT_EQ(StatusOf(*api, c), absl::OkStatus()) << c.name;
  for (const Case& c : kRight) EXPECT_EQ(StatusOf(*api, c), absl::OkStatus()) << c.name;
}

}  // namespace
}  // namespace partita
