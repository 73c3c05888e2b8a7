#include "train/ps_worker.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "process/stop_request.h"
#include "ps/server/coordinator.h"

namespace trainyard::train {

namespace {

LeasedBatches::Batch room_for(const data::BatchMaker& maker) {
  return {.images = HostTensor(maker.input_shape(), maker.input_type()),
          .labels = HostTensor({maker.options().batch}, DType::i32)};
}

}  // namespace

LeasedBatches::LeasedBatches(const data::Dataset& dataset, const data::BatchStreamOptions& options)
    : maker_(data::batches_of(dataset)(options)),
      used_(room_for(*maker_)),
      ahead_(room_for(*maker_)),
      scratch_(maker_->scratch()),
      scratch_ahead_(maker_->scratch()),
      thread_([this] { run(); }) {}

LeasedBatches::~LeasedBatches() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const LeasedBatches::Batch& LeasedBatches::get(std::int64_t number) {
  std::unique_lock lock(mutex_);
  if (wanted_ == number) changed_.wait(lock, [this] { return !wanted_; });
  if (ahead_.number == number && !making_) {
    std::swap(used_, ahead_);
    ahead_.number = -1;
    return used_;
  }
  lock.unlock();
  if (used_.number != number) make(used_, number);
  return used_;
}

void LeasedBatches::prepare(std::int64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ || ahead_.number == number) return;
    wanted_ = number;
  }
  changed_.notify_all();
}

void LeasedBatches::make(Batch& batch, std::int64_t number) {
  data::BatchMaker::Scratch& scratch = &batch == &used_ ? scratch_ : scratch_ahead_;
  batch.valid = maker_->make(number, batch.images.data(), batch.labels.as<std::int32_t>().data(), scratch);
  batch.number = number;
}

void LeasedBatches::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || wanted_; });
    if (ending_) return;
    const std::int64_t number = *wanted_;
    making_ = true;
    lock.unlock();
    try {
      make(ahead_, number);
    } catch (...) {
      ahead_.number = -1;  // get() will make it, and meet the error where it can be reported
    }
    lock.lock();
    making_ = false;
    wanted_.reset();
    changed_.notify_all();
  }
}

ServerUpdate::ServerUpdate(const ops::UpdateAttrs& attrs, const std::vector<ps::Key>& keys, int server,
                           std::int64_t parameters)
    : attrs_(attrs), update_(attrs) {
  for (const ps::Key& key : keys)
    if (key.server == server)
      parameters_ += std::clamp<std::int64_t>(parameters - key.first, 0, key.elements);
}

void ServerUpdate::apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
                         int summed) {
  const auto elements = gradient.size();
  backend::FlatUpdate::Arrays arrays{.parameters = from.parameters.data(), .gradient = gradient.data()};
  arrays.new_parameters = to.parameters.data();
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots()); ++slot) {
    arrays.slots[slot] = from.slots.data() + slot * elements;
    arrays.new_slots[slot] = to.slots.data() + slot * elements;
  }
  update_.apply(arrays, 0, parameters_, step);
  const auto first = static_cast<std::size_t>(parameters_);
  for (std::size_t i = first; i < elements; ++i) to.parameters[i] = gradient[i] / static_cast<float>(summed);
  // The optimizer's values for statistics mean nothing, but must be the same for every reader.
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots()); ++slot)
    std::fill_n(to.slots.data() + slot * elements + first, elements - first, 0.0f);
}

float ServerUpdate::rate(std::int64_t step) const { return static_cast<float>(attrs_.schedule.at(step)); }

namespace {

struct CpuTime {
  double user = 0, system = 0;
};

CpuTime cpu_time() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const ::timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

class Worker {
 public:
  Worker(Session& session, const data::Dataset& dataset, const data::BatchStreamOptions& batches,
         const PsWorkerOptions& options, const comm::transport::JobKey& key, const ps::Client::Log& log)
      : session_(session),
        options_(options),
        numbers_(session, options.layout),
        batches_(dataset, batches),
        seed_(batches.seed) {
    if (options.tracer != nullptr)
      options.tracer->add_device(fmt::format("worker {} ({})", options.worker, session.backend().name()),
                                 session.executor());
    if (numbers_.fingerprint() != options.fingerprint)
      fail(
          ErrorKind::config,
          "worker {}: its {} layout of parameters is not that of the job; {} canonical serves unlike workers",
          options.worker, name(options.layout), Setting{"wire_layout"});
    client_ = std::make_unique<ps::Client>(
        ps::ClientOptions{
            .worker = options.worker,
            .servers = ps::find_servers(options.coordinator, options.worker, key, options.give_up_seconds),
            .bf16 = options.bf16,
            .give_up_seconds = options.give_up_seconds,
            .stop = process::StopRequest::asked},
        ps::make_keys(numbers_.elements(), options.servers), &key, numbers_.weights(), numbers_.gradients(),
        log);
  }

  ps::ClientCounts run() {
    for (std::int64_t number = 0; !process::StopRequest::asked(); ++number) {
      const double began = now_seconds();
      const ps::Client::Weights weights = client_->wait_for_weights();
      if (weights.done) break;
      if (pushed_from_ == 0) cpu_ = cpu_time();
      note_exchange(weights);
      numbers_.take_weights();
      if (options_.tracer == nullptr)
        step(weights.batch);
      else
        noted_step(weights.batch, number, began);
    }
    return client_->counts();
  }

 private:
  // Notes a step from the end of the step before it to its own end: it waits for weights first.
  void noted_step(std::int64_t batch, std::int64_t number, double began) {
    StepTracer& tracer = *options_.tracer;
    const StepTracer::Kind kind = tracer.kind(number);
    if (kind != StepTracer::Kind::traced) {
      step(batch);
      if (kind == StepTracer::Kind::plain) tracer.note_plain(0, number, began, now_seconds());
      return;
    }
    StepTracer::Notes& notes = tracer.begin(0, number);
    notes.weights_came = std::exchange(notes.began, began);  // it begins now
    engine::Executor& executor = session_.executor();
    if (executor.on_host()) executor.watch(&notes.watch);
    step(batch);
    if (executor.on_host()) executor.watch(nullptr);
    notes.came = came_;
    notes.fed = fed_;
    notes.ended = now_seconds();
    tracer.end(0);
  }

  void step(std::int64_t batch) {
    const double began = now_seconds();
    const LeasedBatches::Batch& input = batches_.get(batch);
    came_ = now_seconds();
    if (const auto next = client_->next_batch()) batches_.prepare(*next);
    engine::Executor& executor = session_.executor();
    executor.write(session_.input_names().inputs, input.images);
    executor.write(session_.input_names().labels, input.labels);
    const double fed = fed_ = now_seconds();
    note_.input = static_cast<float>(fed - began);
    std::int64_t left = numbers_.elements();
    bool first = true;
    double backward_began = fed;
    // Random numbers depend on the batch, not on the worker that makes its gradient.
    numbers_.run_gradients({seed_, batch}, [&](std::int64_t at, std::int64_t elements) {
      if (std::exchange(first, false)) {
        backward_began = executor.on_host() ? executor.backward_began() : fed;
        if (const auto next = client_->next_batch()) batches_.prepare(*next);
      }
      left -= elements;
      if (left == 0) note_step(fed, backward_began);
      client_->ready(at, elements);
    });
    pushed_from_ = now_seconds();
  }

  // The note leaves before the last of the gradient, because the gradient then counts together with its note.
  void note_step(double fed, double backward_began) {
    note_.loss = session_.loss();
    if (!std::isfinite(note_.loss))
      fail(ErrorKind::device, "worker {}: loss became {}", options_.worker, note_.loss > 0 ? "inf" : "nan");
    note_.forward = static_cast<float>(backward_began - fed);
    note_.backward = static_cast<float>(now_seconds() - backward_began);
    const CpuTime before = std::exchange(cpu_, cpu_time());
    note_.user = static_cast<float>(cpu_.user - before.user);
    note_.system = static_cast<float>(cpu_.system - before.system);
    client_->note(note_.to_bytes());
  }

  void note_exchange(const ps::Client::Weights& weights) {
    if (pushed_from_ == 0) return;
    const double pushed = std::max(weights.pushed, pushed_from_);
    note_.push = static_cast<float>(pushed - pushed_from_);
    note_.apply = static_cast<float>(std::max(weights.first_came - pushed, 0.0));
    note_.pull = static_cast<float>(std::max(weights.came - std::max(weights.first_came, pushed), 0.0));
  }

  Session& session_;
  PsWorkerOptions options_;
  SharedNumbers numbers_;
  LeasedBatches batches_;
  std::uint64_t seed_;
  StepNote note_;
  CpuTime cpu_;
  double pushed_from_ = 0;     // when the last gradient was complete
  double came_ = 0, fed_ = 0;  // when the batch of the last step did, and when it was among the inputs
  std::unique_ptr<ps::Client> client_;
};

}  // namespace

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

ps::ClientCounts run_ps_worker(Session& session, const data::Dataset& dataset,
                               const data::BatchStreamOptions& batches, const PsWorkerOptions& options,
                               const comm::transport::JobKey& key, const ps::Client::Log& log) {
  const process::StopRequest guard;
  return Worker(session, dataset, batches, options, key, log).run();
}

}  // namespace trainyard::train
