#include "train/single.h"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/progress.h"
#include "data/batch_stream.h"
#include "engine/checkpoint.h"
#include "train/evaluate.h"
#include "train/events.h"
#include "train/run_identity.h"
#include "train/stop_request.h"

namespace trainyard::train {
namespace {

constexpr std::int64_t kReservedSteps = std::int64_t{1} << 20;

class TrainingRun {
 public:
  TrainingRun(Session& session, const data::Dataset& dataset, const TrainOptions& options,
              const RunFolder* folder)
      : session_(session),
        dataset_(dataset),
        options_(options),
        folder_(folder),
        header_(run_identity(session.options(), dataset, options.preprocess)) {
    if (folder_ != nullptr && options_.resume) resume();
    if (options_.evaluate) evaluator_ = std::make_unique<Evaluator>(session, dataset, options.preprocess);
    if (folder_ != nullptr) events_ = std::make_unique<EventFile>(folder_->path(), header_.step);
    result_.step_seconds.reserve(
        static_cast<std::size_t>(std::min(options_.steps - header_.step, kReservedSteps)));
  }

  TrainResult run() {
    const double start = now_seconds();
    train();
    if (header_.step > saved_step_) save();
    if (evaluator_ != nullptr && evaluated_step_ != header_.step && !StopRequest::asked()) evaluate();
    if (events_ != nullptr) events_->flush();
    result_.interrupted = StopRequest::asked();
    result_.final_step = header_.step;
    result_.first_loss = header_.first_loss;
    const std::int64_t recent = std::min(header_.step - result_.first_step, TrainResult::kFinalLosses);
    result_.final_loss = std::accumulate(losses_.begin(), losses_.begin() + recent, 0.0) /
                         static_cast<double>(recent);  // no step here: not a number
    result_.seconds = now_seconds() - start;
    return std::move(result_);
  }

 private:
  void resume() {
    const auto latest = engine::latest_checkpoint(folder_->path());
    TRAINYARD_CHECK(latest.has_value());  // the folder was opened for resuming
    const engine::CheckpointHeader found = engine::load_checkpoint(*latest, header_, session_.executor());
    if (found.step > options_.steps)
      fail(ErrorKind::usage, "--resume: '{}' is beyond the {} steps asked for", latest->string(),
           options_.steps);
    header_.step = saved_step_ = result_.first_step = found.step;
    header_.first_loss = found.first_loss;
    result_.resumed_from = result_.checkpoint = latest;
    if (!options_.quiet) fmt::print(stderr, "resumed from '{}'\n", latest->string());
  }

  void train() {
    if (header_.step >= options_.steps) return;
    const SessionOptions& asked = session_.options();
    data::BatchStream stream(dataset_, {.preprocess = options_.preprocess,
                                        .batch = asked.model.batch,
                                        .seed = asked.seed,
                                        .first_step = header_.step});
    ProgressBar bar("train " + asked.model.network, options_.steps, options_.quiet);
    while (header_.step < options_.steps && !StopRequest::asked()) {
      const double began = now_seconds();
      const float loss = compute(stream.next());
      const double seconds = now_seconds() - began;
      note(loss, seconds);
      ++header_.step;
      if (bar.due())
        bar.update(header_.step, fmt::format("{:.0f} images/s, loss {:.4f}",
                                             static_cast<double>(asked.model.batch) / seconds, loss));
      if (header_.step == options_.steps) break;  // run() saves and evaluates
      if (folder_ != nullptr && header_.step % options_.checkpoint_every == 0) save();
      if (evaluator_ != nullptr && options_.eval_every > 0 && header_.step % options_.eval_every == 0)
        evaluate();
    }
    result_.input_wait_seconds = stream.wait_seconds();
  }

  float compute(const data::Batch& batch) {
    std::memcpy(images_.data(), batch.images.data(), images_.size_bytes());
    std::memcpy(labels_.data(), batch.labels.data(), labels_.size_bytes());
    session_.executor().run({session_.options().seed, header_.step});
    return session_.loss();
  }

  void note(float loss, double seconds) {
    if (!std::isfinite(loss))
      fail(ErrorKind::device, "loss became {} at step {}", std::isnan(loss) ? "nan" : "inf", header_.step);
    result_.step_seconds.push_back(seconds);
    if (header_.step == 0) header_.first_loss = loss;
    losses_[static_cast<std::size_t>((header_.step - result_.first_step) % TrainResult::kFinalLosses)] = loss;
    if (events_ == nullptr) return;
    const SessionOptions& asked = session_.options();
    const std::array<Scalar, 3> scalars{
        {{"loss", loss},
         {"learning_rate", static_cast<float>(asked.update.schedule.at(header_.step))},
         {"images_per_second", static_cast<float>(static_cast<double>(asked.model.batch) / seconds)}}};
    events_->add(header_.step, scalars);
  }

  void evaluate() {
    const double accuracy = evaluator_->accuracy();
    if (StopRequest::asked()) return;
    result_.test_accuracy = accuracy;
    evaluated_step_ = header_.step;
    if (events_ != nullptr) {
      const std::array<Scalar, 1> scalars{{{"accuracy", static_cast<float>(accuracy)}}};
      events_->add(header_.step, scalars);
    }
    if (!options_.quiet && header_.step < options_.steps)
      fmt::print(stderr, "step {}: test accuracy {:.4f}\n", header_.step, accuracy);
  }

  void save() {
    if (folder_ == nullptr) return;
    events_->flush();
    result_.checkpoint =
        engine::save_checkpoint(session_.executor(), header_, {folder_->path(), options_.keep});
    saved_step_ = header_.step;
  }

  Session& session_;
  const data::Dataset& dataset_;
  const TrainOptions& options_;
  const RunFolder* folder_;
  engine::CheckpointHeader header_;  // its step: how many are done
  std::int64_t saved_step_ = 0, evaluated_step_ = -1;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<EventFile> events_;
  std::span<float> images_ = session_.executor().host_view<float>(Session::kImages);
  std::span<std::int32_t> labels_ = session_.executor().host_view<std::int32_t>(Session::kLabels);
  std::array<double, TrainResult::kFinalLosses> losses_{};
  TrainResult result_;
};

}  // namespace

TrainResult run_training(Session& session, const data::Dataset& dataset, const TrainOptions& options,
                         const RunFolder* folder) {
  const StopRequest guard;
  return TrainingRun(session, dataset, options, folder).run();
}

}  // namespace trainyard::train
