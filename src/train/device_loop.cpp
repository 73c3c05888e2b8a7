#include "train/device_loop.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"

namespace trainyard::train {
namespace {

// All but the time from each step's batch being there to its end.
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
  // The first has no mark before it that the host did not come between: it has what the events leave over.
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

}  // namespace trainyard::train
