#include "meter/quiet.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "base/error.h"
#include "meter/gpu_watch.h"
#include "meter/noise.h"

namespace trainyard::meter {
namespace {

constexpr double kWindowSeconds = 0.5;
// The gap between two bursts of one process may be as long as a window.
constexpr int kQuietWindows = 2;
// How long a request to stop may go unheard.
constexpr double kLongestPause = 0.1;

// Sleeps until a window that began with `first` is over. False: `stop` came before.
bool pass_window(double seconds, const CpuSnapshot& first, const std::function<bool()>& stop,
                 const QuietView& view, CpuSnapshot& last) {
  for (;;) {
    if (stop()) return false;
    last = view.read_cpu();
    const double left = first.steady_seconds + seconds - last.steady_seconds;
    if (left <= 0) return true;
    view.pause(std::min(left, kLongestPause));
  }
}

std::string disturbance(const CpuUse& use, const QuietView& view) {
  if (std::string load = complaint_about_load(use); !load.empty()) return load;
  if (std::string steal = complaint_about_steal(use); !steal.empty()) return steal;
  return view.busy_gpu ? view.busy_gpu() : "";
}

std::string first_busy_gpu(const Nvml& nvml, const std::vector<int>& gpus) {
  for (const int gpu : gpus)
    if (const double busy = nvml.load(gpu).busy_fraction.value_or(0); busy >= kGpuBusyFraction)
      return fmt::format("GPU {} was busy for {:.0f} % of the time", gpu, 100 * busy);
  return "";
}

}  // namespace

QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop, const QuietView& view) {
  TRAINYARD_CHECK(at_most_seconds > 0);
  // A short wait still has as many windows as it takes.
  const double window_seconds = std::min(kWindowSeconds, at_most_seconds / kQuietWindows);
  // Half of the last window may lie behind the limit: sleeps end late, and two of them have to fit.
  const double last_begin = at_most_seconds - 0.5 * window_seconds;
  QuietWait wait;
  const CpuSnapshot begin = view.read_cpu();
  CpuSnapshot first = begin, last = begin;
  for (int in_a_row = 0; in_a_row < kQuietWindows && wait.waited_seconds < last_begin; first = last) {
    const bool passed = pass_window(window_seconds, first, stop, view, last);
    wait.waited_seconds = last.steady_seconds - begin.steady_seconds;
    if (!passed) {
      if (wait.reason.empty()) wait.reason = "the waiting was interrupted";
      return wait;
    }
    std::string found = disturbance(last.since(first), view);
    in_a_row = found.empty() ? in_a_row + 1 : 0;
    if (!found.empty()) wait.reason = std::move(found);
    wait.quiet = in_a_row == kQuietWindows;
  }
  if (wait.quiet) wait.reason.clear();
  return wait;
}

QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop,
                           const SystemFiles& files, const Nvml* nvml) {
  const std::vector<int> gpus = nvml == nullptr ? std::vector<int>() : visible_gpus(*nvml);
  return wait_until_quiet(
      at_most_seconds, stop,
      QuietView{
          .read_cpu = [&] { return read_cpu(files); },
          .busy_gpu = [&] { return nvml == nullptr ? "" : first_busy_gpu(*nvml, gpus); },
          .pause =
              [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }});
}

}  // namespace trainyard::meter
