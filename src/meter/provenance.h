#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meter/nvml.h"
#include "meter/system_files.h"
#include "record/run_record.h"

namespace trainyard::meter {

// What this program was made of. Its source is written by cmake/build_info.cmake.
struct BuildInfo {
  const char* version;
  const char* compiler;  // name and version
  const char* flags;     // those of optimisation and code, without warnings
  const char* build_type;
  const char* commit;           // git hash; empty outside of a repository
  const char* changes;          // hash of what was changed and not committed; empty: nothing
  std::int64_t commit_seconds;  // when the commit was made, since 1970; 0: not known
};

const BuildInfo& build_info();

// Tells this program from every other one that was built: "5a84b2f3e1c0-7f3a" by commit, compiler and flags,
// "5a84b2f3e1c0+9c2d41aa-7f3a" with changes that are not committed, "v0.3.0-7f3a" outside of a repository.
std::string build_id();

// One file a section: facts_<section>.cpp. What cannot be found out is left out.

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

// The machine, the software and the job that this process runs in, as the program itself finds them: sections
// cpu, memory, system, build, libraries, gpu and gpuN, slurm, environment (docs/formats/run-record.md). Of
// the environment only variables on a list, of paths none. Never fails: what cannot be read is absent.
record::Provenance find_provenance();

// Of these the sections that describe the machine, for a program that says nothing of where it ran: cpu,
// memory, system and GPUs.
record::Provenance find_machine();

}  // namespace trainyard::meter
