#include "cli/training_setup.h"

#include <cmath>

#include "base/error.h"
#include "networks/zoo.h"
#include "train/match_input.h"
#include "train/ps_training.h"

namespace trainyard::cli {
namespace {

Input load(const TrainCommand& options, const networks::NetworkInfo& network) {
  InputOptions wanted = options.input;
  if (wanted.data.name == "synthetic")
    wanted.data.synthetic = train::synthetic_for(network, options.run.classes, options.run.seed);
  Input input = load_input(wanted, options.run.quiet);
  if (options.run.classes != 0 && options.run.classes < input.dataset.classes)
    fail(ErrorKind::usage, "--classes {}: data set '{}' has {}", options.run.classes, input.dataset.name,
         input.dataset.classes);
  return input;
}

// Independent devices go through the images each for itself.
std::int64_t steps_of(const TrainCommand& options, const data::Dataset& dataset,
                      const train::Deployment& deployment) {
  if (options.steps > 0) return options.steps;
  const double images = options.epochs * static_cast<double>(dataset.size(data::Split::train));
  // A step is an update: of the batches of all devices, or of one.
  const bool of_one = deployment.strategy == train::Strategy::independent ||
                      (deployment.strategy == train::Strategy::servers &&
                       !train::one_update_of_all(ps::ModeName::parse(deployment.mode)));
  const std::int64_t batch =
      of_one ? deployment.batch_per_device(options.run.batch) : deployment.global_batch(options.run.batch);
  return static_cast<std::int64_t>(std::ceil(images / static_cast<double>(batch)));
}

}  // namespace

TrainingSetup set_up_training(const TrainCommand& options) {
  TrainingSetup setup;
  setup.deployment = to_deployment(options.deployment, options.run.batch);
  setup.session = to_session(options.run);
  setup.session.model.batch = setup.deployment.batch_per_device(options.run.batch);
  if (!backend::make_backend(setup.session.backend)->executes())
    fail(ErrorKind::usage, "--backend {}: computes nothing, so cannot train", setup.session.backend);
  const networks::NetworkInfo network = networks::find_network(options.run.network, options.run.parameters);
  train::want_images(network);
  setup.input = load(options, network);
  const data::Dataset& dataset = setup.input.dataset;
  const train::MatchedInput input = train::match_input(network, dataset, options.preprocess);
  setup.session.model.input = input.network;
  if (setup.session.model.classes == 0) setup.session.model.classes = dataset.classes;
  setup.loop = options.train;
  setup.loop.steps = steps_of(options, dataset, setup.deployment);
  setup.loop.preprocess = input.preprocess;
  setup.loop.feed = *train::find_feed(options.feed);
  setup.loop.evaluate = !options.no_eval;
  setup.loop.resume = options.resume.is_given();
  setup.loop.quiet = options.run.quiet;
  return setup;
}

}  // namespace trainyard::cli
