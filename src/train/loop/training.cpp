#include "train/loop/training.h"

#include "process/stop_request.h"

namespace trainyard::train {
namespace {

// Steps on the devices of this process or rank: by the host, or on a GPU that does them by itself.
class ReplicaStepper final : public Stepper {
 public:
  ReplicaStepper(Replicas& replicas, const data::Dataset& dataset, const data::MakeBatches& batches,
                 const TrainOptions& options)
      : replicas_(replicas),
        session_(replicas.session(0)),
        dataset_(dataset),
        batches_(batches),
        options_(options) {}

  Session& keeper() override { return replicas_.keeper(); }

  std::int64_t left(const engine::CheckpointHeader& at) const override { return options_.steps - at.step; }

  void resume(engine::CheckpointHeader& at) override {
    replicas_.spread_state();
    std::pair<std::int64_t, float> begin{at.step, at.first_loss};
    replicas_.spread(std::as_writable_bytes(std::span(&begin, 1)));
    at.step = step_ = begin.first;
    at.first_loss = begin.second;
  }

  void prepare(std::int64_t first_step, Hear hear) override {
    step_ = first_step;
    hear_ = std::move(hear);
    // The very first steps are left out, because they are slower.
    constexpr std::int64_t kSettled = 10;
    if (options_.tracer != nullptr) options_.tracer->choose(step_ + kSettled, step_, options_.steps);
    start_inputs();
    meter_.emplace(replicas_);
    meter_->begin();
    if (steps_by_host(replicas_))
      taker_ = std::make_unique<HostSteps>(
          replicas_, [this](int device, std::int64_t) { return inputs_->fill(device, options_.tracer); },
          options_.tracer);
    else
      taker_ = std::make_unique<DeviceSteps>(session_, device_seed(session_.options().seed, 0), feed_.get(),
                                             options_.tracer);
    first_began_ = now_seconds();
  }

  Reached advance(std::int64_t due) override {
    using State = Reached::State;
    if (replicas_.stop_agreed()) return {step_, seconds(), State::stopped};
    StepsDone& done = taker_->take(step_, due);
    const double took = seconds();
    const auto bad = std::find_if(done.losses.begin(), done.losses.end(),
                                  [](double loss) { return !std::isfinite(loss); });
    const bool diverged = bad != done.losses.end();
    const double bad_loss = diverged ? *bad : 0;
    if (diverged) done.losses.erase(bad, done.losses.end());
    hear_(done, took);
    step_ += static_cast<std::int64_t>(done.losses.size());
    if (diverged) fail_diverged(bad_loss);
    return {step_, took, step_ == options_.steps ? State::done : State::going_on};
  }

  std::vector<std::pair<std::string, std::string>> place() const override {
    if (!options_.input_place) return {};
    return {{kInputPlace, options_.input_place(step_)}};
  }

  void stop(TrainResult& result) override {
    result.feed = inputs_ == nullptr && feed_ == nullptr ? Feed::device : Feed::host;
    // A device that feeds itself gave its waits with its steps.
    static_cast<StepsUse&>(result) =
        meter_->end(inputs_ == nullptr ? result.input_wait_seconds : inputs_->longest_wait_seconds());
  }

  void finish(TrainResult& result) override {
    bool interrupted = result.interrupted || replicas_.stop_agreed();
    replicas_.spread(std::as_writable_bytes(std::span(&interrupted, 1)));
    result.interrupted = interrupted;
    result.facts = replicas_.facts();
  }

 private:
  double seconds() const { return now_seconds() - first_began_; }

  // Together the devices take the batches that one device would take; each prepares its own on its cores.
  void start_inputs() {
    if (steps_by_host(replicas_))
      inputs_ = std::make_unique<HostBatches>(replicas_,
                                              [this](int device) { return batches_(stream_of(device)); });
    else if (options_.feed_batches)
      feed_ = options_.feed_batches(session_, host_options(session_, stream_of(0)));
    else if (options_.batches)
      feed_ = feed_from_host(session_, batches_(host_options(session_, stream_of(0))));
    else
      feed_ = feed_device(session_, dataset_, stream_of(0), options_.feed);
  }

  data::BatchStreamOptions stream_of(int device) {
    const SessionOptions& asked = replicas_.session(device).options();
    return {.preprocess = options_.preprocess,
            .batch = asked.model.batch,
            .seed = asked.seed,
            .first_step = step_ * replicas_.deployment().micro_batches,
            .worker = replicas_.first_here() + device,
            .workers = replicas_.size(),
            .made = note_batches_of(device)};
  }

  std::function<void(std::int64_t, double, double)> note_batches_of(int device) const {
    StepTracer* tracer = options_.tracer;
    if (tracer == nullptr) return nullptr;
    return [tracer, device, count = replicas_.deployment().micro_batches](std::int64_t batch, double began,
                                                                          double ended) {
      tracer->note_batch(device, batch / count, began, ended);
    };
  }

  [[noreturn]] void fail_diverged(double loss) {
    std::string whose;
    if (const int device = replicas_.diverged_device(); replicas_.here() > 1 && device >= 0) {
      loss = static_cast<double>(replicas_.loss_of(device));
      whose = fmt::format(" of device {}", device);
    }
    fail(ErrorKind::device, "loss{} became {} at step {}", whose, std::isnan(loss) ? "nan" : "inf", step_);
  }

  Replicas& replicas_;
  Session& session_;  // device 0's
  const data::Dataset& dataset_;
  const data::MakeBatches& batches_;
  const TrainOptions& options_;
  std::int64_t step_ = 0;  // how many are done
  Hear hear_;
  std::unique_ptr<HostBatches> inputs_;  // on the host
  std::unique_ptr<HostFeed> feed_;       // of another device; null: it feeds itself
  std::optional<StepMeter> meter_;
  std::unique_ptr<StepTaker> taker_;
  double first_began_ = 0;  // when the first step did
};

}  // namespace

TrainResult run_training(Replicas& replicas, const data::Dataset& dataset, const TrainOptions& options,
                         const RunFolder* folder) {
  const process::StopRequest guard;
  const data::MakeBatches batches = options.batches ? options.batches : data::batches_of(dataset);
  ReplicaStepper stepper(replicas, dataset, batches, options);
  const engine::CheckpointHeader identity =
      run_identity(stepper.keeper().options(), dataset, options.preprocess, replicas.size());
  return run_loop(stepper, identity, batches, options, folder);
}

std::vector<TrainResult> run_independent(const SessionOptions& options, const Deployment& deployment,
                                         const data::Dataset& dataset, const TrainOptions& train,
                                         const std::vector<std::unique_ptr<RunFolder>>& folders) {
  const process::StopRequest guard;
  const std::vector<std::vector<int>> cores = share_cores(options.threads, deployment.devices);
  std::vector<TrainResult> results(cores.size());
  DeviceThreads threads(deployment.devices);
  threads.run([&](int device) {
    const auto index = static_cast<std::size_t>(device);
    SessionOptions own = options;
    own.cores = cores[index];
    own.seed = device_seed(options.seed, device);
    TrainOptions loop = train;
    if (device > 0) loop.progress = nullptr;
    const RunFolder* folder = folders.empty() ? nullptr : folders[index].get();
    loop.resume = train.resume && folder != nullptr && engine::latest_checkpoint(folder->path());
    try {
      Replicas replicas(own, {.micro_batches = deployment.micro_batches});
      results[index] = run_training(replicas, dataset, loop, folder);
    } catch (...) {
      process::StopRequest::ask();
      throw;
    }
  });
  return results;
}

std::vector<double> combine_steps(const std::vector<std::vector<double>>& step_seconds) {
  std::size_t steps = step_seconds.front().size();
  for (const auto& seconds : step_seconds) steps = std::min(steps, seconds.size());
  std::vector<double> combined(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    double rate = 0;
    for (const auto& seconds : step_seconds) rate += 1 / seconds[i];
    combined[i] = static_cast<double>(step_seconds.size()) / rate;
  }
  return combined;
}

TrainResult combine(const std::vector<TrainResult>& devices) {
  TrainResult whole = devices.front();
  std::vector<std::vector<double>> step_seconds;
  const auto count = static_cast<double>(devices.size());
  double first_loss = 0, final_loss = 0, accuracy = 0, test_loss = 0;
  whole.images_consumed = 0;
  if (devices.size() > 1) {
    whole.loss_curve = {};
    whole.accuracy_curve.clear();
  }
  whole.facts.threads *= static_cast<int>(devices.size());
  whole.facts.flops_per_step *= static_cast<std::int64_t>(devices.size());
  whole.facts.bytes_per_step *= static_cast<std::int64_t>(devices.size());
  whole.facts.recomputed_flops_per_step *= static_cast<std::int64_t>(devices.size());
  whole.facts.recomputed_bytes_per_step *= static_cast<std::int64_t>(devices.size());
  for (const TrainResult& each : devices) step_seconds.push_back(each.step_seconds);
  whole.step_seconds = combine_steps(step_seconds);
  const auto steps = static_cast<std::int64_t>(whole.step_seconds.size());
  for (const TrainResult& each : devices) {
    const auto done = static_cast<std::int64_t>(each.step_seconds.size());
    whole.images_consumed += done > 0 ? each.images_consumed / done * steps : 0;  // in the common steps
    whole.interrupted = whole.interrupted || each.interrupted;
    whole.diverged = whole.diverged || each.diverged;
    whole.seconds = std::max(whole.seconds, each.seconds);
    whole.final_step = std::min(whole.final_step, each.final_step);
    whole.input_wait_seconds = std::max(whole.input_wait_seconds, each.input_wait_seconds);
    first_loss += each.first_loss / count;
    final_loss += each.final_loss / count;
    accuracy += each.test_accuracy.value_or(0) / count;
    if (!each.test_accuracy) whole.test_accuracy.reset();
    test_loss += each.test_loss.value_or(0) / count;
    if (!each.test_loss) whole.test_loss.reset();
  }
  whole.first_loss = static_cast<float>(first_loss);
  whole.final_loss = final_loss;
  if (whole.test_accuracy) whole.test_accuracy = accuracy;
  if (whole.test_loss) whole.test_loss = test_loss;
  return whole;
}

}  // namespace trainyard::train
