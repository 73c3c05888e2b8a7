#include "train/loop/ps_worker.h"

#include "process/stop_request.h"

namespace trainyard::train {

namespace {

LeasedBatches::Batch room_for(const data::BatchMaker& maker) {
  return {.images = HostTensor(maker.input_shape(), maker.input_type()),
          .labels = HostTensor(maker.label_shape(), DType::i32)};
}

}  // namespace

LeasedBatches::LeasedBatches(const data::Dataset& dataset, const data::BatchStreamOptions& options)
    : maker_(data::batches_of(dataset)(options)),
      used_(room_for(*maker_)),
      scratch_(maker_->scratch()),
      ahead_(room_for(*maker_)),
      thread_([this] { run(); }) {}

LeasedBatches::~LeasedBatches() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const LeasedBatches::Batch& LeasedBatches::get(std::int64_t number) {
  {
    MutexLock lock(mutex_);
    while (wanted_ == number) changed_.wait(lock);
    if (ahead_.number == number) {
      std::swap(used_, ahead_);
      ahead_.number = -1;
      return used_;
    }
  }
  if (used_.number != number) make(used_, number, scratch_);
  return used_;
}

void LeasedBatches::prepare(std::int64_t number) {
  {
    const MutexLock lock(mutex_);
    if (wanted_ || ahead_.number == number) return;
    wanted_ = number;
  }
  changed_.notify_all();
}

void LeasedBatches::make(Batch& batch, std::int64_t number, data::BatchMaker::Scratch& scratch) const {
  batch.valid = maker_->make(number, batch.images.data(), batch.labels.as<std::int32_t>().data(), scratch);
  batch.number = number;
}

void LeasedBatches::run() {
  data::BatchMaker::Scratch scratch = maker_->scratch();
  MutexLock lock(mutex_);
  while (true) {
    while (!ending_ && !wanted_) changed_.wait(lock);
    if (ending_) return;
    const std::int64_t number = *wanted_;
    Batch batch = std::exchange(ahead_, {});
    lock.unlock();
    try {
      make(batch, number, scratch);
    } catch (...) {
      batch.number = -1;  // get() will make it, and meet the error where it can be reported
    }
    lock.lock();
    ahead_ = std::move(batch);
    wanted_.reset();
    changed_.notify_all();
  }
}

ps::ClientCounts run_ps_worker(Replicas& replicas, const data::Dataset& dataset,
                               const data::BatchStreamOptions& batches, const ServersOptions& servers,
                               StepTracer* tracer, const comm::transport::JobKey& key,
                               const ps::Client::Log& log) {
  const process::StopRequest guard;
  LeasedBatches leased(dataset, batches);
  Session& session = replicas.session(0);
  auto made = std::make_unique<ServersExchange>(session, servers, key, log,
                                                [&](std::int64_t batch) { leased.prepare(batch); });
  const ServersExchange& exchange = *made;
  replicas.exchange_by(std::move(made));
  if (tracer != nullptr) replicas.trace(tracer, "worker", servers.worker);
  const Replicas::Feed feed = [&](int, std::int64_t number) {
    const LeasedBatches::Batch& batch = leased.get(number);
    if (tracer != nullptr) tracer->notes(0).came = now_seconds();
    if (const auto next = exchange.next_batch()) leased.prepare(*next);
    session.executor().write(session.input_names().inputs, batch.images);
    session.executor().write(session.input_names().labels, batch.labels);
    return batch.valid;
  };
  for (std::int64_t step = 0; !process::StopRequest::asked(); ++step)
    if (replicas.step(step, feed) == 0) break;
  const ps::ClientCounts counts = exchange.counts();
  replicas.exchange_by(nullptr);  // leaves; it uses the batches of this function
  return counts;
}

}  // namespace trainyard::train
