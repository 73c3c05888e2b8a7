#pragma once

#include "comm/transport/handshake.h"
#include "ps/client/client.h"
#include "train/exchange/exchange.h"
#include "train/exchange/shared_numbers.h"

namespace trainyard::train {

// StepNote holds the measurements of one step of a worker. They travel with its gradient to the process that
// makes the record. Times are in seconds.
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

struct ServersOptions {
  int worker = 0;
  int servers = 1;
  comm::transport::Address coordinator;
  WireLayout layout = WireLayout::canonical;
  std::uint32_t fingerprint = 0;  // of the coordinator's numbers
  bool bf16 = false;
  double give_up_seconds = 30;
};

// This is a worker's exchange with parameter servers: weights come before a step, parts of the gradient leave
// while others are computed, and the servers update. Each gradient carries a StepNote. One device, one
// thread.
class ServersExchange final : public Exchange {
 public:
  // Hears, between kernels, of the batch that will probably be the next.
  using Expect = std::function<void(std::int64_t batch)>;

  // The session must outlive it and keep gradients. Error (config) when its numbers are not those of the
  // coordinator, Error (peer) when there are no servers.
  ServersExchange(Session& session, const ServersOptions& options, const comm::transport::JobKey& key,
                  const ps::Client::Log& log, Expect expect);

  // Waits for weights. Error (peer) when servers are gone or refuse this worker.
  std::optional<std::int64_t> fetch(int device, std::int64_t step) override;
  // Error (device) when the loss is not a number any more; the gradient then never becomes whole.
  void gradients(int device, const backend::StepContext& context) override;
  void update(int device, const backend::StepContext& context) override;
  Session& keeper() override { return session_; }

  // Returns the batch after the present one, if the servers said so already.
  std::optional<std::int64_t> next_batch() const { return client_->next_batch(); }
  ps::ClientCounts counts() const { return client_->counts(); }

 private:
  struct CpuTime {
    double user = 0, system = 0;
  };
  static CpuTime cpu_time();
  void note_step(double fed, double backward_began);
  void note_exchange(const ps::Client::Weights& weights);

  Session& session_;
  const int worker_;
  SharedNumbers numbers_;
  const Expect expect_;
  StepNote note_;
  CpuTime cpu_;
  double began_ = 0;        // when the weights of the step had come
  double pushed_from_ = 0;  // when the last gradient was complete
  std::unique_ptr<ps::Client> client_;
};

}  // namespace trainyard::train
