#include "backend/onednn/runtime/isa_check.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"
#include "process/child.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;

constexpr const char *kFaulty = "TRAINYARD_FAULTY_ISA", *kFound = "TRAINYARD_INTERNAL_ISA";
constexpr unsigned kMostSeconds = 60;  // for one trial, which takes some milliseconds

struct Level {
  const char* name;
  dnnl_cpu_isa_t isa;
};

// The levels stand from the best down. Each includes those below it, except for AVX2_VNNI, which no AVX-512
// includes.
constexpr Level kLevels[] = {{"AVX512_CORE_AMX", dnnl_cpu_isa_avx512_core_amx},
                             {"AVX512_CORE_BF16", dnnl_cpu_isa_avx512_core_bf16},
                             {"AVX512_CORE_VNNI", dnnl_cpu_isa_avx512_core_vnni},
                             {"AVX512_CORE", dnnl_cpu_isa_avx512_core},
                             {"AVX2_VNNI", dnnl_cpu_isa_avx2_vnni},
                             {"AVX2", dnnl_cpu_isa_avx2},
                             {"AVX", dnnl_cpu_isa_avx},
                             {"SSE41", dnnl_cpu_isa_sse41}};

const Level* find_level(const std::string& name) {
  const auto* found = std::find_if(std::begin(kLevels), std::end(kLevels),
                                   [&](const Level& level) { return name == level.name; });
  return found == std::end(kLevels) ? nullptr : found;
}

std::string name_of(dnnl_cpu_isa_t isa) {
  for (const Level& level : kLevels)
    if (level.isa == isa) return level.name;
  return "ALL";  // newer than this file
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Runs a square matrix product. A type without a kernel cannot fail, so it passes.
void multiply(memory::data_type a, memory::data_type b, memory::data_type c, std::int64_t size,
              const dnnl::engine& engine) {
  try {
    const memory::desc src({size, size}, a, memory::format_tag::ab),
        weights({size, size}, b, memory::format_tag::any), dst({size, size}, c, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(src, weights, dst), engine);
    if (std::string(pd.impl_info_str()).find("ref") != std::string::npos) return;  // plain code
    memory x(pd.src_desc(), engine), w(pd.weights_desc(), engine), y(pd.dst_desc(), engine);
    for (const memory& operand : {x, w})
      std::memset(operand.get_data_handle(), 0, operand.get_desc().get_size());
    dnnl::stream stream(engine);
    dnnl::matmul(pd).execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
    stream.wait();
  } catch (const dnnl::error&) {
  }
}

void convolve(const dnnl::engine& engine) {
  using Tag = memory::format_tag;
  const auto desc = [](const memory::dims& dims) {
    return memory::desc(dims, memory::data_type::f32, Tag::any);
  };
  const dnnl::convolution_forward::primitive_desc pd({dnnl::prop_kind::forward_training,
                                                      dnnl::algorithm::convolution_direct,
                                                      desc({1, 32, 8, 8}),
                                                      desc({32, 32, 3, 3}),
                                                      desc({1, 32, 8, 8}),
                                                      {1, 1},
                                                      {1, 1},
                                                      {1, 1}},
                                                     engine);
  memory x(pd.src_desc(), engine), w(pd.weights_desc(), engine), y(pd.dst_desc(), engine);
  for (const memory& operand : {x, w})
    std::memset(operand.get_data_handle(), 0, operand.get_desc().get_size());
  dnnl::stream stream(engine);
  dnnl::convolution_forward(pd).execute(stream,
                                        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
  stream.wait();
}

// Runs one kernel of every kind that this program uses with these instructions, on one thread: a forked copy
// lacks the threads of the pool.
int compute(const std::string& isa) {
  using Type = memory::data_type;
  set_thread_count(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  convolve(engine);
  for (const std::int64_t size : {96, 256}) {  // kernels may differ by size
    multiply(Type::f32, Type::f32, Type::f32, size, engine);
    multiply(Type::bf16, Type::bf16, Type::f32, size, engine);
    multiply(Type::u8, Type::s8, Type::s32, size, engine);
  }
  return level_of(isa).product_is_right() ? 0 : 1;
}

void die_if_faulty(const std::string& best) {
  const Level *faulty = find_level(variable(kFaulty)), *taken = find_level(best);
  if (faulty != nullptr && taken != nullptr && taken <= faulty) __builtin_trap();
}

// The forked copy writes the instructions that oneDNN took to memory that both processes see, because it may
// die before it returns.
class SharedName {
 public:
  SharedName() : memory_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) fail(ErrorKind::io, "mmap failed: {}", std::strerror(errno));
  }
  ~SharedName() { ::munmap(memory_, kBytes); }
  SharedName(const SharedName&) = delete;
  SharedName& operator=(const SharedName&) = delete;

  void set(const std::string& name) const {
    std::strncpy(static_cast<char*>(memory_), name.c_str(), kBytes - 1);
  }
  std::string get() const { return static_cast<const char*>(memory_); }

 private:
  static constexpr std::size_t kBytes = 64;
  void* memory_;
};

IsaTrial try_in_copy(const std::string& most) {
  const SharedName best;
  IsaTrial trial;
  trial.exit_code = process::run_in_copy(
      [&] {
        if (const Level* level = find_level(most)) dnnl_set_max_cpu_isa(level->isa);
        best.set(name_of(dnnl_get_effective_cpu_isa()));
        die_if_faulty(best.get());
        return compute(best.get());
      },
      kMostSeconds);
  trial.best = best.get();
  return trial;
}

std::string reason_of(int exit_code) {
  if (exit_code <= 128) return fmt::format("computed wrong, exit code {}", exit_code);
  return fmt::format("died of signal {} ({})", exit_code - 128, ::strsignal(exit_code - 128));
}

// A result is valid on this machine until it restarts, and for the same settings of the user.
std::string conditions() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string machine;
  std::getline(file, machine);
  return fmt::format("{};{};{};{}", machine, variable("ONEDNN_MAX_CPU_ISA"), variable("DNNL_MAX_CPU_ISA"),
                     variable(kFaulty));
}

std::optional<CpuIsa> inherited_isa() {
  const std::string text = variable(kFound), before = conditions() + "|";
  if (!text.starts_with(before)) return std::nullopt;
  CpuIsa isa;
  std::istringstream fields(text.substr(before.size()));
  std::getline(fields, isa.name, '|');
  std::getline(fields, isa.refused, '|');
  std::getline(fields, isa.reason, '|');
  return find_level(isa.name) != nullptr || isa.refused.empty() ? std::optional(isa) : std::nullopt;
}

std::optional<CpuIsa>& found() {
  static std::optional<CpuIsa> isa;
  return isa;
}

}  // namespace

CpuIsa find_usable_isa(const std::function<IsaTrial(const std::string& most)>& attempt) {
  CpuIsa isa;
  std::string most;
  for (;;) {
    const IsaTrial trial = attempt(most);
    if (trial.exit_code == 0) {
      isa.name = trial.best;
      return isa;
    }
    if (isa.refused.empty()) {
      isa.refused = trial.best;
      isa.reason = reason_of(trial.exit_code);
    }
    // One that is newer than all we know comes before the first; each attempt gets lower, so this ends.
    const Level *tried = find_level(most), *taken = find_level(trial.best),
                *next = std::max(tried == nullptr ? std::begin(kLevels) : tried + 1,
                                 taken == nullptr ? std::begin(kLevels) : taken + 1);
    if (next == std::end(kLevels))
      fail(ErrorKind::unsupported,
           "CPU kernels: a process that tried them {}, with {} and with every lesser instruction set; "
           "this program may have been built for another processor",
           isa.reason, isa.refused);
    most = next->name;
  }
}

void limit_to_usable_isa() {
  if (found()) return;
  std::optional<CpuIsa> isa = inherited_isa();
  if (!isa) isa = find_usable_isa(try_in_copy);
  if (!isa->refused.empty())
    if (const Level* level = find_level(isa->name)) dnnl_set_max_cpu_isa(level->isa);
  ::setenv(kFound, fmt::format("{}|{}|{}|{}", conditions(), isa->name, isa->refused, isa->reason).c_str(), 1);
  found() = isa;
}

}  // namespace trainyard::backend::onednn

namespace trainyard::backend {

std::optional<CpuIsa> found_cpu_isa() { return onednn::found(); }

std::unique_ptr<Backend> make_onednn_backend() { return usable_level().make_onednn(); }

}  // namespace trainyard::backend
