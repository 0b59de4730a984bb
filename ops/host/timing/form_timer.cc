#include "ops/host/timing/form_timer.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "ops/host/kernel/parallel.h"
#include "runtime/base/alignment.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"
#include "runtime/device/host/kernel_team.h"

namespace partita {
namespace {

// Pages that go back to the system at once, whatever the heap would keep.
class Pages {
 public:
  static absl::StatusOr<Pages> Take(int64_t bytes) {
    RETURN_IF_ERROR(CheckMemory("timing a kernel", bytes));
    Pages pages;
    void* const data =
        mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return absl::ResourceExhaustedError("there is no memory to time a kernel in");
    pages.data_ = static_cast<char*>(data);
    pages.bytes_ = bytes;
    return pages;
  }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Pages& operator=(Pages&&) = delete;
  ~Pages() {
    if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
  }

  char* data() const { return data_; }

  // Ordinary numbers: a multiplication of zeros or of denormal ones may take another time. Every page is touched.
  void Fill() const {
    auto* const numbers = reinterpret_cast<float*>(data_);
    const int64_t count = bytes_ / static_cast<int64_t>(sizeof(float));
    for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i % 61 + 1) / 64;
  }

 private:
  Pages() = default;

  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Calls f(bytes) for each operand that is there, inputs first; null for an input that is not.
template <typename F>
KernelArguments Placed(const LocalNode& node, const F& place) {
  KernelArguments arguments;
  for (const auto& input : node.inputs) arguments.inputs.push_back(input ? place(input->bytes()) : nullptr);
  for (const LocalTensor& output : node.outputs) arguments.outputs.push_back(place(output.bytes()));
  return arguments;
}

// Forms that are timed side by side.
class Contest {
 public:
  explicit Contest(const std::function<double()>& now) : now_(now) {}

  absl::Status Enter(const PreparedKernel& form, const KernelArguments& arguments) {
    ASSIGN_OR_RETURN(Computation compute, form.bind(arguments));
    entrants_.push_back({std::move(compute)});
    return absl::OkStatus();
  }

  // In turn, so that what else the machine does meets all of them.
  absl::StatusOr<std::vector<double>> Run() {
    for (int round = 0; round < kMostRuns; ++round) {
      for (Entrant& entrant : entrants_) RETURN_IF_ERROR(RunOnce(entrant));
      const double best = std::ranges::min_element(entrants_, {}, &Entrant::least)->least;
      for (Entrant& entrant : entrants_) {
        const double limit = (round == 0 ? kHopelessAtOnce : kHopeless) * best;
        const bool hopeless = &entrant != &entrants_.front() && entrant.least > limit;
        const double enough = round + 1 < kEnoughRuns ? kEnoughSeconds : kShortSeconds;
        entrant.done = entrant.done || hopeless || entrant.spent >= enough;
      }
    }
    std::vector<double> seconds;
    for (const Entrant& entrant : entrants_) seconds.push_back(entrant.least);
    return seconds;
  }

 private:
  struct Entrant {
    Computation compute;
    double least = std::numeric_limits<double>::infinity();
    double spent = 0;
    bool done = false;
  };

  absl::Status RunOnce(Entrant& entrant) const {
    if (entrant.done) return absl::OkStatus();
    const double begin = now_();
    RETURN_IF_ERROR(entrant.compute());
    const double seconds = now_() - begin;
    entrant.spent += seconds;
    entrant.least = std::min(entrant.least, seconds);
    return absl::OkStatus();
  }

  const std::function<double()>& now_;
  std::vector<Entrant> entrants_;
};

absl::StatusOr<std::vector<double>> TimeHere(const LocalNode& node, std::span<const Form> forms,
                                             const std::function<double()>& now) {
  int64_t operands = 0, workspace = 0;
  Placed(node, [&](int64_t bytes) {
    operands += AlignUp(bytes);
    return nullptr;
  });
  for (const Form& form : forms) workspace = std::max(workspace, form.prepared.workspace_bytes);
  ASSIGN_OR_RETURN(const Pages pages, Pages::Take(operands + AlignUp(workspace)));
  pages.Fill();
  int64_t offset = 0;
  KernelArguments arguments = Placed(node, [&](int64_t bytes) {
    void* const place = pages.data() + offset;
    offset += AlignUp(bytes);
    return place;
  });
  arguments.workspace = pages.data() + offset;
  Contest contest(now);
  for (const Form& form : forms) RETURN_IF_ERROR(contest.Enter(form.prepared, arguments));
  return contest.Run();
}

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// On a thread of its own: OpenMP's threads of this node end with it and are not left behind on the caller's.
absl::StatusOr<std::vector<double>> TimeForms(const LocalNode& node, std::span<const Form> forms, int threads,
                                              const std::function<double()>& now) {
  absl::StatusOr<std::vector<double>> seconds;
  const int most = threads > 0 ? threads : MaxThreads();
  try {
    std::thread([&] {
      const ThreadScope scope(most);
      const absl::Status started = StartKernelTeam();
      seconds = started.ok() ? TimeHere(node, forms, now) : started;
    }).join();
  } catch (const std::system_error& error) {
    return SystemRefuses("timing kernels", error);
  }
  return seconds;
}

FormTimer TimerOnThreads(int threads) {
  return [threads](const LocalNode& node, std::span<const Form> forms) {
    return TimeForms(node, forms, threads, SteadySeconds);
  };
}

}  // namespace partita
