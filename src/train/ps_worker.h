#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "backend/flat_update.h"
#include "comm/transport/handshake.h"
#include "data/view/batch_maker.h"
#include "ps/client/client.h"
#include "ps/server/shard.h"
#include "tensor/tensor.h"
#include "train/shared_numbers.h"
#include "train/step_tracer.h"

namespace trainyard::train {

// Batches by their number, as a worker is told which are its own: one is made ahead, by a thread, while the
// other is used.
class LeasedBatches {
 public:
  LeasedBatches(const data::Dataset& dataset, const data::BatchStreamOptions& options);
  ~LeasedBatches();
  LeasedBatches(const LeasedBatches&) = delete;
  LeasedBatches& operator=(const LeasedBatches&) = delete;

  struct Batch {
    std::int64_t number = -1, valid = 0;
    HostTensor images, labels;
  };
  // Makes the batch now unless it was made ahead. Valid until the next call.
  const Batch& get(std::int64_t number);
  // Announces the batch that will probably be requested next.
  void prepare(std::int64_t number);

 private:
  void make(Batch& batch, std::int64_t number);
  void run();

  const std::shared_ptr<const data::BatchMaker> maker_;
  Batch used_, ahead_;
  data::BatchMaker::Scratch scratch_, scratch_ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::int64_t> wanted_;  // to be made ahead, or being made
  bool making_ = false, ending_ = false;
  std::thread thread_;
};

// How a server moves its shard: parameters by the optimizer, as every other run does, bit for bit; running
// statistics, which lie behind the parameters, become what the workers say.
class ServerUpdate final : public ps::Updater {
 public:
  // `parameters`: how many of all elements are parameters; the rest are statistics.
  ServerUpdate(const ops::UpdateAttrs& attrs, const std::vector<ps::Key>& keys, int server,
               std::int64_t parameters);

  void apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
             int summed) override;
  float rate(std::int64_t step) const override;
  int slots() const override { return update_.slots(); }

 private:
  ops::UpdateAttrs attrs_;
  backend::FlatUpdate update_;
  std::int64_t parameters_ = 0;  // of the shard
};

// The measurements of one step of a worker. They travel with its gradient to the process that makes the
// record. Times are in seconds.
struct StepNote {
  float loss = 0;
  float input = 0, forward = 0, backward = 0;  // of this step
  // Times of the step before: until its gradient had left, until the server answered (it applied, and perhaps
  // waited for others), until all weights were here.
  float push = 0, apply = 0, pull = 0;
  float user = 0, system = 0;  // CPU time of the worker since its step before

  static constexpr std::size_t kNumbers = 9;
  std::array<std::byte, kNumbers * sizeof(float)> to_bytes() const;
  // Nothing when they are something else.
  static std::optional<StepNote> from_bytes(std::span<const std::byte> bytes);
};

struct PsWorkerOptions {
  int worker = 0;
  int servers = 1;
  comm::transport::Address coordinator;
  WireLayout layout = WireLayout::canonical;
  std::uint32_t fingerprint = 0;  // of the coordinator's numbers
  bool bf16 = false;
  double give_up_seconds = 30;
  StepTracer* tracer = nullptr;  // null: nobody traces; a step is one gradient of this worker
};

// Makes gradients of the batches that it is told until nothing is left to do, or somebody asked it to stop.
// Error (config) when its numbers are not those of the coordinator; Error (peer) when servers are gone or
// refuse it; Error (device) when its loss is not a number any more. REQUIRES: a session that keeps gradients.
ps::ClientCounts run_ps_worker(Session& session, const data::Dataset& dataset,
                               const data::BatchStreamOptions& batches, const PsWorkerOptions& options,
                               const comm::transport::JobKey& key, const ps::Client::Log& log);

}  // namespace trainyard::train
