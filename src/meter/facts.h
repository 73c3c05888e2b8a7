#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meter/nvml.h"
#include "meter/system_files.h"
#include "record/provenance.h"

// One file a section: facts_<section>.cpp. What cannot be found out is left out.
namespace trainyard::meter {

record::Provenance cpu_facts(const SystemFiles& files);
record::Provenance memory_facts(const SystemFiles& files);
record::Provenance system_facts(const SystemFiles& files);
record::Provenance build_facts();
record::Provenance library_facts();
record::Provenance gpu_facts(const Nvml* nvml);  // null: none

using Environment = std::vector<std::pair<std::string, std::string>>;
record::Provenance slurm_facts(const Environment& environment);
record::Provenance environment_facts(const Environment& environment);

class FactSection {
 public:
  explicit FactSection(std::string name) : name_(std::move(name)) {}

  // Empty text is no fact.
  void add(const char* key, record::Value value) {
    if (value != record::Value(std::string())) facts_.push_back({name_, key, std::move(value)});
  }
  template <typename T>
  void add(const char* key, const std::optional<T>& value) {
    if (value) add(key, record::Value(*value));
  }
  record::Provenance take() { return std::move(facts_); }

 private:
  std::string name_;
  record::Provenance facts_;
};

}  // namespace trainyard::meter
