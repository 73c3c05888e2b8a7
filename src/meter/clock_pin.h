#pragma once

#include "meter/nvml.h"
#include "meter/system_files.h"

namespace trainyard::meter {

// PinnedClocks holds the state to restore when a pin ends: contents of system files by their paths, and the
// names (UUIDs) of the GPUs whose clocks are released.
struct PinnedClocks {
  std::map<std::string, std::string> files;
  std::set<std::string> gpus;

  bool empty() const { return files.empty() && gpus.empty(); }
};

// ClockPin keeps clocks independent of load and heat while it lives, as far as this process is allowed to:
// the frequency governors of the CPUs are `performance`, turbo is off, and the multiprocessors of GPUs keep
// their default clock. It needs the rights of an administrator; settings that it may not change stay as they
// are.
//
// Before it changes anything, it notes the former values in NOTES/NAME.clocks.json, so that put_back_clocks()
// can restore them after this process was killed. Several pins may hold at once, in one process or several,
// if they share the folder: the last one restores the values that the first one found.
class ClockPin {
 public:
  // With `nvml`, which must outlive the pin, the GPUs that this process may see are pinned too. Throws Error
  // (io) when the note cannot be written; then nothing was changed.
  ClockPin(std::filesystem::path notes, const std::string& name, const Nvml* nvml = nullptr,
           SystemFiles files = SystemFiles());
  ~ClockPin();
  ClockPin(const ClockPin&) = delete;
  ClockPin& operator=(const ClockPin&) = delete;

  // "cpu: governor performance, turbo off; gpu 0: 1410 MHz"; "": nothing.
  std::string pinned() const;
  // A line each: "scaling_governor: permission denied", "this machine shows no clocks".
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  void find_cpu_files();
  void write_note() const;
  void note_what_changed() const;
  void pin_cpu();
  void pin_gpus(const std::vector<int>& gpus);
  void refuse(const std::string& what, const std::string& reason);

  const std::filesystem::path notes_, note_;
  const Nvml* const nvml_;
  const SystemFiles files_;
  PinnedClocks before_;
  std::map<std::string, std::string> wanted_;  // contents of the system files, by path
  std::vector<std::string> cpu_, gpu_, refused_;
};

// Restores the changes of pins of this machine whose process is gone, except those that another pin still
// holds. Returns the number of such pins.
int put_back_clocks(const std::filesystem::path& notes, const SystemFiles& files = SystemFiles());

}  // namespace trainyard::meter
