#include "train/training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/cores.h"
#include "data/view/batch_maker.h"
#include "engine/checkpoint.h"
#include "process/stop_request.h"
#include "train/deployment.h"
#include "train/device_loop.h"
#include "train/evaluate.h"
#include "train/events.h"
#include "train/feed.h"
#include "train/run_folder.h"

namespace trainyard::train {
namespace {

constexpr std::int64_t kReservedSteps = std::int64_t{1} << 20;

class TrainingRun {
 public:
  TrainingRun(Replicas& replicas, const data::Dataset& dataset, const TrainOptions& options,
              const RunFolder* folder)
      : replicas_(replicas),
        session_(replicas.keeper()),
        dataset_(dataset),
        options_(options),
        batches_(options.batches ? options.batches : data::batches_of(dataset)),
        folder_(folder),
        header_(run_identity(session_.options(), dataset, options.preprocess, replicas.size())) {
    if (options_.resume) resume();
    if (options_.evaluate) evaluator_ = std::make_unique<Evaluator>(session_, batches_, options.preprocess);
    if (folder_ != nullptr) events_ = std::make_unique<EventFile>(folder_->path(), header_.step);
    result_.step_seconds.reserve(
        static_cast<std::size_t>(std::min(options_.steps - header_.step, kReservedSteps)));
  }

  TrainResult run() {
    const double start = now_seconds();
    train();
    if (header_.step > saved_step_) save();
    if (evaluator_ != nullptr && evaluated_step_ != header_.step && !replicas_.stop_agreed()) evaluate();
    if (events_ != nullptr) events_->flush();
    bool interrupted = replicas_.stop_agreed() || process::StopRequest::asked();
    replicas_.spread(std::as_writable_bytes(std::span(&interrupted, 1)));
    result_.interrupted = interrupted;
    result_.final_step = header_.step;
    result_.first_loss = header_.first_loss;
    const std::int64_t recent = std::min(header_.step - result_.first_step, TrainResult::kFinalLosses);
    result_.final_loss = std::accumulate(losses_.begin(), losses_.begin() + recent, 0.0) /
                         static_cast<double>(recent);  // no step here: not a number
    const auto last = std::span(std::as_const(losses_)).first(static_cast<std::size_t>(recent));
    const bool with_first = recent > 0 && recent == header_.step;
    result_.diverged =
        has_diverged(static_cast<double>(header_.first_loss), last.subspan(with_first ? 1 : 0));
    result_.seconds = now_seconds() - start;
    result_.facts = replicas_.facts();
    return std::move(result_);
  }

 private:
  // Only the rank that has the folder reads the checkpoint; the other ranks receive it.
  void resume() {
    if (folder_ != nullptr) load();
    replicas_.spread_state();
    std::pair<std::int64_t, float> begin{header_.step, header_.first_loss};
    replicas_.spread(std::as_writable_bytes(std::span(&begin, 1)));
    header_.step = saved_step_ = result_.first_step = begin.first;
    header_.first_loss = begin.second;
  }

  void load() {
    const auto latest = engine::latest_checkpoint(folder_->path());
    if (!latest) return;  // the folder was opened to resume or begin
    const engine::CheckpointHeader found = engine::load_checkpoint(*latest, header_, session_.executor());
    if (found.step > options_.steps)
      fail(ErrorKind::usage, "{}: '{}' is beyond the {} steps asked for", Setting{"resume"}, latest->string(),
           options_.steps);
    header_.step = found.step;
    header_.first_loss = found.first_loss;
    result_.resumed_from = result_.checkpoint = latest;
    if (options_.progress != nullptr)
      options_.progress->note(fmt::format("resumed from '{}'", latest->string()));
  }

  void train() {
    if (header_.step >= options_.steps) return;
    // The very first steps are left out, because they are slower.
    constexpr std::int64_t kSettled = 10;
    if (options_.tracer != nullptr)
      options_.tracer->choose(header_.step + kSettled, header_.step, options_.steps);
    start_inputs();
    Progress bar(options_.progress, "train " + session_.options().model.network, options_.steps);
    const meter::GpuWatch watch(session_.executor().device().pci_address());
    const bool has_all_cores = session_.executor().on_host() && replicas_.deployment().devices == 1;
    if (has_all_cores) result_.core_distance.before = meter::handoff_seconds(meter::kDistanceSeconds);
    const meter::NoiseGuard guard(watch.nvml());
    result_.gpu.before = watch.sample();
    DeviceLoop device(session_, device_seed(session_.options().seed, 0), feed_.get());
    if (options_.tracer != nullptr) start_tracing();
    first_began_ = now_seconds();
    while (header_.step < options_.steps && !replicas_.stop_agreed()) {
      steps_by_host() ? step_by_host() : step_on_device(device);
      if (bar.due())
        bar.update(header_.step, fmt::format("{:.0f} images/s, loss {:.4f}", images_per_second_, last_loss_));
      if (header_.step == options_.steps) break;  // run() saves and evaluates
      if (folder_ != nullptr && header_.step % options_.checkpoint_every == 0) save();
      if (evaluator_ != nullptr && options_.eval_every > 0 && header_.step % options_.eval_every == 0)
        evaluate();
    }
    result_.gpu.after = watch.sample();
    result_.cpu = guard.cpu_use();
    result_.cores_in_reach = cores_in_reach();
    if (inputs_ != nullptr) result_.input_wait_seconds = inputs_->longest_wait_seconds();
    result_.noise = guard.finish(replicas_.ranks() == nullptr ? 0 : add_other_ranks());
    if (has_all_cores) result_.core_distance.after = meter::handoff_seconds(meter::kDistanceSeconds);
  }

  // Returns the CPU time of those on this machine.
  double add_other_ranks() {
    RanksUse use =
        combine_use(*replicas_.ranks(), result_.cpu, result_.cores_in_reach, result_.input_wait_seconds);
    result_.cpu.user_seconds = use.user_seconds;
    result_.cpu.system_seconds = use.system_seconds;
    result_.input_wait_seconds = use.input_wait_seconds;
    result_.cores_in_reach = std::move(use.cores);
    return use.beside_seconds;
  }

  // A GPU repeats steps by itself only where nothing is exchanged between them.
  bool steps_by_host() const { return session_.executor().on_host() || replicas_.ranks() != nullptr; }

  void step_by_host() {
    const Replicas::Feed feed = [this](int device) { return inputs_->fill(device, options_.tracer); };
    const double began = now_seconds();
    const std::int64_t images = replicas_.step(header_.step, feed);
    const double seconds = now_seconds() - began;
    if (const int device = replicas_.diverged_device(); device >= 0)
      fail_diverged(replicas_.here() > 1 ? replicas_.session(device).loss() : replicas_.loss(),
                    replicas_.here() > 1 ? fmt::format(" of device {}", device) : "");
    note_step(replicas_.loss(), seconds, images, began + seconds);
  }

  // As many steps as fit before something is due.
  void step_on_device(DeviceLoop& device) {
    StepTracer* tracer = options_.tracer;
    const bool noted = tracer != nullptr && tracer->kind(header_.step) != StepTracer::Kind::none;
    const DeviceLoop::Done done = noted ? device.run_noted(header_.step, *tracer)
                                        : device.run(header_.step, device.steps_at_once(steps_until_due()));
    double ended = now_seconds() - std::accumulate(done.seconds.begin(), done.seconds.end(), 0.0);
    result_.event_seconds += done.event_seconds;
    result_.input_wait_seconds += done.wait_seconds;
    for (std::size_t i = 0; i < done.losses.size(); ++i) {
      if (!std::isfinite(done.losses[i])) fail_diverged(done.losses[i], "");
      ended += done.seconds[i];
      note_step(done.losses[i], done.seconds[i], session_.options().model.batch, ended);
    }
  }

  std::int64_t steps_until_due() const {
    std::int64_t most = options_.steps - header_.step;
    const auto due_every = [&](std::int64_t steps) { most = std::min(most, steps - header_.step % steps); };
    if (options_.tracer != nullptr) most = options_.tracer->unnoted(header_.step, most);
    if (folder_ != nullptr) due_every(options_.checkpoint_every);
    if (evaluator_ != nullptr && options_.eval_every > 0) due_every(options_.eval_every);
    return most;
  }

  data::BatchStreamOptions stream_of(int device) {
    const SessionOptions& asked = replicas_.session(device).options();
    return {.preprocess = options_.preprocess,
            .batch = asked.model.batch,
            .seed = asked.seed,
            .first_step = header_.step,
            .worker = replicas_.first_here() + device,
            .workers = replicas_.size(),
            .made = note_batches_of(device)};
  }

  std::function<void(std::int64_t, double, double)> note_batches_of(int device) const {
    StepTracer* tracer = options_.tracer;
    if (tracer == nullptr) return nullptr;
    return [tracer, device](std::int64_t step, double began, double ended) {
      tracer->note_batch(device, step, began, ended);
    };
  }

  void start_tracing() {
    if (steps_by_host()) return replicas_.trace(options_.tracer);
    options_.tracer->add_device(fmt::format("device 0 ({})", session_.backend().name()), session_.executor());
  }

  // Together the devices take the batches that one device would take; each prepares its own on its cores.
  void start_inputs() {
    if (!steps_by_host()) {
      feed_ = options_.feed_batches ? options_.feed_batches(session_, host_options(session_, stream_of(0)))
              : options_.batches    ? feed_from_host(session_, batches_(host_options(session_, stream_of(0))))
                                    : feed_device(session_, dataset_, stream_of(0), options_.feed);
      result_.feed = feed_ == nullptr ? Feed::device : Feed::host;
      return;
    }
    inputs_ =
        std::make_unique<HostBatches>(replicas_, [this](int device) { return batches_(stream_of(device)); });
  }

  [[noreturn]] void fail_diverged(float loss, const std::string& whose) const {
    fail(ErrorKind::device, "loss{} became {} at step {}", whose, std::isnan(loss) ? "nan" : "inf",
         header_.step);
  }

  void note_step(float loss, double seconds, std::int64_t images, double ended) {
    result_.loss_curve.add(ended - first_began_, replicas_.size(), static_cast<double>(loss));
    images_per_second_ = static_cast<double>(images) / seconds;
    last_loss_ = loss;
    note(loss, images_per_second_);
    result_.step_seconds.push_back(seconds);
    result_.images_consumed += images;
    ++header_.step;
  }

  void note(float loss, double images_per_second) {
    if (header_.step == 0) header_.first_loss = loss;
    losses_[static_cast<std::size_t>((header_.step - result_.first_step) % TrainResult::kFinalLosses)] = loss;
    if (events_ == nullptr) return;
    const SessionOptions& asked = session_.options();
    const std::array<Scalar, 3> scalars{
        {{"loss", loss},
         {"learning_rate", static_cast<float>(asked.update.schedule.at(header_.step))},
         {"images_per_second", static_cast<float>(images_per_second)}}};
    events_->add(header_.step, scalars);
  }

  void evaluate() {
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
    if (options_.progress != nullptr && header_.step < options_.steps)
      options_.progress->note(fmt::format("step {}: test accuracy {:.4f}", header_.step, accuracy));
  }

  void save() {
    if (folder_ == nullptr) return;
    events_->flush();
    if (options_.input_place) header_.reached = {{kInputPlace, options_.input_place(header_.step)}};
    result_.checkpoint =
        engine::save_checkpoint(session_.executor(), header_, {folder_->path(), options_.keep});
    saved_step_ = header_.step;
  }

  Replicas& replicas_;
  Session& session_;  // whose state is saved and evaluated
  const data::Dataset& dataset_;
  const TrainOptions& options_;
  const data::MakeBatches batches_;
  const RunFolder* folder_;
  engine::CheckpointHeader header_;  // its step: how many are done
  std::int64_t saved_step_ = 0, evaluated_step_ = -1;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<EventFile> events_;
  std::unique_ptr<HostBatches> inputs_;  // on the host
  std::unique_ptr<HostFeed> feed_;       // of another device; null: it feeds itself
  std::array<double, TrainResult::kFinalLosses> losses_{};
  double first_began_ = 0;        // when the first step did
  double images_per_second_ = 0;  // of the last step
  float last_loss_ = 0;
  TrainResult result_;
};

}  // namespace

TrainResult run_training(Replicas& replicas, const data::Dataset& dataset, const TrainOptions& options,
                         const RunFolder* folder) {
  const process::StopRequest guard;
  return TrainingRun(replicas, dataset, options, folder).run();
}

}  // namespace trainyard::train
