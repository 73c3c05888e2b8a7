#pragma once

#include <memory>
#include <vector>

#include "comm/collective/local.h"
#include "train/session.h"

namespace trainyard::train {

// Exchanges the gradients of a step between the devices of a data-parallel run. All devices' threads call
// each function at once. exchange.cpp has one class for each strategy.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Before the gradients: gets the parameters from where they live.
  virtual void fetch(int device) = 0;
  // During them: so many elements of the gradients' region, from `first` on, are final and nobody reads them
  // before the update. Devices say so in the same order; all elements once, or none.
  virtual void ready(int /*device*/, std::size_t /*first*/, std::size_t /*elements*/) {}
  // After them: the mean of all devices' gradients updates the parameters where they live.
  virtual void update(int device, const backend::StepContext& context) = 0;
  // The session whose state is the run's: saved, loaded, evaluated. Between steps only.
  virtual Session& keeper() = 0;
};

struct Devices {
  std::vector<Session*> sessions;  // equal plans, equal states
  comm::collective::LocalGroup& group;
};

std::unique_ptr<Exchange> make_towers_on_device(const Devices& devices);
// Made by device 0's thread, which also does the host's part of every step.
std::unique_ptr<Exchange> make_towers_on_host(const Devices& devices);
// `ranks`: what each session of this process takes part in; in which memory is theirs to know.
std::unique_ptr<Exchange> make_allreduce(const std::vector<Session*>& sessions,
                                         const std::vector<comm::collective::Collective*>& ranks);

}  // namespace trainyard::train
