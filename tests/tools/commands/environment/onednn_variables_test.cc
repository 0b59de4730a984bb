// In a process that has the library: no variable of oneDNN changes its instructions, prints, or writes files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "oneapi/dnnl/dnnl.hpp"
#include "ops/host/onednn/onednn_program.h"

namespace partita {
namespace {

// What a primitive is compiled for this machine is printed and dumped where variables are obeyed.
void RunRelu(dnnl::memory::dim size) {
  const dnnl::memory::desc shape({size}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
  const dnnl::eltwise_forward::primitive_desc how(OneDnnEngine(), dnnl::prop_kind::forward_inference,
                                                  dnnl::algorithm::eltwise_relu, shape, shape, 0.0f, 0.0f);
  dnnl::memory in(shape, OneDnnEngine()), out(shape, OneDnnEngine());
  dnnl::stream stream(OneDnnEngine());
  dnnl::eltwise_forward(how).execute(stream, {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
  stream.wait();
}

int DumpedFiles() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    count += entry.path().filename().native().starts_with("dnnl_dump");
  }
  return count;
}

TEST(OneDnnVariables, HaveNoEffect) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no instructions to be kept from";
  std::filesystem::current_path(::testing::TempDir());
  for (const auto& [name, value] : {std::pair{"ONEDNN_MAX_CPU_ISA", "SSE41"},
                                    {"DNNL_CPU_ISA_HINTS", "PREFER_YMM"},
                                    {"ONEDNN_VERBOSE", "2"},
                                    {"ONEDNN_JIT_DUMP", "1"}}) {
    ASSERT_EQ(setenv(name, value, 1), 0);
  }
  ::testing::internal::CaptureStdout();
  RunRelu(100);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(DumpedFiles(), 0);
  EXPECT_NE(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::sse41);
  EXPECT_EQ(dnnl::get_cpu_isa_hints(), dnnl::cpu_isa_hints::no_hints);
  // The same is seen where the process asks for it by itself.
  dnnl::set_verbose(2);
  dnnl::set_jit_dump(1);
  ::testing::internal::CaptureStdout();
  RunRelu(101);
  EXPECT_NE(::testing::internal::GetCapturedStdout(), "");
  EXPECT_GT(DumpedFiles(), 0);
}

}  // namespace
}  // namespace partita
