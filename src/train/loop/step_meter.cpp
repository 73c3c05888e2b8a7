#include "train/loop/step_meter.h"

#include <utility>

#include "base/cores.h"
#include "train/session/deployment.h"

namespace trainyard::train {

StepMeter::StepMeter(Replicas& replicas)
    : replicas_(replicas),
      watch_(replicas.session(0).executor().device().pci_address()),
      has_all_cores_(replicas.session(0).executor().on_host() && replicas.deployment().devices == 1) {}

void StepMeter::begin() {
  if (has_all_cores_) distance_.before = meter::handoff_seconds(meter::kDistanceSeconds);
  guard_.emplace(watch_.nvml());
  gpu_.before = watch_.sample();
}

StepsUse StepMeter::end(double input_wait_seconds) {
  StepsUse use;
  gpu_.after = watch_.sample();
  use.gpu = gpu_;
  use.cpu = guard_->cpu_use();
  use.cores_in_reach = cores_in_reach();
  use.input_wait_seconds = input_wait_seconds;
  use.noise = guard_->finish(replicas_.ranks() == nullptr ? 0 : add_other_ranks(use));
  // After the noise is judged: the measure itself keeps the cores busy.
  if (has_all_cores_) distance_.after = meter::handoff_seconds(meter::kDistanceSeconds);
  use.core_distance = distance_;
  return use;
}

// Returns the CPU time of those on this machine, which is no noise.
double StepMeter::add_other_ranks(StepsUse& use) const {
  RanksUse all = combine_use(*replicas_.ranks(), use.cpu, use.cores_in_reach, use.input_wait_seconds);
  use.cpu.user_seconds = all.user_seconds;
  use.cpu.system_seconds = all.system_seconds;
  use.input_wait_seconds = all.input_wait_seconds;
  use.cores_in_reach = std::move(all.cores);
  return all.beside_seconds;
}

}  // namespace trainyard::train
