#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective/local.h"
#include "train/deployment.h"
#include "train/device_threads.h"
#include "train/exchange.h"
#include "train/session.h"

namespace trainyard::train {

// What runs, on all devices together.
struct RunFacts {
  std::string backend;
  int threads = 0;
  std::int64_t parameters = 0, flops_per_step = 0;
};

// A network on every device of a run: one session each, with a thread and cores of its own. Device 0's thread
// is the caller's. A single device is the case of one.
class Replicas {
 public:
  // Fills the inputs of one device, in its thread; returns the images that count.
  using Feed = std::function<std::int64_t(int device)>;

  // options.model.batch is that of one device, options.threads the number for all of them.
  // Error (usage) when the threads cannot be shared.
  Replicas(const SessionOptions& options, const Deployment& deployment);

  int size() const { return threads_.size(); }
  const Deployment& deployment() const { return deployment_; }
  RunFacts facts() const;

  Session& session(int device) { return *sessions_[static_cast<std::size_t>(device)]; }
  // Whose state is the run's; device 0's when the devices are independent. Only device 0's thread may run it.
  Session& keeper() { return exchange_ == nullptr ? session(0) : exchange_->keeper(); }
  // After the keeper's state was changed from outside: every device gets it.
  void spread_state();

  // One step on all devices; returns the images they consumed. Allocates nothing itself.
  std::int64_t step(std::int64_t step, const Feed& feed);
  // One device's part of it, in its thread. Devices that exchange must all take part.
  std::int64_t take_part(int device, std::int64_t step, const Feed& feed);
  // Runs body(device) in every device's thread at once.
  void run(const std::function<void(int device)>& body) { threads_.run(body); }

  // Of the last step: the mean over all devices, and the first device whose loss is no number (-1: none).
  float loss() const;
  int diverged_device() const;

 private:
  const Deployment deployment_;
  const std::uint64_t seed_;
  DeviceThreads threads_;
  comm::collective::LocalGroup group_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::unique_ptr<Exchange> exchange_;  // null: none
  std::vector<std::int64_t> images_;    // each device consumed in the step
  std::int64_t step_ = 0;
  const Feed* feed_ = nullptr;
  std::function<void(int)> step_body_;
};

}  // namespace trainyard::train
