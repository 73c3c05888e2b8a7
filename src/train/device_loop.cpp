#include "train/device_loop.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "engine/checkpoint.h"
#include "process/stop_request.h"

namespace trainyard::train {

namespace {

// Returns the time that is not between the arrival of each step's batch and the step's end.
double waited(double event_seconds, const std::vector<std::int64_t>& begins,
              const std::vector<backend::StepMark>& ends) {
  double busy = 0;
  for (std::size_t i = 0; i < ends.size(); ++i)
    busy += 1e-9 * static_cast<double>(ends[i].nanoseconds - begins[i]);
  return std::max(event_seconds - busy, 0.0);
}

}  // namespace

void DeviceLoop::start(std::int64_t first, std::int64_t count) {
  engine::Executor& executor = session_.executor();
  if (feed_ == nullptr) return executor.run_steps({seed_, first}, count);
  for (std::int64_t step = first; step < first + count; ++step) {
    feed_->before(step);
    executor.run_steps({seed_, step}, 1);
    feed_->after(step);
  }
}

DeviceLoop::Done DeviceLoop::run(std::int64_t first, std::int64_t count) {
  engine::Executor& executor = session_.executor();
  Done done;
  executor.prepare_steps({seed_, first}, feed_ == nullptr ? count : 1);
  const double began = now_seconds();
  done.event_seconds = executor.device().time([&] { start(first, count); });
  done.wall_seconds = now_seconds() - began;
  const std::vector<backend::StepMark> marks = executor.marks(count);
  if (feed_ != nullptr) done.wait_seconds = waited(done.event_seconds, feed_->begins(first, count), marks);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    done.losses.push_back(marks[i].loss);
    if (i > 0)
      done.seconds.push_back(1e-9 * static_cast<double>(marks[i].nanoseconds - marks[i - 1].nanoseconds));
  }
  // The first step has no mark before it without the host in between, so it gets the remaining time of the
  // events.
  const double others = std::accumulate(done.seconds.begin(), done.seconds.end(), 0.0);
  done.seconds.insert(done.seconds.begin(), std::max(done.event_seconds - others, 0.0));
  step_seconds_ = done.event_seconds / static_cast<double>(count);
  return done;
}

DeviceLoop::Done DeviceLoop::run_noted(std::int64_t step, StepTracer& tracer) {
  session_.executor().prepare_watched({seed_, step});
  session_.executor().device().match_clocks();
  if (feed_ != nullptr) feed_->watch_copies();
  Done done;
  if (tracer.kind(step) == StepTracer::Kind::traced) {
    done = run_watched(step, tracer);
  } else {
    const double began = now_seconds();
    done = run(step, 1);
    tracer.note_plain(0, step, began, began + done.wall_seconds);
  }
  if (feed_ != nullptr) tracer.note_copies(0, feed_->copies());
  return done;
}

DeviceLoop::Done DeviceLoop::run_watched(std::int64_t step, StepTracer& tracer) {
  engine::Executor& executor = session_.executor();
  StepTracer::Notes& notes = tracer.begin(0, step);
  if (feed_ != nullptr) {
    feed_->before(step);
    notes.came = notes.fed = now_seconds();
  }
  executor.run_watched({seed_, step}, notes.watch);
  if (feed_ != nullptr) feed_->after(step);
  notes.ended =
      std::max(notes.kernels.back().ended, notes.fed);  // by the device's clock: nobody waited for more
  tracer.end(0);
  Done done;
  done.losses.push_back(executor.marks(1).front().loss);
  done.seconds.push_back(notes.ended - notes.began);
  done.event_seconds = done.wall_seconds = done.seconds.front();
  done.wait_seconds = notes.fed - notes.began;
  return done;
}

std::int64_t DeviceLoop::steps_at_once(std::int64_t most) const {
  constexpr std::int64_t kLaunch = engine::Executor::kStepsPerLaunch;
  auto fit = step_seconds_ > 0 ? static_cast<std::int64_t>(engine::Executor::kSecondsAtOnce / step_seconds_)
                               : kLaunch;
  if (fit > kLaunch) fit -= fit % kLaunch;
  return std::clamp<std::int64_t>(std::min(fit, most), 1, engine::Executor::kMarks);
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
      Replicas replicas(own, {});
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
