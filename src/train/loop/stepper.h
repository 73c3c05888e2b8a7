#pragma once

#include "engine/checkpoint.h"
#include "train/loop/step_taker.h"
#include "train/session/session.h"

namespace trainyard::train {

struct TrainResult;

// Stepper is the part of a training that the loop (loop.h) drives: it makes updates of parameters, wherever
// they are. training.cpp implements it for devices of this process or rank, ps_training.cpp for parameter
// servers. The loop calls everything from one thread, in the order of this list, advance() until the end.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Returns the session whose state the loop loads, saves and evaluates between calls; always the same.
  virtual Session& keeper() = 0;

  // Returns the work that is left behind a checkpoint, in a unit of its own; below 0: it is beyond the end.
  virtual std::int64_t left(const engine::CheckpointHeader& at) const = 0;
  // The loop has loaded the keeper's state, if there was a checkpoint: everything else follows. A process
  // that read none learns its step and first loss.
  virtual void resume(engine::CheckpointHeader& at) = 0;

  // `hear` is told of all steps from now on, until finish() returns, in their order. `seconds`: since the
  // first step of this run began, until the last of these ended.
  using Hear = std::function<void(const StepsDone& done, double seconds)>;
  // Everything that the first step needs: batches, processes. The measurement begins.
  virtual void prepare(std::int64_t first_step, Hear hear) = 0;

  // Says how far the keeper's state is.
  struct Reached {
    enum class State : std::uint8_t { going_on, done, stopped };  // stopped: somebody asked to
    std::int64_t step = 0;                                        // updates in it
    double seconds = 0;  // since the first step of this run began, until it was there
    State state = State::going_on;
  };
  // Goes on until the keeper's state is one that may be saved and evaluated, `due` steps or fewer; servers,
  // which do not stand still meanwhile, may have made more.
  virtual Reached advance(std::int64_t due) = 0;

  // Returns what a checkpoint of the keeper's present state keeps beside it, to go on from.
  virtual std::vector<std::pair<std::string, std::string>> place() const = 0;

  // The last step is done: the measurement ends.
  virtual void stop(TrainResult& result) = 0;
  // The last state is saved and evaluated: processes end, and facts go into the result. Called also where
  // nothing was left to do, and prepare() was not.
  virtual void finish(TrainResult& result) = 0;
};

}  // namespace trainyard::train
