#pragma once

#include <deque>
#include <thread>

#include "backend/input.h"
#include "base/mutex.h"
#include "engine/executor.h"
#include "trace/trace.h"

namespace trainyard::train {

// The steps that are traced: [first, first + count). Without a first, the run chooses one.
struct TracedSteps {
  std::optional<std::int64_t> first;
  std::int64_t count = 3;
};

// Notes what the chosen steps of a run do, as a trace (docs/formats/trace.md): each device is a process of
// it. As many steps before them are noted as a whole, so that what tracing costs is seen. All times are by
// now_seconds(). While a step runs only numbers are noted; they become spans when it has ended.
class StepTracer {
 public:
  enum class Kind { none, plain, traced };

  // The notes of one device about a step that is traced. Only its thread uses them.
  struct Notes {
    std::int64_t step = 0;
    double began = 0, fed = 0, ended = 0;
    double fetched = 0;          // when the parameters had come, for which the step waited first; 0: its own
    bool from_servers = false;   // those parameters
    double came = 0;             // when the batch did; 0: there was none to wait for
    double exchanging_from = 0;  // when the gradients were done; 0: none are exchanged
    struct Kernel {
      std::size_t number;  // in the plan
      double began, ended;
    };
    std::vector<Kernel> kernels;
    engine::Executor::Watch watch;  // notes them
  };

  explicit StepTracer(const TracedSteps& steps) : steps_(steps) {}

  // Chooses the steps before the first step of a run with steps [begin, end). Where the user named none, they
  // begin at `first`, or as late as fits. Error (usage) when they lie outside.
  void choose(std::int64_t first, std::int64_t begin, std::int64_t end);
  // Adds one device of this process; called for all in their order. `title`: "device 0 (onednn)". The
  // executor must outlive this.
  void add_device(const std::string& title, const engine::Executor& executor);

  std::int64_t count() const { return steps_.count; }
  bool is_chosen() const { return steps_.first.has_value(); }
  std::int64_t end() const { return *steps_.first + steps_.count; }  // REQUIRES: is_chosen()
  Kind kind(std::int64_t step) const;
  // Returns how many steps from this one on are not noted: `most`, or fewer.
  std::int64_t unnoted(std::int64_t step, std::int64_t most) const;

  Notes& begin(int device, std::int64_t step);
  Notes& notes(int device) { return devices_[static_cast<std::size_t>(device)].notes; }
  void end(int device);  // of the step, when its notes say
  void note_plain(int device, std::int64_t step, double began, double ended);
  void note_copies(int device, const std::vector<backend::CopyQueue::Copy>& copies);
  // Any thread may call it.
  void note_batch(int device, std::int64_t step, double began, double ended)
      TRAINYARD_EXCLUDES(batches_mutex_);

  bool has_steps() const;
  // Returns all that was noted. Only batches, which threads make ahead, may be noted meanwhile.
  trace::Trace noted() const TRAINYARD_EXCLUDES(batches_mutex_);

 private:
  struct Device {
    std::string title;
    const engine::Executor* executor;
    Notes notes;
    std::vector<trace::Span> steps, kernels, copies;  // what lies in each of its tracks
    std::vector<trace::Counter> counters;
  };
  struct Batch {
    int device;
    std::thread::id thread;
    std::int64_t step;
    double began, ended;
  };

  TracedSteps steps_;
  std::deque<Device> devices_;
  mutable Mutex batches_mutex_;
  std::vector<Batch> batches_ TRAINYARD_GUARDED_BY(batches_mutex_);
};

}  // namespace trainyard::train
