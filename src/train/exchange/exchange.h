#pragma once

#include "comm/collective/local.h"
#include "train/session/session.h"

namespace trainyard::train {

// An exchange brings gradients and parameters of devices together that train one network. The thread of each
// device calls fetch, gradients and update in this order, once a step; devices of one process call each at
// the same time.
//
// A strategy is one implementation: towers.cpp (parameters on device 0, or in host memory), all_reduce.cpp
// (parameters on every device; threads, MPI or NCCL), servers.h (parameters on servers).
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Before the batch: gets the parameters from where they live. Returns the number of the batch of which the
  // device then makes its gradient: the step's own, unless servers say another. Nothing: they want no more.
  virtual std::optional<std::int64_t> fetch(int device, std::int64_t step) = 0;
  // Computes the gradients of the batch that the inputs hold. An exchange that sends parts of them while
  // others are still computed does so here.
  virtual void gradients(int device, const backend::StepContext& context) = 0;
  // The mean of all devices' gradients updates the parameters where they live.
  virtual void update(int device, const backend::StepContext& context) = 0;
  // Returns the session whose state is the run's: saved, loaded, evaluated. Between steps only.
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
