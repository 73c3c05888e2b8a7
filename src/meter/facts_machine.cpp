#include <cstdlib>
#include <iterator>

#include "base/text.h"
#include "meter/cgroup.h"
#include "meter/cpu.h"
#include "meter/provenance.h"

namespace trainyard::meter {

namespace {

const std::string kCpus = "/sys/devices/system/cpu/";

std::string cpu_folder(int cpu) { return fmt::format("{}cpu{}/", kCpus, cpu); }

struct Topology {
  std::set<std::int64_t> sockets;
  std::set<std::string> cores;  // as the list of logical ones that share it
};

Topology read_topology(const SystemFiles& files, const std::vector<int>& cpus) {
  Topology topology;
  for (const int cpu : cpus) {
    const std::string folder = cpu_folder(cpu) + "topology/";
    // -1 where the machine does not number its sockets: ARM, some virtual machines
    if (const auto socket = files.integer(folder + "physical_package_id"))
      topology.sockets.insert(std::max<std::int64_t>(*socket, 0));
    auto siblings = files.text(folder + "core_cpus_list");
    if (!siblings) siblings = files.text(folder + "thread_siblings_list");  // before Linux 5.3
    if (siblings) topology.cores.insert(*siblings);
  }
  return topology;
}

// Keeps the flags that decide which kernels a library picks, by their names in /proc/cpuinfo.
std::string interesting_isa(const std::string& flags) {
  static constexpr std::string_view kPrefixes[] = {"avx", "amx", "sve", "asimd"};
  static constexpr std::string_view kNames[] = {"sse4_2", "fma", "f16c", "bf16", "i8mm"};
  std::string found;
  for (const std::string_view flag : split_words(flags)) {
    const bool wanted = std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                                    [&](auto prefix) { return flag.starts_with(prefix); }) ||
                        std::find(std::begin(kNames), std::end(kNames), flag) != std::end(kNames);
    if (!wanted) continue;
    if (!found.empty()) found += ' ';
    found += flag;
  }
  return found;
}

void add_caches(const SystemFiles& files, int cpu, FactSection& section) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("{}cache/index{}/", cpu_folder(cpu), index);
    const auto level = files.integer(folder + "level");
    if (!level) break;
    const std::string type = files.text(folder + "type").value_or("");
    const std::string size = files.text(folder + "size").value_or("");  // "48K"
    const auto number = leading_integer(size);
    if (!number || type == "Instruction") continue;
    const std::int64_t unit = size.ends_with('M') ? 1 << 20 : size.ends_with('K') ? 1 << 10 : 1;
    section.add(*level == 1   ? "l1d_bytes"
                : *level == 2 ? "l2_bytes"
                : *level == 3 ? "l3_bytes"
                              : "l4_bytes",
                *number * unit);
  }
}

void add_frequency(const SystemFiles& files, const std::string& cpuinfo, FactSection& section) {
  const Frequency frequency = read_frequency(files);
  section.add("governor", frequency.governor);
  section.add("min_mhz", frequency.min_mhz);
  section.add("max_mhz", frequency.max_mhz);
  if (frequency.current_mhz)
    section.add("current_mhz", *frequency.current_mhz);
  else if (const auto mhz = keyed_value(cpuinfo, "cpu MHz"))
    section.add("current_mhz", std::atof(mhz->c_str()));
}

}  // namespace

record::Provenance cpu_facts(const SystemFiles& files) {
  FactSection section("cpu");
  // The file has one block for each processor, and the first one is enough.
  const std::string cpuinfo = files.text("/proc/cpuinfo", 8192).value_or("");
  auto model = keyed_value(cpuinfo, "model name");
  if (!model) model = keyed_value(cpuinfo, "Model");  // ARM boards
  section.add("model", model);
  auto vendor = keyed_value(cpuinfo, "vendor_id");
  if (!vendor) vendor = keyed_value(cpuinfo, "CPU implementer");
  section.add("vendor", vendor);
  auto flags = keyed_value(cpuinfo, "flags");
  if (!flags) flags = keyed_value(cpuinfo, "Features");
  section.add("isa", interesting_isa(flags.value_or("")));

  const std::vector<int> online = parse_cpu_list(files.text(kCpus + "online").value_or(""));
  if (!online.empty()) {
    const Topology topology = read_topology(files, online);
    if (!topology.sockets.empty()) section.add("sockets", static_cast<std::int64_t>(topology.sockets.size()));
    if (!topology.cores.empty()) {
      section.add("physical_cores", static_cast<std::int64_t>(topology.cores.size()));
      section.add("threads_per_core", static_cast<std::int64_t>(online.size() / topology.cores.size()));
    }
    section.add("logical_cores", static_cast<std::int64_t>(online.size()));
    add_caches(files, online.front(), section);
  }
  const std::string status = files.text("/proc/self/status").value_or("");
  if (const auto allowed = keyed_value(status, "Cpus_allowed_list"))
    section.add("allowed_cores", static_cast<std::int64_t>(parse_cpu_list(*allowed).size()));
  section.add("quota_cores", read_cgroup_limits(files).cores);
  if (const auto nodes = files.text("/sys/devices/system/node/online"))
    section.add("numa_nodes", static_cast<std::int64_t>(parse_cpu_list(*nodes).size()));
  add_frequency(files, cpuinfo, section);
  return section.take();
}

namespace {

std::optional<std::int64_t> wide(std::optional<int> value) { return value; }

record::Provenance device_facts(const Nvml& nvml, int device) {
  FactSection section(fmt::format("gpu{}", device));
  const GpuDescription gpu = nvml.describe(device);
  section.add("name", gpu.name);
  section.add("uuid", gpu.uuid);
  section.add("memory_bytes", gpu.memory_bytes);
  section.add("max_sm_mhz", wide(gpu.max_sm_mhz));
  section.add("max_memory_mhz", wide(gpu.max_memory_mhz));
  section.add("power_limit_watts", gpu.power_limit_watts);
  section.add("persistence", gpu.persistence);
  section.add("ecc", gpu.ecc);
  section.add("mig", gpu.mig);
  const GpuSample now = nvml.sample(device);
  section.add("memory_used_bytes", now.memory_used_bytes);
  section.add("sm_mhz", wide(now.sm_mhz));
  section.add("memory_mhz", wide(now.memory_mhz));
  section.add("power_watts", now.power_watts);
  section.add("temperature_celsius", wide(now.temperature_celsius));
  section.add("throttle_reasons", joined(now.throttle_reasons, ", "));
  return section.take();
}

}  // namespace

record::Provenance gpu_facts(const Nvml* nvml) {
  if (!nvml) return {};
  FactSection section("gpu");
  section.add("count", nvml->device_count());
  section.add("driver", nvml->driver_version());
  section.add("cuda_driver", nvml->cuda_version());
  record::Provenance facts = section.take();
  for (int device = 0; device < nvml->device_count(); ++device)
    for (record::Fact& fact : device_facts(*nvml, device)) facts.push_back(std::move(fact));
  return facts;
}

record::Provenance memory_facts(const SystemFiles& files) {
  FactSection section("memory");
  const std::string meminfo = files.text("/proc/meminfo").value_or("");
  const auto add_kibibytes = [&](const char* key, const char* line) {
    if (const auto kibibytes = keyed_integer(meminfo, line)) section.add(key, *kibibytes * 1024);
  };
  add_kibibytes("total_bytes", "MemTotal");
  add_kibibytes("available_bytes", "MemAvailable");
  add_kibibytes("swap_bytes", "SwapTotal");
  section.add("limit_bytes", read_cgroup_limits(files).memory_bytes);
  section.add("huge_pages", keyed_integer(meminfo, "HugePages_Total"));
  // "always [madvise] never"
  const std::string choice = files.text("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const std::size_t start = choice.find('['), end = choice.find(']');
  if (start < end && end != choice.npos)
    section.add("transparent_huge_pages", choice.substr(start + 1, end - start - 1));
  return section.take();
}

record::Provenance slurm_facts(const Environment& environment) {
  static constexpr std::pair<const char*, const char*> kFacts[] = {
      {"SLURM_JOB_ID", "job_id"},
      {"SLURM_STEP_ID", "step_id"},
      {"SLURM_ARRAY_JOB_ID", "array_job_id"},
      {"SLURM_ARRAY_TASK_ID", "array_task_id"},
      {"SLURM_RESTART_COUNT", "restarts"},
      {"SLURM_CLUSTER_NAME", "cluster"},
      {"SLURM_JOB_PARTITION", "partition"},
      {"SLURM_JOB_NODELIST", "node_list"},
      {"SLURM_JOB_NUM_NODES", "nodes"},
      {"SLURMD_NODENAME", "node"},
      {"SLURM_NTASKS", "tasks"},
      {"SLURM_PROCID", "task"},
      {"SLURM_CPUS_ON_NODE", "cpus_on_node"},
      {"SLURM_CPUS_PER_TASK", "cpus_per_task"},
      {"SLURM_CPU_BIND", "cpu_bind"},
      {"SLURM_MEM_PER_NODE", "mebibytes_per_node"},
      {"SLURM_JOB_GPUS", "gpus"},
      {"SLURM_GPUS_ON_NODE", "gpus_on_node"},
      {"SLURM_JOB_GRES", "gres"},
      {"SLURM_STEP_GPUS", "step_gpus"},
  };
  FactSection section("slurm");
  for (const auto& [variable, key] : kFacts)
    for (const auto& [name, value] : environment)
      if (name == variable && !value.empty()) section.add(key, record::to_value(value));
  return section.take();
}

namespace {

std::optional<std::string> find_container(const SystemFiles& files) {
  static constexpr std::pair<const char*, const char*> kMarks[] = {
      {"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}, {"/.singularity.d", "apptainer"}};
  for (const auto& [path, name] : kMarks)
    if (files.exists(path)) return name;
  if (auto name = files.text("/run/systemd/container")) return name;
  const std::string groups = files.text("/proc/1/cgroup").value_or("");
  for (const char* name : {"kubepods", "docker", "lxc"})
    if (groups.find(name) != groups.npos) return name;
  return std::nullopt;
}

std::optional<std::string> find_hypervisor(const SystemFiles& files) {
  if (auto type = files.text("/sys/hypervisor/type")) return type;
  const std::string cpuinfo = files.text("/proc/cpuinfo", 8192).value_or("");
  const std::string flags = keyed_value(cpuinfo, "flags").value_or("");
  if ((" " + flags + " ").find(" hypervisor ") == std::string::npos) return std::nullopt;
  const std::string maker = files.text("/sys/class/dmi/id/sys_vendor").value_or("");
  const std::string product = files.text("/sys/class/dmi/id/product_name").value_or("");
  if (maker.empty() && product.empty()) return "unnamed";
  return maker.empty() || product.empty() ? maker + product : maker + " " + product;
}

}  // namespace

record::Provenance system_facts(const SystemFiles& files) {
  FactSection section("system");
  section.add("node", files.text("/proc/sys/kernel/hostname"));
  section.add("kernel", files.text("/proc/sys/kernel/osrelease"));
  if (auto name = keyed_value(files.text("/etc/os-release").value_or(""), "PRETTY_NAME")) {
    std::erase(*name, '"');
    section.add("os", *name);
  }
  section.add("hypervisor", find_hypervisor(files));
  section.add("container", find_container(files));
  section.add("clock_source", files.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  return section.take();
}

}  // namespace trainyard::meter
