#pragma once

#include "base/progress.h"
#include "data/recipe/augment.h"
#include "data/view/batch_maker.h"
#include "train/loop/feed.h"
#include "train/loop/run_folder.h"
#include "train/loop/step_taker.h"
#include "train/loop/stepper.h"
#include "train/session/evaluate.h"

namespace trainyard::train {

struct TrainOptions {
  std::int64_t steps = 100;             // of the whole run, counted from step 0 also when it is resumed
  data::MakeBatches batches = nullptr;  // of both splits, made by the host; null: the data set's
  // Feeds a device that is not the host with those of `batches`, in a way of its own. Null: the device is fed
  // by their bytes.
  std::function<std::unique_ptr<HostFeed>(Session& session, const data::BatchStreamOptions& options)>
      feed_batches = nullptr;
  // Returns the position in the input after so many steps; it is kept in checkpoints. Null: the step number
  // is sufficient.
  std::function<std::string(std::int64_t steps)> input_place = nullptr;
  data::Preprocess preprocess;
  Feed feed = Feed::automatic;  // of a device that is not the host
  bool evaluate = true;         // on the test split, at the end
  std::int64_t eval_every = 0;  // and every so many steps; 0: only at the end
  // The next three need a folder:
  std::int64_t checkpoint_every = 500;
  int keep = 2;
  bool resume = false;  // from the newest checkpoint of the folder, if it has one: see Existing
  ProgressListener* progress = nullptr;  // null: nobody hears how far it is
  StepTracer* tracer = nullptr;          // null: nobody traces
};

// Holds the result of an evaluation.
struct AccuracyPoint {
  double seconds = 0;     // since the first step of this run began, until the evaluation began
  std::int64_t step = 0;  // steps that the parameters had seen
  double accuracy = 0;
};

struct TrainResult : StepsUse {
  RunFacts facts;
  Feed feed = Feed::host;  // who made the batches
  bool interrupted = false;
  std::int64_t first_step = 0, final_step = 0;  // steps [first, final) were done here
  std::vector<double> step_seconds;             // wait for the batch, copy, compute
  std::int64_t images_consumed = 0;             // by all devices in these steps
  double event_seconds = 0;                     // of a device that times itself
  float first_loss = 0;                         // of step 0, also when resumed: before any update
  double final_loss = 0;                        // mean over the last kFinalLosses steps done here
  bool diverged = false;                        // by these last losses (evaluate.h)
  LossCurve loss_curve;                         // of one network: empty when devices are independent
  std::optional<double> test_accuracy;
  std::optional<double> test_loss;            // in nats, of a network that reads sequences
  std::vector<AccuracyPoint> accuracy_curve;  // every evaluation; empty when devices are independent
  double seconds = 0;  // from the first step to the end of the last evaluation and checkpoint
  std::optional<std::filesystem::path> checkpoint, resumed_from;

  static constexpr std::int64_t kFinalLosses = 10;
};

// The name under which a checkpoint has the input's place.
inline constexpr const char* kInputPlace = "input";

// Runs the frame of every training: resumes, lets the stepper go on, keeps losses and events, evaluates,
// saves checkpoints, and ends when all is done or somebody asks to. `identity`: what a checkpoint to resume
// from must agree with (run_folder.h). `batches`: of the test split, where the options say to evaluate.
// `folder` may be null: then nothing is kept. SIGINT, SIGTERM, SIGHUP and SIGUSR1 end it after the current
// step, with a checkpoint. Errors of the stepper pass; only one that the stepper keeps for finish() leaves a
// checkpoint.
TrainResult run_loop(Stepper& stepper, const engine::CheckpointHeader& identity,
                     const data::MakeBatches& batches, const TrainOptions& options, const RunFolder* folder);

}  // namespace trainyard::train
