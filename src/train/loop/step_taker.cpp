#include "train/loop/step_taker.h"

#include "base/cores.h"

namespace trainyard::train {

StepMeter::StepMeter(Replicas& replicas)
    : StepMeter(&replicas, replicas.session(0).executor(), replicas.deployment().devices == 1) {}

StepMeter::StepMeter(const engine::Executor& executor) : StepMeter(nullptr, executor, true) {}

StepMeter::StepMeter(Replicas* replicas, const engine::Executor& executor, bool has_all_cores)
    : replicas_(replicas),
      watch_(executor.device().pci_address()),
      has_all_cores_(executor.on_host() && has_all_cores) {}

void StepMeter::begin() {
  if (has_all_cores_) distance_.before = meter::handoff_seconds(meter::kDistanceSeconds);
  guard_.emplace(watch_.nvml());
  gpu_.before = watch_.sample();
}

StepsUse StepMeter::end(double input_wait_seconds) {
  StepsUse use;
  gpu_.after = watch_.sample();
  use.gpu = gpu_;
  use.cpu = guard_->cpu_use();
  use.cores_in_reach = cores_in_reach();
  use.input_wait_seconds = input_wait_seconds;
  const bool alone = replicas_ == nullptr || replicas_->ranks() == nullptr;
  use.noise = guard_->finish(alone ? 0 : add_other_ranks(use));
  // After the noise is judged: the measure itself keeps the cores busy.
  if (has_all_cores_) distance_.after = meter::handoff_seconds(meter::kDistanceSeconds);
  use.core_distance = distance_;
  return use;
}

// Returns the CPU time of those on this machine, which is no noise.
double StepMeter::add_other_ranks(StepsUse& use) const {
  RanksUse all = combine_use(*replicas_->ranks(), use.cpu, use.cores_in_reach, use.input_wait_seconds);
  use.cpu.user_seconds = all.user_seconds;
  use.cpu.system_seconds = all.system_seconds;
  use.input_wait_seconds = all.input_wait_seconds;
  use.cores_in_reach = std::move(all.cores);
  return all.beside_seconds;
}

bool steps_by_host(Replicas& replicas) {
  return replicas.session(0).executor().on_host() || replicas.ranks() != nullptr ||
         replicas.deployment().micro_batches > 1;
}

HostSteps::HostSteps(Replicas& replicas, Replicas::Feed feed, StepTracer* tracer, int device)
    : replicas_(replicas), feed_(std::move(feed)), tracer_(tracer), device_(device) {
  TRAINYARD_CHECK(tracer == nullptr || device == kAllDevices);
  if (tracer_ != nullptr) replicas_.trace(tracer_);
  done_.losses.resize(1);
  done_.seconds.resize(1);
  done_.gradients = (device == kAllDevices ? replicas.size() : 1) * replicas.deployment().micro_batches;
}

HostSteps::~HostSteps() {
  if (tracer_ != nullptr) replicas_.trace(nullptr);
}

StepsDone& HostSteps::take(std::int64_t first, std::int64_t) {
  const bool alone = device_ != kAllDevices;
  const double began = now_seconds();
  done_.images = alone ? replicas_.take_part(device_, first, feed_) : replicas_.step(first, feed_);
  done_.seconds.assign(1, now_seconds() - began);
  done_.losses.assign(1, static_cast<double>(alone ? 0 : replicas_.loss()));
  done_.first = first;
  done_.traced = tracer_ != nullptr && tracer_->kind(first) == StepTracer::Kind::traced;
  return done_;
}

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

DeviceSteps::DeviceSteps(Session& session, std::uint64_t seed, HostFeed* feed, StepTracer* tracer)
    : session_(session), seed_(seed), feed_(feed), tracer_(tracer) {
  if (tracer_ != nullptr)
    tracer_->add_device(fmt::format("device 0 ({})", session.backend().name()), session.executor());
}

StepsDone& DeviceSteps::take(std::int64_t first, std::int64_t end) {
  const std::int64_t most = tracer_ == nullptr ? end - first : tracer_->unnoted(first, end - first);
  if (tracer_ != nullptr && tracer_->kind(first) != StepTracer::Kind::none)
    run_noted(first);
  else
    run(first, steps_at_once(most));
  return done_;
}

void DeviceSteps::start(std::int64_t first, std::int64_t count) {
  engine::Executor& executor = session_.executor();
  if (feed_ == nullptr) return executor.run_steps({seed_, first}, count);
  for (std::int64_t step = first; step < first + count; ++step) {
    feed_->before(step);
    executor.run_steps({seed_, step}, 1);
    feed_->after(step);
  }
}

StepsDone& DeviceSteps::run(std::int64_t first, std::int64_t count) {
  engine::Executor& executor = session_.executor();
  StepsDone done{.first = first, .images = session_.options().model.batch};
  executor.prepare_steps({seed_, first}, feed_ == nullptr ? count : 1);
  const double began = now_seconds();
  done.event_seconds = executor.device().time([&] { start(first, count); });
  done.wall_seconds = now_seconds() - began;
  const std::vector<backend::StepMark> marks = executor.marks(count);
  if (feed_ != nullptr) done.wait_seconds = waited(done.event_seconds, feed_->begins(first, count), marks);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    done.losses.push_back(static_cast<double>(marks[i].loss));
    if (i > 0)
      done.seconds.push_back(1e-9 * static_cast<double>(marks[i].nanoseconds - marks[i - 1].nanoseconds));
  }
  // The first step has no mark before it without the host in between, so it gets the remaining time of the
  // events.
  const double others = std::accumulate(done.seconds.begin(), done.seconds.end(), 0.0);
  done.seconds.insert(done.seconds.begin(), std::max(done.event_seconds - others, 0.0));
  step_seconds_ = done.event_seconds / static_cast<double>(count);
  return done_ = std::move(done);
}

void DeviceSteps::run_noted(std::int64_t step) {
  session_.executor().prepare_watched({seed_, step});
  session_.executor().device().match_clocks();
  if (feed_ != nullptr) feed_->watch_copies();
  if (tracer_->kind(step) == StepTracer::Kind::traced) {
    run_watched(step);
  } else {
    const double began = now_seconds();
    run(step, 1);
    tracer_->note_plain(0, step, began, began + done_.wall_seconds);
  }
  if (feed_ != nullptr) tracer_->note_copies(0, feed_->copies());
}

void DeviceSteps::run_watched(std::int64_t step) {
  engine::Executor& executor = session_.executor();
  StepTracer::Notes& notes = tracer_->begin(0, step);
  if (feed_ != nullptr) {
    feed_->before(step);
    notes.came = notes.fed = now_seconds();
  }
  executor.run_watched({seed_, step}, notes.watch);
  if (feed_ != nullptr) feed_->after(step);
  notes.ended =
      std::max(notes.kernels.back().ended, notes.fed);  // by the device's clock: nobody waited for more
  tracer_->end(0);
  const double seconds = notes.ended - notes.began;
  done_ = {.first = step,
           .losses = {static_cast<double>(executor.marks(1).front().loss)},
           .seconds = {seconds},
           .images = session_.options().model.batch,
           .traced = true,
           .event_seconds = seconds,
           .wall_seconds = seconds,
           .wait_seconds = notes.fed - notes.began};
}

std::int64_t DeviceSteps::steps_at_once(std::int64_t most) const {
  constexpr std::int64_t kLaunch = engine::Executor::kStepsPerLaunch;
  auto fit = step_seconds_ > 0 ? static_cast<std::int64_t>(engine::Executor::kSecondsAtOnce / step_seconds_)
                               : kLaunch;
  if (fit > kLaunch) fit -= fit % kLaunch;
  return std::clamp<std::int64_t>(std::min(fit, most), 1, engine::Executor::kMarks);
}

}  // namespace trainyard::train
