#include "train/session/job_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "base/cores.h"
#include "base/text.h"
#include "meter/cgroup.h"
#include "meter/process_stat.h"

namespace trainyard::train {

namespace {

void want_memory(const SessionOptions& options, double bytes, const backend::Device& device) {
  const std::int64_t base = device.is_host() ? meter::resident_bytes() : 0,
                     free_bytes = device.is_host() ? meter::available_bytes(meter::SystemFiles())
                                                   : static_cast<std::int64_t>(device.free_bytes());
  bytes *= options.sessions;
  if (free_bytes == 0 || bytes <= static_cast<double>(free_bytes)) return;
  constexpr double kMost = 9e18;
  const double needed = bytes + static_cast<double>(base);
  fail(ErrorKind::unsupported, "network '{}' at batch {}: needs {}{} of memory, {} has {}",
       options.model.network, options.model.batch, needed > kMost ? "more than " : "",
       format_bytes(static_cast<std::int64_t>(std::min(needed, kMost))),
       device.is_host() ? "this machine" : device.name(), format_bytes(free_bytes + base));
}

}  // namespace

void check_memory(const SessionOptions& options, const graph::Graph& graph, const backend::Device& device) {
  double bytes = 0;
  for (const graph::Value& value : graph.values()) {
    const bool counts = value.role != graph::Role::intermediate &&
                        (value.role != graph::Role::optimizer_state || options.optimizer_state);
    if (counts) bytes += static_cast<double>(value.type.bytes());
  }
  want_memory(options, bytes, device);
}

void check_memory(const SessionOptions& options, const plan::StepPlan& plan, const backend::Device& device) {
  std::size_t bytes = plan.total_bytes();
  if (!options.optimizer_state) bytes -= plan.bytes(plan::Region::optimizer_state);
  want_memory(options, static_cast<double>(bytes), device);
}

namespace {

// More than a few to a core compute nothing sooner; tests of many want some room.
constexpr std::int64_t kProcessesPerCore = 32;
// The system counts threads where it limits processes; those of MPI come to several each.
constexpr std::int64_t kThreadsEach = 8;
constexpr double kMessagingBytes = 16 << 20;  // buffers of MPI and connections
constexpr double kCudaHostBytes = 512 << 20;  // that the CUDA runtime has on the host
constexpr const char* kMostVariable = "TRAINYARD_MAX_PROCESSES";

void lower(ProcessLimit& limit, std::int64_t most, const std::string& reason) {
  if (most < limit.most) limit = {std::max<std::int64_t>(most, 1), reason};
}

std::int64_t wished_limit() {
  const char* text = std::getenv(kMostVariable);
  if (text == nullptr) return 0;
  std::int64_t most = 0;
  const char* const end = text + std::strlen(text);
  if (std::from_chars(text, end, most).ptr != end || most < 1)
    fail(ErrorKind::usage, "{}={}: a number above 0 is wanted", kMostVariable, text);
  return most;
}

}  // namespace

double process_bytes() { return static_cast<double>(meter::anonymous_bytes()) + kMessagingBytes; }

double worker_bytes(const SessionOptions& options) {
  if (options.device.is_gpu()) return process_bytes() + kCudaHostBytes;
  const auto backend = backend::make_backend(options.backend, options.device, options.precision);
  return static_cast<double>(checked_plan_bytes(options, *backend)) + process_bytes();
}

double server_bytes(const SessionOptions& options, int servers) {
  const auto backend = backend::make_backend("null");
  const plan::CompiledStep step = compile_step(options, *backend);
  const auto state = static_cast<double>(step.plan.bytes(plan::Region::parameters) +
                                         step.plan.bytes(plan::Region::gradients) +
                                         step.plan.bytes(plan::Region::optimizer_state));
  return state / servers + process_bytes();
}

ProcessLimit process_limit(const meter::SystemFiles& files) {
  const auto cores = static_cast<std::int64_t>(process_cores().size());
  ProcessLimit limit{kProcessesPerCore * cores,
                     fmt::format("{} for each of {} cores", kProcessesPerCore, cores)};
  if (const std::int64_t wished = wished_limit(); wished > 0)
    limit = {wished, fmt::format("{}={}", kMostVariable, wished)};
  rlimit user{};
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur != RLIM_INFINITY)
    lower(limit, static_cast<std::int64_t>(user.rlim_cur) / kThreadsEach,
          fmt::format("ulimit -u is {}", user.rlim_cur));
  if (const auto left = meter::read_cgroup_limits(files).processes)
    lower(limit, *left / kThreadsEach, fmt::format("the control group has room for {} threads", *left));
  return limit;
}

void check_job(const std::string& who, const std::vector<JobPart>& parts, const meter::SystemFiles& files) {
  std::int64_t processes = 0;
  double bytes = 0;
  for (const JobPart& part : parts) {
    processes += part.processes;
    bytes += static_cast<double>(part.processes) * part.bytes_each;
  }
  const ProcessLimit limit = process_limit(files);
  if (processes > limit.most)
    fail(ErrorKind::unsupported, "{}: {} processes, this machine may have {} ({}; {} sets another limit)",
         who, processes, limit.most, limit.reason, kMostVariable);
  const std::int64_t free_bytes = meter::available_bytes(files);
  if (free_bytes == 0 || bytes <= static_cast<double>(free_bytes)) return;
  constexpr double kMost = 9e18;
  fail(ErrorKind::unsupported, "{}: {} processes need {}{} of memory, this machine has {} left", who,
       processes, bytes > kMost ? "more than " : "",
       format_bytes(static_cast<std::int64_t>(std::min(bytes, kMost))), format_bytes(free_bytes));
}

}  // namespace trainyard::train
