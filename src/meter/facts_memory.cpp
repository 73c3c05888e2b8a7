#include "meter/cgroup.h"
#include "meter/facts.h"

namespace trainyard::meter {

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

}  // namespace trainyard::meter
