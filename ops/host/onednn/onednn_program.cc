#include "ops/host/onednn/onednn_program.h"

#include <cstdlib>
#include <map>
#include <string>

#include "ops/host/kernel/parallel.h"
#include "ops/host/onednn/onednn_kernels.h"

namespace partita {
namespace {

struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha;
};

// The slope of relu below zero is 1e-20: with a slope of zero oneDNN makes a zero of a NaN, and a run that has become
// non-finite would not say so.
const std::map<std::string, Eltwise>& Activations() {
  static const auto& activations = *new std::map<std::string, Eltwise>{
      {"relu", {dnnl::algorithm::eltwise_relu, 1e-20f}},
  };
  return activations;
}

bool IsSet(const char* variable) {
  return std::getenv(fmt::format("ONEDNN_{}", variable).c_str()) != nullptr ||
         std::getenv(fmt::format("DNNL_{}", variable).c_str()) != nullptr;
}

// What a variable asks for (runtime/device/host/library_variables.h) is undone; what the process has set by oneDNN's
// own functions stays. The choice of instructions is final once the process has used oneDNN elsewhere.
void UndoVariables() {
  if (IsSet("MAX_CPU_ISA")) dnnl_set_max_cpu_isa(dnnl_cpu_isa_default);
  if (IsSet("CPU_ISA_HINTS")) dnnl_set_cpu_isa_hints(dnnl_cpu_isa_no_hints);
  if (IsSet("VERBOSE")) dnnl_set_verbose(0);
  if (IsSet("JIT_DUMP")) dnnl_set_jit_dump(0);
  if (IsSet("JIT_PROFILE")) dnnl_set_jit_profiling_flags(DNNL_JIT_PROFILE_NONE);
}

}  // namespace

std::string OneDnnName() {
  OneDnnEngine();  // first, as the name holds the instructions
  const dnnl_version_t& version = *dnnl_version();
  return fmt::format("oneDNN {}.{}.{} isa {:#x}", version.major, version.minor, version.patch,
                     static_cast<int>(dnnl_get_effective_cpu_isa()));
}

const dnnl::engine& OneDnnEngine() {
  static const dnnl::engine& engine = []() -> const dnnl::engine& {
    UndoVariables();
    return *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

absl::StatusOr<dnnl::memory::data_type> OneDnnType(DType dtype) {
  if (dtype == DType::kF32) return dnnl::memory::data_type::f32;
  if (dtype == DType::kBF16) return dnnl::memory::data_type::bf16;
  return InvalidArgument("dtype is {}, allowed are f32 and bf16", Name(dtype));
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // whatever ONEDNN_DEFAULT_FPMATH_MODE allows
  return attributes;
}

absl::StatusOr<dnnl::primitive_attr> UserScratchpadWith(const NodeEpilogue& epilogue) {
  dnnl::primitive_attr attributes = UserScratchpad();
  const std::string name = epilogue.activation_name();
  if (name.empty()) return attributes;
  const auto found = Activations().find(name);
  if (found == Activations().end()) return InvalidArgument("oneDNN has no {} behind a product", name);
  dnnl::post_ops operations;
  operations.append_eltwise(found->second.algorithm, found->second.alpha, 0);
  attributes.set_post_ops(operations);
  return attributes;
}

OneDnnProgram::OneDnnProgram() : stream_(OneDnnEngine()) {}

dnnl_memory_t OneDnnProgram::Memory(const dnnl::memory::desc& description, void* address) {
  if (description == NoMemory()) return nullptr;
  memories_.emplace_back(description, OneDnnEngine(), address);
  return memories_.back().get();
}

void OneDnnProgram::Add(dnnl::primitive primitive, std::initializer_list<std::pair<int, dnnl_memory_t>> arguments,
                        int threads) {
  Step step{std::move(primitive), {}, threads};
  for (const auto& [role, memory] : arguments) {
    if (memory != nullptr) step.arguments.push_back({role, memory});
  }
  steps_.push_back(std::move(step));
}

absl::Status OneDnnProgram::Run() const {
  for (const Step& step : steps_) {
    const ThreadScope threads(step.threads);
    const dnnl_status_t status = dnnl_primitive_execute(step.primitive.get(), stream_.get(),
                                                        static_cast<int>(step.arguments.size()), step.arguments.data());
    if (status != dnnl_success) return Internal("oneDNN: a primitive failed with status {}", static_cast<int>(status));
  }
  return absl::OkStatus();
}

}  // namespace partita
