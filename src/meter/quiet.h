#pragma once

#include <functional>
#include <string>

#include "meter/cpu.h"
#include "meter/nvml.h"
#include "meter/system_files.h"

namespace trainyard::meter {

struct QuietWait {
  double waited_seconds = 0;
  bool quiet = false;
  std::string reason;  // what disturbed the last window that was not quiet, in one line; empty when quiet
};

// What the waiting sees of the machine, and how it passes the time.
struct QuietView {
  std::function<CpuSnapshot()> read_cpu;
  std::function<std::string()> busy_gpu;  // one line about a GPU that works; "": none does
  std::function<void(double)> pause;      // for so many seconds
};

// Waits until neither other processes nor the hypervisor take more of the machine than find_noise() allows,
// in two windows of half a second in a row; at most so long, and only until `stop` turns true. REQUIRES:
// at_most_seconds > 0. Children of this process that run count as others.
QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop, const QuietView& view);

// On this machine. With `nvml`, the GPUs that this process may see have to be idle, too.
QuietWait wait_until_quiet(double at_most_seconds, const std::function<bool()>& stop,
                           const SystemFiles& files = SystemFiles(), const Nvml* nvml = nullptr);

}  // namespace trainyard::meter
