#include "train/exchange/servers.h"

#include <sys/resource.h>

#include "process/stop_request.h"
#include "ps/server/coordinator.h"

namespace trainyard::train {

std::array<std::byte, StepNote::kNumbers * sizeof(float)> StepNote::to_bytes() const {
  const std::array<float, kNumbers> numbers{loss, input, forward, backward, push, apply, pull, user, system};
  std::array<std::byte, sizeof numbers> bytes;
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::optional<StepNote> StepNote::from_bytes(std::span<const std::byte> bytes) {
  std::array<float, kNumbers> numbers;
  if (bytes.size() != sizeof numbers) return std::nullopt;
  std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
  const auto& [loss, input, forward, backward, push, apply, pull, user, system] = numbers;
  return StepNote{loss, input, forward, backward, push, apply, pull, user, system};
}

ServersExchange::CpuTime ServersExchange::cpu_time() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const ::timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

ServersExchange::ServersExchange(Session& session, const ServersOptions& options,
                                 const comm::transport::JobKey& key, const ps::Client::Log& log,
                                 Expect expect)
    : session_(session),
      worker_(options.worker),
      numbers_(session, options.layout),
      expect_(std::move(expect)) {
  if (numbers_.fingerprint() != options.fingerprint)
    fail(ErrorKind::config,
         "worker {}: its {} layout of parameters is not that of the job; {} canonical serves unlike workers",
         worker_, name(options.layout), Setting{"wire_layout"});
  client_ = std::make_unique<ps::Client>(
      ps::ClientOptions{
          .worker = worker_,
          .servers = ps::find_servers(options.coordinator, worker_, key, options.give_up_seconds),
          .bf16 = options.bf16,
          .give_up_seconds = options.give_up_seconds,
          .stop = process::StopRequest::asked},
      ps::make_keys(numbers_.elements(), options.servers), &key, numbers_.weights(), numbers_.gradients(),
      log);
}

std::optional<std::int64_t> ServersExchange::fetch(int, std::int64_t) {
  const ps::Client::Weights weights = client_->wait_for_weights();
  if (weights.done) return std::nullopt;
  if (pushed_from_ == 0) cpu_ = cpu_time();
  note_exchange(weights);
  numbers_.take_weights();
  began_ = now_seconds();
  return weights.batch;
}

void ServersExchange::gradients(int, const backend::StepContext& context) {
  engine::Executor& executor = session_.executor();
  const double fed = now_seconds();
  note_.input = static_cast<float>(fed - began_);
  std::int64_t left = numbers_.elements();
  bool first = true;
  double backward_began = fed;
  // Random numbers depend on the batch, not on the worker that makes its gradient.
  numbers_.run_gradients(context, [&](std::int64_t at, std::int64_t elements) {
    if (std::exchange(first, false)) {
      backward_began = executor.on_host() ? executor.backward_began() : fed;
      if (const auto next = client_->next_batch()) expect_(*next);
    }
    left -= elements;
    if (left == 0) note_step(fed, backward_began);
    client_->ready(at, elements);
  });
}

// The servers update; the last of the gradient has left for them.
void ServersExchange::update(int, const backend::StepContext&) { pushed_from_ = now_seconds(); }

// The note leaves before the last of the gradient, because the gradient then counts together with its note.
void ServersExchange::note_step(double fed, double backward_began) {
  note_.loss = session_.loss();
  if (!std::isfinite(note_.loss))
    fail(ErrorKind::device, "worker {}: loss became {}", worker_, note_.loss > 0 ? "inf" : "nan");
  note_.forward = static_cast<float>(backward_began - fed);
  note_.backward = static_cast<float>(now_seconds() - backward_began);
  const CpuTime before = std::exchange(cpu_, cpu_time());
  note_.user = static_cast<float>(cpu_.user - before.user);
  note_.system = static_cast<float>(cpu_.system - before.system);
  client_->note(note_.to_bytes());
}

void ServersExchange::note_exchange(const ps::Client::Weights& weights) {
  if (pushed_from_ == 0) return;
  const double pushed = std::max(weights.pushed, pushed_from_);
  note_.push = static_cast<float>(pushed - pushed_from_);
  note_.apply = static_cast<float>(std::max(weights.first_came - pushed, 0.0));
  note_.pull = static_cast<float>(std::max(weights.came - std::max(weights.first_came, pushed), 0.0));
}

}  // namespace trainyard::train
