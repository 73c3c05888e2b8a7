#include "predict/gnn/fit_state.h"

#include <cstdlib>

#include "base/crc32c.h"
#include "base/file.h"
#include "engine/checkpoint.h"

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

}  // namespace trainyard::predict
