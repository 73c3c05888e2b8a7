#include "trainyard/train.h"

#include "api/session_options.h"
#include "base/clock.h"
#include "run/training.h"
#include "train/loop/training.h"

namespace trainyard {
namespace {

constexpr double kProgressSeconds = 0.2;  // between two calls

// Passes the number of steps done on to the caller's function.
class ProgressCalls : public ProgressListener {
 public:
  explicit ProgressCalls(const std::function<void(std::int64_t)>& hear) : hear_(hear) {}

  void begin(const std::string&, std::int64_t) override {}
  bool due() const override { return hear_ && now_seconds() >= next_; }
  void update(std::int64_t done, const std::string&) override {
    if (!due()) return;
    next_ = now_seconds() + kProgressSeconds;
    hear_(done);
  }
  void end() override {}
  void note(const std::string&) override {}
  void warn(const std::string&) override {}

 private:
  const std::function<void(std::int64_t)>& hear_;
  double next_ = 0;
};

TrainReport report_of(const train::TrainResult& result) {
  TrainReport report{.first_step = result.first_step,
                     .final_step = result.final_step,
                     .step_seconds = result.step_seconds,
                     .seconds = result.seconds,
                     .first_loss = result.first_loss,
                     .final_loss = result.final_loss,
                     .diverged = result.diverged,
                     .test_accuracy = result.test_accuracy,
                     .checkpoint = result.checkpoint.value_or("")};
  const std::span<const double> timed = run::measurement_of(result).step_seconds;
  const double seconds = std::accumulate(timed.begin(), timed.end(), 0.0);
  if (seconds > 0)
    report.images_per_second = static_cast<double>(result.images_consumed) /
                               static_cast<double>(result.step_seconds.size()) *
                               static_cast<double>(timed.size()) / seconds;
  return report;
}

TrainReport train_here(const Network& network, const TrainSettings& settings) {
  train::SessionOptions session = api::session_options(network, settings.run, true);
  const networks::NetworkInfo& info = network.parts().info;
  ProgressCalls progress(settings.on_progress);
  const run::Input loaded =
      run::load_for(info, network.parts().model, settings.run.seed,
                    {.data = {.name = settings.data, .folder = settings.data_folder}}, &progress);
  const data::Dataset& dataset = loaded.dataset;
  const train::MatchedInput input = train::match_input(info, dataset, "");
  session.model.input = input.network;
  if (session.model.classes == 0 && !session.model.imported)
    session.model.classes = input.classes;
  else if (settings.run.new_head && !info.reads_sequences() && network.parts().file)
    networks::give_classes(*network.parts().file, input.classes, session.model);
  api::give_weights(network, settings.run, session);
  if (!backend::make_backend(session.backend, session.device)->executes())
    fail(ErrorKind::usage, "{} {}: computes nothing, so cannot train", Setting{"backend"}, session.backend);
  const train::TrainOptions loop{.steps = settings.steps,
                                 .preprocess = input.preprocess,
                                 .evaluate = settings.evaluate,
                                 .checkpoint_every = settings.checkpoint_every,
                                 .resume = settings.resume,
                                 .progress = &progress};
  std::unique_ptr<train::RunFolder> folder;
  if (!settings.folder.empty())
    folder = std::make_unique<train::RunFolder>(
        settings.folder, settings.resume ? train::Existing::resume_or_begin : train::Existing::refuse);
  train::Replicas replicas(session, {});
  return report_of(train::run_training(replicas, dataset, loop, folder.get()));
}

}  // namespace

TrainReport train_network(const Network& network, const TrainSettings& settings) {
  api::want_number("steps", static_cast<double>(settings.steps));
  api::want_number("checkpoint_every", static_cast<double>(settings.checkpoint_every));
  if (settings.resume && settings.folder.empty())
    fail(ErrorKind::usage, "{}: wants {}", Setting{"resume"}, Setting{"folder"});
  return api::run_apart([&] { return train_here(network, settings); });
}

}  // namespace trainyard
