#include "meter/provenance.h"

#include <unistd.h>

namespace trainyard::meter {
namespace {

// The alphabetical order lets equal machines give equal records.
Environment read_environment() {
  Environment found;
  for (char** entry = ::environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != text.npos) found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

record::Provenance joined(std::vector<record::Provenance> sections) {
  record::Provenance all;
  for (record::Provenance& section : sections)
    std::move(section.begin(), section.end(), std::back_inserter(all));
  return all;
}

}  // namespace

record::Provenance find_provenance() {
  const SystemFiles files;
  const Environment environment = read_environment();
  const std::unique_ptr<Nvml> nvml = Nvml::open();
  return joined({cpu_facts(files), memory_facts(files), system_facts(files), build_facts(), library_facts(),
                 gpu_facts(nvml.get()), slurm_facts(environment), environment_facts(environment)});
}

record::Provenance find_machine() {
  const SystemFiles files;
  const std::unique_ptr<Nvml> nvml = Nvml::open();
  return joined({cpu_facts(files), memory_facts(files), system_facts(files), gpu_facts(nvml.get())});
}

}  // namespace trainyard::meter
