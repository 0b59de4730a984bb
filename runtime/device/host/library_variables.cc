#include "runtime/device/host/library_variables.h"

#include <algorithm>

namespace partita {
namespace {

using enum VariableHandling;

constexpr char kOpenMp[] = "OpenMP", kOneDnn[] = "oneDNN", kJpeg[] = "libjpeg-turbo", kLibc[] = "glibc",
               kTcmalloc[] = "tcmalloc", kOpenSsl[] = "OpenSSL", kCuda[] = "CUDA", kCublas[] = "cuBLAS",
               kCudnn[] = "cuDNN", kNccl[] = "NCCL", kGrpc[] = "gRPC";

constexpr char kTls[] = "concerns TLS alone: what it breaks is refused when ranks connect";
constexpr char kPrints[] = "prints, to standard output unless told otherwise";
constexpr char kInstructions[] = "chooses instructions, and so the bits of results";
constexpr char kWrites[] = "writes files";
constexpr char kGrpcPrints[] = "prints to standard error; partita_service logs errors of gRPC itself";

// In the order of the libraries, the general row of a library last.
constexpr LibraryVariable kVariables[] = {
    {"OMP_DYNAMIC", kOpenMp, kPinned, "a team of fewer threads than a kernel is made for leaves out their parts"},
    {"OMP_NESTED", kOpenMp, kPinned, "regions inside regions would have threads of their own"},
    {"OMP_MAX_ACTIVE_LEVELS", kOpenMp, kPinned, "0 leaves a kernel one thread"},
    {"OMP_NUM_THREADS", kOpenMp, kPinned, "--threads says how many threads a kernel has"},
    {"OMP_THREAD_LIMIT", kOpenMp, kDropped,
     "--threads says how many threads a kernel has; a library refuses what is over the limit"},
    {"OMP_WAIT_POLICY", kOpenMp, kKept, "how threads wait for the next kernel"},
    {"GOMP_SPINCOUNT", kOpenMp, kKept, "how threads wait for the next kernel"},
    {"GOMP_CPU_AFFINITY", kOpenMp, kDropped, "binds the first thread of every rank to one core; taskset binds all"},
    {"OMP_*", kOpenMp, kDropped, "--threads and taskset say which threads compute, and where"},
    {"GOMP_*", kOpenMp, kDropped, "--threads and taskset say which threads compute, and where"},

    {"ONEDNN_DEFAULT_FPMATH_MODE", kOneDnn, kPinned, "lets f32 be computed in bf16; --precision says what is"},
    {"DNNL_DEFAULT_FPMATH_MODE", kOneDnn, kPinned, "lets f32 be computed in bf16; --precision says what is"},
    {"ONEDNN_VERBOSE", kOneDnn, kPinned, kPrints},
    {"DNNL_VERBOSE", kOneDnn, kPinned, kPrints},
    {"ONEDNN_MAX_CPU_ISA", kOneDnn, kPinned, kInstructions},
    {"DNNL_MAX_CPU_ISA", kOneDnn, kPinned, kInstructions},
    {"ONEDNN_CPU_ISA_HINTS", kOneDnn, kPinned, kInstructions},
    {"DNNL_CPU_ISA_HINTS", kOneDnn, kPinned, kInstructions},
    {"ONEDNN_JIT_DUMP", kOneDnn, kPinned, kWrites},
    {"DNNL_JIT_DUMP", kOneDnn, kPinned, kWrites},
    {"ONEDNN_JIT_PROFILE", kOneDnn, kPinned, kWrites},
    {"DNNL_JIT_PROFILE", kOneDnn, kPinned, kWrites},
    {"ONEDNN_*", kOneDnn, kDropped, "may choose instructions, and so the bits of results, or write files"},
    {"DNNL_*", kOneDnn, kDropped, "may choose instructions, and so the bits of results, or write files"},
    {"_ONEDNN_*", kOneDnn, kDropped, "may choose instructions, and so the bits of results, or write files"},
    {"_DNNL_*", kOneDnn, kDropped, "may choose instructions, and so the bits of results, or write files"},
    {"INTEL_LIBITTNOTIFY*", kOneDnn, kDropped, "loads a library into the process"},
    {"INTEL_JIT_PROFILER*", kOneDnn, kDropped, "loads a library into the process"},

    {"JPEGMEM", kJpeg, kPinned, "a low limit makes whole pictures unreadable"},
    {"JSIMD_*", kJpeg, kDropped, "chooses instructions by which pictures are decoded"},

    {"GLIBC_TUNABLES", kLibc, kDropped, "chooses among the functions of libm, and so the bits of results"},

    {"TCMALLOC_*", kTcmalloc, kKept, "concerns memory and time alone"},
    {"MALLOCSTATS", kTcmalloc, kKept, "prints to standard error when the process ends"},
    {"PERFTOOLS_VERBOSE", kTcmalloc, kKept, "prints to standard error"},

    {"OPENSSL_*", kOpenSsl, kKept, kTls},
    {"SSL_CERT_*", kOpenSsl, kKept, kTls},
    {"RANDFILE", kOpenSsl, kKept, kTls},

    {"GRPC_VERBOSITY", kGrpc, kDropped, kGrpcPrints},
    {"GRPC_TRACE", kGrpc, kDropped, kGrpcPrints},
    {"GRPC_STACKTRACE_MINLOGLEVEL", kGrpc, kDropped, kGrpcPrints},
    {"GRPC_SSL_CIPHER_SUITES", kGrpc, kKept, kTls},
    {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", kGrpc, kKept, kTls},
    {"GRPC_*", kGrpc, kDropped, "chooses among experiments and polling engines of gRPC"},

    {"NVIDIA_TF32_OVERRIDE", kCuda, kDropped, "computes f32 in TF32; --tf32 says whether"},
    {"CUDA_*", kCuda, kKept, "which devices are seen, and how they are used"},

    {"CUBLAS_EMULAT*", kCublas, kDropped, "computes products in another precision; --precision says which"},
    {"CUBLASLT_EMULAT*", kCublas, kDropped, "computes products in another precision; --precision says which"},
    {"CUBLAS_LOG*", kCublas, kDropped, kPrints},
    {"CUBLASLT_LOG*", kCublas, kDropped, kPrints},
    {"CUBLAS_*", kCublas, kKept, "cannot be pinned; may change the bits of results"},
    {"CUBLASLT_*", kCublas, kKept, "cannot be pinned; may change the bits of results"},

    {"CUDNN_LOG*", kCudnn, kDropped, kPrints},
    {"CUDNN_*", kCudnn, kKept, "cannot be pinned; may change the bits of results"},

    {"NCCL_DEBUG", kNccl, kKept, "prints: programs let it, to standard error (NCCL_DEBUG_FILE)"},
    {"NCCL_ALGO", kNccl, kKept,
     "changes the order in which sums are added; where it is not set, deterministic runs on GPUs exclude NVLS"},
    {"NCCL_*", kNccl, kKept, "the network needs it; NCCL_PROTO changes the order in which sums are added"},
};

bool Covers(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

std::span<const LibraryVariable> LibraryVariables() { return kVariables; }

const LibraryVariable* FindLibraryVariable(std::string_view name) {
  const auto found =
      std::ranges::find_if(kVariables, [name](const LibraryVariable& row) { return Covers(row.name, name); });
  return found == std::end(kVariables) ? nullptr : &*found;
}

std::string FoundVariable::ToString() const {
  return name + "=" + value + " (" + about->library + "): " + Name(about->handling) + ": " + about->reason;
}

std::vector<FoundVariable> FindLibraryVariables(const char* const* environment) {
  std::vector<FoundVariable> found;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const LibraryVariable* const about = FindLibraryVariable(name);
    if (about != nullptr) found.push_back({std::string(name), std::string(entry.substr(equals + 1)), about});
  }
  std::ranges::sort(found, {}, &FoundVariable::name);
  return found;
}

const char* Name(VariableHandling handling) {
  constexpr const char* kNames[] = {"pinned", "dropped", "kept"};
  return kNames[static_cast<int>(handling)];
}

}  // namespace partita
