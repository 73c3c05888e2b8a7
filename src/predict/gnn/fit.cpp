#include "predict/gnn/fit.h"

#include <cstdlib>

#include "base/crc32c.h"
#include "base/file.h"
#include "engine/checkpoint.h"
#include "predict/gnn/trainer.h"

namespace trainyard::predict {

namespace {

constexpr const char* kNetwork = "gnn fit";
constexpr const char* kWeightsSchema = "trainyard-graph-weights";  // of a fit that goes on

template <typename T>
std::uint32_t add_to(std::uint32_t sum, const std::vector<T>& numbers) {
  return crc32c(numbers.data(), numbers.size() * sizeof(T), sum);
}

std::string sum_of(std::span<const GraphSample> samples) {
  std::uint32_t sum = 0;
  for (const GraphSample& sample : samples) {
    sum = add_to(sum, sample.features);
    sum = add_to(sum, sample.offsets);
    sum = add_to(sum, sample.neighbours);
    for (std::size_t output = 0; output < sample.labels.size(); ++output)
      if (sample.knows(output)) sum = crc32c(&sample.labels[output], sizeof(float), sum);
    sum = add_to(sum, sample.known);
  }
  return fmt::format("{} graphs {:08x}", samples.size(), sum);
}

std::string sum_of(const GnnModel* start) {
  if (start == nullptr) return "none";
  std::uint32_t sum = 0;
  for (const NamedTensor& tensor : start->parameters) sum = add_to(sum, tensor.numbers);
  return fmt::format("{:08x}", sum);
}

}  // namespace

FitFolder::FitFolder(const GnnFitOptions& options, std::span<const GraphSample> training,
                     std::span<const GraphSample> validation)
    : options_(options), asked_(to_settings(options.architecture)) {
  std::string frozen;
  for (const std::string& one : options.frozen) frozen += one + " ";
  for (auto& setting : Settings{{"loss", name(options.loss)},
                                {"raw_features", options.raw_features ? "yes" : "no"},
                                {"learning_rate", fmt::format("{}", options.learning_rate)},
                                {"weight_decay", fmt::format("{}", options.weight_decay)},
                                {"batch", std::to_string(options.batch)},
                                {"shuffle", options.shuffle ? "yes" : "no"},
                                {"start", sum_of(options.start)},
                                {"frozen", frozen},
                                {"training", sum_of(training)},
                                {"validation", sum_of(validation)}})
    asked_.push_back(std::move(setting));
}

std::filesystem::path FitFolder::best_path(std::int64_t epoch) const {
  return options_.folder / fmt::format("best-{:08}.model", epoch);
}

void FitFolder::save(const engine::Executor& executor, const FitState& state, std::int64_t step) const {
  make_folders(options_.folder);
  if (!std::filesystem::exists(best_path(state.best_epoch)))
    write_model_file(best_path(state.best_epoch), {kWeightsSchema, {}, state.best});
  constexpr int kKept = 1;
  engine::save_checkpoint(executor,
                          {.network = kNetwork,
                           .step = step,
                           .seed = options_.seed,
                           .asked = asked_,
                           .reached = {{"epochs", std::to_string(state.epochs)},
                                       {"best_epoch", std::to_string(state.best_epoch)},
                                       {"best_loss", fmt::format("{}", state.best_loss)}}},
                          {.folder = options_.folder, .keep = kKept});
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder, code))
    if (entry.path().extension() == ".model" && entry.path() != best_path(state.best_epoch))
      std::filesystem::remove(entry.path(), code);
}

std::optional<FitState> FitFolder::load(engine::Executor& executor) const {
  const auto latest = engine::latest_checkpoint(options_.folder);
  if (!latest) return std::nullopt;
  const engine::CheckpointHeader header = engine::load_checkpoint(
      *latest, {.network = kNetwork, .seed = options_.seed, .asked = asked_, .reached = {}}, executor);
  const std::string who = latest->string();
  FitState state;
  state.epochs = whole_setting(header.reached, "epochs", who);
  state.best_epoch = whole_setting(header.reached, "best_epoch", who);
  state.best_loss = std::strtod(setting(header.reached, "best_loss", who).c_str(), nullptr);
  state.best = read_model_file(best_path(state.best_epoch)).tensors;
  return state;
}

namespace {

void check_options(const GnnFitOptions& options) {
  check_architecture(options.architecture);
  for (const auto& [what, value] : {std::pair{"batch", options.batch},
                                    {"epochs", options.epochs},
                                    {"patience", options.patience},
                                    {"save_every", options.save_every}})
    if (value < 1) fail(ErrorKind::config, "fit: {} {}: wants at least 1", what, value);
  if (!(options.learning_rate > 0))
    fail(ErrorKind::config, "fit: learning rate {}: wants more than 0", options.learning_rate);
  if (!(options.weight_decay >= 0))
    fail(ErrorKind::config, "fit: weight decay {}: wants at least 0", options.weight_decay);
  const auto shapes = parameter_shapes(options.architecture);
  for (const std::string& one : options.frozen)
    if (std::none_of(shapes.begin(), shapes.end(),
                     [&](const auto& row) { return row.first.starts_with(one); }))
      fail(ErrorKind::config, "fit: no parameter to freeze begins with '{}'; there are {} to {}", one,
           shapes.front().first, shapes.back().first);
}

void check_samples(std::span<const GraphSample> training, std::span<const GraphSample> validation,
                   const Architecture& architecture) {
  if (training.empty()) fail(ErrorKind::config, "fit: no graphs to train on");
  for (const auto samples : {training, validation})
    for (const GraphSample& sample : samples)
      check_sample(sample, architecture.features, architecture.outputs);
  const auto knows_any = [&](const GraphSample& sample) {
    for (std::size_t i = 0; i < sample.labels.size(); ++i)
      if (sample.knows(i)) return true;
    return false;
  };
  for (const auto samples : {training, validation})
    if (!samples.empty() && std::none_of(samples.begin(), samples.end(), knows_any))
      fail(ErrorKind::config, "fit: no label of the {} graphs is known",
           samples.data() == training.data() ? "training" : "validation");
}

GnnScaling make_scaling(std::span<const GraphSample> training, const GnnFitOptions& options) {
  GnnScaling scaling = fit_scaling(training, options.architecture, options.loss, options.raw_features);
  if (options.start == nullptr) return scaling;
  const GnnScaling& before = options.start->scaling;
  if (before.feature_middle.size() != scaling.feature_middle.size())
    fail(ErrorKind::config, "fit: the model to start with has {} features, wants {}",
         before.feature_middle.size(), scaling.feature_middle.size());
  scaling.logarithmic_features = before.logarithmic_features;
  scaling.feature_middle = before.feature_middle;
  scaling.feature_spread = before.feature_spread;
  if (before.loss == scaling.loss && before.label_middle.size() == scaling.label_middle.size()) {
    scaling.label_middle = before.label_middle;
    scaling.label_spread = before.label_spread;
  }
  return scaling;
}

// Returns the parameters that the start does not have.
std::vector<std::string> write_start(engine::Executor& executor, const GnnFitOptions& options) {
  std::vector<std::string> fresh;
  std::vector<NamedTensor> taken;
  for (const auto& [name, shape] : parameter_shapes(options.architecture)) {
    const NamedTensor* found = options.start->find(name);
    if (found != nullptr && found->shape == shape) {
      taken.push_back(*found);
      continue;
    }
    if (is_frozen(name, options.frozen))
      fail(ErrorKind::config, "fit: '{}' is frozen, but the model to start with has {}", name,
           found == nullptr ? "none" : "one of " + found->shape.to_string());
    fresh.push_back(name);
  }
  write_weights(executor, taken);
  return fresh;
}

}  // namespace

GnnFitResult fit(std::span<const GraphSample> training, std::span<const GraphSample> validation,
                 const GnnFitOptions& options) {
  check_options(options);
  check_samples(training, validation, options.architecture);
  const GnnScaling scaling = make_scaling(training, options);
  Trainer trainer(training, validation, options, scaling);
  GnnFitResult result;
  if (options.start != nullptr) result.fresh = write_start(trainer.executor(), options);
  const FitFolder folder(options, training, validation);
  FitState state;
  if (auto loaded =
          options.resume && !options.folder.empty() ? folder.load(trainer.executor()) : std::nullopt)
    state = std::move(*loaded);
  else
    trainer.check_gradients();
  const auto save = [&] {
    if (!options.folder.empty())
      folder.save(trainer.executor(), state, state.epochs * trainer.steps_per_epoch());
  };
  const auto is_over = [&] {
    return result.interrupted || state.epochs >= options.epochs ||
           (state.best_epoch >= 0 && state.epochs - 1 - state.best_epoch >= options.patience);
  };
  while (!is_over()) {
    EpochReport report{.epoch = state.epochs};
    report.training_loss = trainer.train_epoch(state.epochs);
    report.validation_loss = validation.empty() ? report.training_loss : trainer.validate();
    report.best = state.best_epoch < 0 || report.validation_loss < state.best_loss;
    if (report.best) {
      state.best_epoch = state.epochs;
      state.best_loss = report.validation_loss;
      state.best = read_weights(trainer.executor(), options.architecture);
    }
    ++state.epochs;
    result.interrupted = options.hear && !options.hear(report);
    if (state.epochs % options.save_every == 0 || is_over()) save();
  }
  result.epochs = state.epochs;
  result.best_epoch = state.best_epoch;
  result.best_loss = state.best_loss;
  result.model = {options.architecture, scaling, std::move(state.best)};
  return result;
}

}  // namespace trainyard::predict
