#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include <fmt/core.h>

#include "meter/cgroup.h"
#include "meter/facts.h"
#include "meter/frequency.h"

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

// Those that decide which kernels a library picks, by their names in /proc/cpuinfo.
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
  // The first processor's block says it all; the file has one for each.
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

}  // namespace trainyard::meter
