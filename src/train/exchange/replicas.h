#pragma once

#include "comm/collective/local.h"
#include "train/exchange/exchange.h"
#include "train/session/deployment.h"
#include "train/session/device_threads.h"
#include "train/session/session.h"
#include "train/session/step_tracer.h"

namespace trainyard::train {

// Facts about what runs, on all devices together.
struct RunFacts {
  std::string backend;
  int threads = 0;
  std::int64_t parameters = 0, flops_per_step = 0, bytes_per_step = 0;
  std::int64_t plan_bytes = 0;       // of all that a step of one device has in memory
  std::int64_t device_bytes = 0;     // that a device's memory has less than before; 0: not known
  std::string collective;            // by which devices exchange: "local", "mpi", "nccl"; "": they do not
  int ranks = 1;                     // processes
  std::vector<std::string> nodes{};  // on which they run, by rank; none: all on this one
  // The limit of the plan, the bytes of the plan without it, and what a step computes again; 0 without one.
  std::int64_t plan_limit_bytes = 0, unlimited_plan_bytes = 0;
  std::int64_t recomputed_flops_per_step = 0, recomputed_bytes_per_step = 0;
  std::int64_t frozen_parameters = 0;  // of `parameters`
};

// A network on every device of a run: one session each, with a thread and cores of its own. Device 0's thread
// is the caller's. A single device is the case of one.
class Replicas {
 public:
  // Fills the inputs of one device with the batch of that number, in its thread; returns the images that
  // count. Where several micro-batches make a step, their numbers count on from step to step. A feed that
  // makes batches in their order may ignore the number.
  using Feed = std::function<std::int64_t(int device, std::int64_t batch)>;

  // options.model.batch is that of one device, options.threads the number for all of them.
  // Error (usage) when the threads cannot be shared.
  //
  // With `ranks` the devices live in processes, one in each: here is that of this rank, and all ranks call
  // the same functions together. `ranks` must outlive this. REQUIRES: as many ranks as devices, and
  // allreduce.
  //
  // With servers there is one device, a worker's, and exchange_by() says how it reaches them.
  Replicas(const SessionOptions& options, const Deployment& deployment,
           comm::collective::Collective* ranks = nullptr);
  ~Replicas();

  // Before the first step. REQUIRES: the strategy servers.
  void exchange_by(std::unique_ptr<Exchange> exchange) { exchange_ = std::move(exchange); }

  int size() const { return deployment_.devices; }
  // Devices of this process, and the number of the first of them among all. Functions that take a device
  // count from 0 among those of this process.
  int here() const { return threads_.size(); }
  int first_here() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  const Deployment& deployment() const { return deployment_; }
  RunFacts facts() const;

  Session& session(int device) { return *sessions_[static_cast<std::size_t>(device)]; }
  // Returns the session whose state is the run's; device 0's when the devices are independent. Only device
  // 0's thread may run it.
  Session& keeper() { return exchange_ == nullptr ? session(0) : exchange_->keeper(); }
  // Copies the keeper's state to every device, after it was changed from outside; with ranks, rank 0's.
  void spread_state();
  // Every rank gets rank 0's; nothing without ranks.
  void spread(std::span<std::byte> bytes);
  // Null: all devices are of this process.
  comm::collective::Collective* ranks() const { return ranks_; }

  // Notes the steps that it chose, from now on; null: nothing is noted. It must outlive the steps. `title`
  // and `first`: the name of the devices in the trace, and the number of the first.
  void trace(StepTracer* tracer, const char* title = "device", int first = 0);

  // Takes one step on all devices; returns the images they consumed, 0 when servers want no more. It
  // allocates nothing itself.
  std::int64_t step(std::int64_t step, const Feed& feed);
  // Takes one device's part of the step, in its thread. Devices that exchange must all take part.
  std::int64_t take_part(int device, std::int64_t step, const Feed& feed);
  // Runs body(device) in every device's thread at once.
  void run(const std::function<void(int device)>& body) { threads_.run(body); }

  // The results of the last step: the mean over all devices, and the first device whose loss is no number
  // (-1: none). With ranks this device is one of this process, always 0.
  float loss() const { return loss_; }
  int diverged_device() const;
  float loss_of(int device) const;  // one of this process
  // Somebody asked to stop, and all ranks heard of it in the same step; without ranks: StopRequest::asked().
  bool stop_agreed() const;

 private:
  void connect();
  // Makes the gradients of a step, of one batch or several, with the inputs that `feed` brings; returns the
  // images. The exchange hears of the last of them alone.
  std::int64_t make_gradients(int device, std::int64_t batch, const Feed& feed);
  void update(int device, std::int64_t step);
  // Nothing happens between gradients and update.
  bool runs_whole_steps() const { return exchange_ == nullptr && deployment_.micro_batches == 1; }
  float local_loss() const;
  std::int64_t agree(std::int64_t images);
  std::int64_t take_noted_part(int device, std::int64_t step, const Feed& feed);
  backend::StepContext context_of(int device, std::int64_t batch) const {
    return {device_seed(seed_, first_here() + device), batch};
  }

  const Deployment deployment_;
  const std::uint64_t seed_;
  comm::collective::Collective* const ranks_;  // null: all devices are here
  DeviceThreads threads_;
  comm::collective::LocalGroup group_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<comm::collective::Collective>> members_;  // what this process made, by device
  comm::collective::Collective* state_ranks_ = nullptr;  // of the memory in which sessions keep their state
  const char* collective_ = "local";
  std::vector<std::string> nodes_;      // of the ranks
  std::unique_ptr<Exchange> exchange_;  // null: none
  std::vector<std::int64_t> images_;    // each device consumed in the step
  std::vector<float> mean_losses_;      // of each device's micro-batches, where there are several
  float loss_ = 0;
  bool stop_agreed_ = false;
  StepTracer* tracer_ = nullptr;  // null: nobody traces
  std::int64_t step_ = 0;
  const Feed* feed_ = nullptr;
  std::function<void(int)> step_body_;
};

}  // namespace trainyard::train
