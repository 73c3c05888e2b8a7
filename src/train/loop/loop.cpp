#include "train/loop/loop.h"

#include "process/stop_request.h"

namespace trainyard::train {
namespace {

constexpr std::int64_t kReservedSteps = std::int64_t{1} << 20;

class Loop {
 public:
  Loop(Stepper& stepper, const engine::CheckpointHeader& identity, const data::MakeBatches& batches,
       const TrainOptions& options, const RunFolder* folder)
      : stepper_(stepper), session_(stepper.keeper()), options_(options), folder_(folder), header_(identity) {
    if (options_.resume) resume();
    if (options_.evaluate) evaluator_ = std::make_unique<Evaluator>(session_, batches, options.preprocess);
    if (folder_ != nullptr) events_ = std::make_unique<EventFile>(folder_->path(), header_.step);
    result_.step_seconds.reserve(
        static_cast<std::size_t>(std::clamp<std::int64_t>(options_.steps - header_.step, 0, kReservedSteps)));
  }

  TrainResult run() {
    const double start = now_seconds();
    if (stepper_.left(header_) > 0) train();
    if (header_.step > saved_step_) save();
    if (evaluator_ != nullptr && evaluated_step_ != header_.step && !stopped_) evaluate(true);
    result_.interrupted = process::StopRequest::asked();
    stepper_.finish(result_);
    if (events_ != nullptr) events_->flush();
    result_.final_step = header_.step;
    result_.first_loss = header_.first_loss;
    judge_losses();
    result_.seconds = now_seconds() - start;
    return std::move(result_);
  }

 private:
  // Only the rank that has the folder reads the checkpoint; the stepper tells the others.
  void resume() {
    const auto latest = folder_ == nullptr ? std::nullopt : engine::latest_checkpoint(folder_->path());
    if (latest) {  // else the folder was opened to resume or begin
      const engine::CheckpointHeader found = engine::load_checkpoint(*latest, header_, session_.executor());
      header_.step = found.step;
      header_.first_loss = found.first_loss;
      header_.reached = found.reached;
      if (stepper_.left(header_) < 0)
        fail(ErrorKind::usage, "{}: '{}' is beyond the {} steps asked for", Setting{"resume"},
             latest->string(), options_.steps);
      result_.resumed_from = result_.checkpoint = latest;
      if (options_.progress != nullptr)
        options_.progress->note(fmt::format("resumed from '{}'", latest->string()));
    }
    stepper_.resume(header_);
    saved_step_ = result_.first_step = header_.step;
  }

  void train() {
    using State = Stepper::Reached::State;
    stepper_.prepare(header_.step, [this](const StepsDone& done, double seconds) { note(done, seconds); });
    Progress bar(options_.progress, "train " + session_.options().model.network, options_.steps);
    bar_ = &bar;
    for (State state = State::going_on; state == State::going_on;) {
      const std::int64_t before = header_.step;
      const Stepper::Reached reached = stepper_.advance(next_due());
      header_.step = reached.step;
      first_began_ = now_seconds() - reached.seconds;
      state = reached.state;
      stopped_ = state == State::stopped;
      if (state != State::going_on) break;  // run() saves and evaluates
      const auto passed = [&](std::int64_t every) {
        return every > 0 && header_.step / every > before / every;
      };
      if (folder_ != nullptr && passed(options_.checkpoint_every)) save();
      if (evaluator_ != nullptr && passed(options_.eval_every)) evaluate(false);
    }
    bar_ = nullptr;
    stepper_.stop(result_);
  }

  // Returns the step before which nothing has to be saved or evaluated.
  std::int64_t next_due() const {
    std::int64_t due = options_.steps;
    const auto due_every = [&](std::int64_t steps) {
      due = std::min(due, (header_.step / steps + 1) * steps);
    };
    if (folder_ != nullptr) due_every(options_.checkpoint_every);
    if (evaluator_ != nullptr && options_.eval_every > 0) due_every(options_.eval_every);
    return due;
  }

  void note(const StepsDone& done, double seconds) {
    result_.event_seconds += done.event_seconds;
    result_.input_wait_seconds += done.wait_seconds;
    double ended = seconds - std::accumulate(done.seconds.begin(), done.seconds.end(), 0.0);
    for (std::size_t i = 0; i < done.losses.size(); ++i) {
      ended += done.seconds[i];
      note_step(done, i, ended);
    }
  }

  void note_step(const StepsDone& done, std::size_t index, double ended) {
    const std::int64_t number = done.first + static_cast<std::int64_t>(index);
    const double loss = done.losses[index], seconds = done.seconds[index];
    const double images_per_second = static_cast<double>(done.images) / seconds;
    if (number == 0) header_.first_loss = static_cast<float>(loss);
    losses_[result_.step_seconds.size() % losses_.size()] = loss;
    result_.loss_curve.add(ended, done.gradients, loss);
    result_.step_seconds.push_back(seconds);
    result_.images_consumed += done.images;
    if (events_ != nullptr) {
      const std::array<Scalar, 3> scalars{
          {{"loss", static_cast<float>(loss)},
           {"learning_rate", static_cast<float>(session_.options().update.schedule.at(number))},
           {"images_per_second", static_cast<float>(images_per_second)}}};
      events_->add(number, scalars);
    }
    if (bar_ != nullptr && bar_->due())
      bar_->update(number + 1, fmt::format("{:.0f} images/s, loss {:.4f}", images_per_second, loss));
  }

  // By the last losses of this run.
  void judge_losses() {
    const std::size_t done = result_.step_seconds.size(), recent = std::min(done, losses_.size());
    const auto last = std::span(std::as_const(losses_)).first(recent);
    result_.final_loss = std::accumulate(last.begin(), last.end(), 0.0) /
                         static_cast<double>(recent);  // no step here: not a number
    const bool with_first = recent > 0 && recent == done && result_.first_step == 0;
    result_.diverged =
        has_diverged(static_cast<double>(header_.first_loss), last.subspan(with_first ? 1 : 0));
  }

  void evaluate(bool at_end) {
    const double trained_seconds = first_began_ > 0 ? now_seconds() - first_began_ : 0;
    const double accuracy = evaluator_->accuracy();
    if (process::StopRequest::asked()) return;
    result_.test_accuracy = accuracy;
    result_.test_loss = evaluator_->loss();
    result_.accuracy_curve.push_back({trained_seconds, header_.step, accuracy});
    evaluated_step_ = header_.step;
    if (events_ != nullptr) {
      const std::array<Scalar, 1> scalars{{{"accuracy", static_cast<float>(accuracy)}}};
      events_->add(header_.step, scalars);
    }
    if (options_.progress != nullptr && !at_end)
      options_.progress->note(fmt::format("step {}: test accuracy {:.4f}", header_.step, accuracy));
  }

  void save() {
    if (folder_ == nullptr) return;
    events_->flush();
    header_.reached = stepper_.place();
    result_.checkpoint =
        engine::save_checkpoint(session_.executor(), header_, {folder_->path(), options_.keep});
    saved_step_ = header_.step;
  }

  Stepper& stepper_;
  Session& session_;  // whose state is saved and evaluated
  const TrainOptions& options_;
  const RunFolder* folder_;
  engine::CheckpointHeader header_;  // its step: how many the session's state has seen
  std::int64_t saved_step_ = 0, evaluated_step_ = -1;
  bool stopped_ = false;
  double first_began_ = 0;  // when the first step did, by now_seconds(); 0: there was none
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<EventFile> events_;
  Progress* bar_ = nullptr;  // while steps are done
  std::array<double, TrainResult::kFinalLosses> losses_{};
  TrainResult result_;
};

}  // namespace

TrainResult run_loop(Stepper& stepper, const engine::CheckpointHeader& identity,
                     const data::MakeBatches& batches, const TrainOptions& options, const RunFolder* folder) {
  const process::StopRequest guard;
  return Loop(stepper, identity, batches, options, folder).run();
}

}  // namespace trainyard::train
