#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/recipe/augment.h"
#include "data/source/dataset.h"
#include "meter/gpu_watch.h"
#include "meter/noise.h"
#include "meter/peaks.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/replicas.h"
#include "train/run_folder.h"

namespace trainyard::train {

struct TrainOptions {
  std::int64_t steps = 100;             // of the whole run, counted from step 0 also when it is resumed
  data::MakeBatches batches = nullptr;  // of both splits, made by the host; null: the data set's
  // Feeds a device that is not the host with those of `batches`, in a way of its own. Null: by their bytes.
  std::function<std::unique_ptr<HostFeed>(Session& session, const data::BatchStreamOptions& options)>
      feed_batches = nullptr;
  // Returns the position in the input after so many steps; it is kept in checkpoints. Null: the step number
  // is sufficient.
  std::function<std::string(std::int64_t steps)> input_place = nullptr;
  data::Preprocess preprocess;
  Feed feed = Feed::automatic;  // of a device that is not the host
  bool evaluate = true;         // on the test split, at the end
  std::int64_t eval_every = 0;  // and every so many steps; 0: only at the end
  // With a folder:
  std::int64_t checkpoint_every = 500;
  int keep = 2;
  bool resume = false;  // from the newest checkpoint of the folder, if it has one: see Existing
  ProgressListener* progress = nullptr;  // null: nobody hears how far it is
  StepTracer* tracer = nullptr;          // null: nobody traces
};

// The result of an evaluation.
struct AccuracyPoint {
  double seconds = 0;     // since the first step of this run began, until the evaluation began
  std::int64_t step = 0;  // steps that the parameters had seen
  double accuracy = 0;
};

struct TrainResult {
  RunFacts facts;
  Feed feed = Feed::host;  // who made the batches
  bool interrupted = false;
  std::int64_t first_step = 0, final_step = 0;  // steps [first, final) were done here
  std::vector<double> step_seconds;             // wait for the batch, copy, compute
  std::int64_t images_consumed = 0;             // by all devices in these steps
  double event_seconds = 0;                     // of a device that times itself
  meter::GpuUse gpu;                            // before the first step, after the last
  meter::CpuUse cpu;                            // from the first step to the end of the last
  std::vector<record::Warning> noise;           // what disturbed them
  std::vector<int> cores_in_reach;              // of any thread, at their end
  meter::CoreDistance core_distance;            // where one device on the host does them
  float first_loss = 0;                         // of step 0, also when resumed: before any update
  double final_loss = 0;                        // mean over the last kFinalLosses steps done here
  bool diverged = false;                        // by these last losses (evaluate.h)
  LossCurve loss_curve;                         // of one network: empty when devices are independent
  std::optional<double> test_accuracy;
  std::optional<double> test_loss;            // in nats, of a network that reads sequences
  std::vector<AccuracyPoint> accuracy_curve;  // every evaluation; empty when devices are independent
  double seconds = 0;             // from the first step to the end of the last evaluation and checkpoint
  double input_wait_seconds = 0;  // of the device that waited longest
  std::optional<std::filesystem::path> checkpoint, resumed_from;

  static constexpr std::int64_t kFinalLosses = 10;
};

// The name under which a checkpoint has the input's place.
inline constexpr const char* kInputPlace = "input";

// Trains on all devices together; device 0's thread is the calling one, and each device has one more thread
// that prepares its batches, several where the host feeds a GPU. `folder` may be null: then nothing is kept.
// With ranks, all of them call it: rank 0 with the folder, the others without, and only rank 0 evaluates.
// SIGINT, SIGTERM, SIGHUP and SIGUSR1 end the run after the current step, with a checkpoint. Error (device)
// when a loss is not a number any more; then nothing is saved.
TrainResult run_training(Replicas& replicas, const data::Dataset& dataset, const TrainOptions& options,
                         const RunFolder* folder);

}  // namespace trainyard::train
