#include "meter/facts.h"

namespace trainyard::meter {
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
