#include "ensemble/fill_log.h"

#include "base/threads.h"
#include "meter/cpu.h"

namespace trainyard::ensemble {

FillLog::FillLog(std::vector<Queue> queues, double period_seconds)
    : queues_(std::move(queues)),
      thread_([this, period_seconds](const std::stop_token& stop) { work(stop, period_seconds); }) {}

void FillLog::work(const std::stop_token& stop, double period_seconds) {
  meter::name_thread("fill log");
  const double began = now_seconds();
  const meter::CpuSnapshot before = meter::read_cpu();
  double period = period_seconds;
  while (true) {
    Sample sample{.seconds = now_seconds() - began,
                  .cpu_seconds = meter::read_cpu().since(before).cpu_seconds(),
                  .fills = {}};
    for (const Queue& queue : queues_) sample.fills.push_back(queue.look());
    samples_.push_back(std::move(sample));
    if (stop.stop_requested()) return;
    if (samples_.size() == 2 * kMost) {  // every other one stays, and time goes on at half the pace
      for (std::size_t i = 0; i < kMost; ++i) samples_[i] = std::move(samples_[2 * i]);
      samples_.resize(kMost);
      period *= 2;
    }
    sleep_unless_stopped(stop, period);
  }
}

std::vector<FillLog::Sample> FillLog::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  return std::move(samples_);
}

}  // namespace trainyard::ensemble
