#pragma once

#include "meter/nvml.h"
#include "meter/system_files.h"
#include "record/run_record.h"

namespace trainyard::meter {

// BuildInfo describes how this program was built. cmake/build_info.cmake writes its source.
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

// Returns a name that tells this build from every other: "5a84b2f3e1c0-7f3a" by commit, compiler and flags,
// "5a84b2f3e1c0+9c2d41aa-7f3a" with uncommitted changes, "v0.3.0-7f3a" outside of a repository.
std::string build_id();

// Each function below returns one section, without the facts that it cannot find. facts_machine.cpp and
// facts_software.cpp define them.

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

// Describes the machine, the software and the job that this process runs in, as the program itself finds
// them: sections cpu, memory, system, build, libraries, gpu and gpuN, slurm, environment
// (docs/formats/run-record.md). It takes only listed variables from the environment, and no paths. It never
// fails: facts that cannot be read are absent.
record::Provenance find_provenance();

// Returns only the sections that describe the machine (cpu, memory, system and GPUs), for a program that does
// not report where it ran.
record::Provenance find_machine();

}  // namespace trainyard::meter
