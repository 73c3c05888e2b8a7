#include "train/loop/step_meter.h"

#include "base/cores.h"

namespace trainyard::train {

StepMeter::StepMeter(Replicas& replicas)
    : watch_(replicas.session(0).executor().device().pci_address()),
      has_all_cores_(replicas.session(0).executor().on_host() && replicas.deployment().devices == 1) {}

void StepMeter::begin() {
  if (has_all_cores_) distance_.before = meter::handoff_seconds(meter::kDistanceSeconds);
  guard_.emplace(watch_.nvml());
  gpu_.before = watch_.sample();
}

void StepMeter::end(StepsUse& use, const Others& others) {
  gpu_.after = watch_.sample();
  use.gpu = gpu_;
  use.cpu = guard_->cpu_use();
  use.cores_in_reach = cores_in_reach();
  use.noise = guard_->finish(others ? others(use) : 0);
  // After the noise is judged: the measure itself keeps the cores busy.
  if (has_all_cores_) distance_.after = meter::handoff_seconds(meter::kDistanceSeconds);
  use.core_distance = distance_;
}

}  // namespace trainyard::train
