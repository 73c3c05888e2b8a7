#include "meter/facts.h"

namespace trainyard::meter {

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

}  // namespace trainyard::meter
