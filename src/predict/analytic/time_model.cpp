#include "predict/analytic/time_model.h"

#include "base/json.h"
#include "base/text.h"
#include "stats/least_squares.h"

namespace trainyard::predict {

namespace {

// An error beyond this, in logarithms, counts linearly and no longer by its square.
constexpr double kToleratedError = 0.1;
constexpr double kFarthest = 5;  // deviations of a constant from the prior

// Parameters holds logarithms of constants, as deviations from the prior.
class Parameters {
 public:
  explicit Parameters(const ConstantsPrior& prior) : prior_(prior) {}

  std::size_t count() const {
    return (prior_.fixed_shared ? std::size_t{0} : std::size_t{kSharedConstants}) +
           prior_.own.size() * kDeviceConstants;
  }
  FittedConstants at(const std::vector<double>& deviations) const {
    FittedConstants constants{prior_.shared, prior_.own};
    std::size_t next = 0;
    const auto moved = [&](double first, const ConstantRow& row) {
      return first * std::exp(std::clamp(deviations[next++], -kFarthest, kFarthest) * row.deviation);
    };
    if (!prior_.fixed_shared)
      for (std::size_t i = 0; i < kSharedConstants; ++i)
        constants.shared[i] = moved(prior_.shared[i], kSharedRows[i]);
    for (std::size_t d = 0; d < prior_.own.size(); ++d)
      for (std::size_t i = 0; i < kDeviceConstants; ++i)
        constants.own[d][i] = moved(prior_.own[d][i], kDeviceRows[i]);
    return constants;
  }

 private:
  const ConstantsPrior& prior_;
};

}  // namespace

FittedConstants fit_constants(const std::vector<NetworkWork>& works, const std::vector<DeviceSheet>& devices,
                              const std::vector<Observation>& runs, const ConstantsPrior& prior) {
  const Parameters parameters(prior);
  // Runs of one work on one device share its parts.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
  for (std::size_t r = 0; r < runs.size(); ++r) groups[{runs[r].work, runs[r].device}].push_back(r);
  const double pull = kUsualError * std::sqrt(kPriorRuns);
  const auto residuals_of = [&](const std::vector<double>& deviations, std::vector<double>& residuals) {
    const FittedConstants constants = parameters.at(deviations);
    residuals.resize(runs.size() + deviations.size());
    for (const auto& [key, members] : groups) {
      const DeviceConstants& own = constants.own[key.second];
      const StepParts parts = step_parts(works[key.first], devices[key.second], constants.shared, own);
      for (const std::size_t r : members)
        residuals[r] = std::log(run_seconds(parts, own, runs[r].steps, runs[r].with_start) / runs[r].seconds);
    }
    for (std::size_t p = 0; p < deviations.size(); ++p) residuals[runs.size() + p] = pull * deviations[p];
  };
  constexpr int kRounds = 30;
  const stats::RobustFit fit = stats::fit_robustly(std::vector<double>(parameters.count(), 0.0),
                                                   kToleratedError, residuals_of, kRounds);
  return parameters.at(fit.parameters);
}

namespace {

constexpr double kHostWidening = 2;
constexpr double kWidest = 5;  // of halves of intervals, as logarithms

// Returns geometric means over the devices that were seen.
DeviceConstants average_host(const std::vector<DeviceModel>& devices) {
  DeviceConstants mean = first_of_device();
  double seen = 0;
  DeviceConstants logarithms{};
  for (const DeviceModel& one : devices) {
    if (one.runs == 0) continue;
    seen += 1;
    for (std::size_t i = 0; i < kDeviceConstants; ++i) logarithms[i] += std::log(one.constants[i]);
  }
  if (seen > 0)
    for (std::size_t i = 0; i < kDeviceConstants; ++i) mean[i] = std::exp(logarithms[i] / seen);
  return mean;
}

}  // namespace

DeviceModel TimeModel::find(std::string_view name, const std::vector<DeviceSheet>& others) const {
  for (const DeviceModel& one : devices)
    if (same_device_name(one.device.name, name)) return one;
  for (const DeviceSheet& device : others)
    if (same_device_name(device.name, name)) return {device, average_host(devices), 0, shared_covariance};
  std::string names;
  for (const DeviceModel& one : devices) names += (names.empty() ? "" : ", ") + one.device.name;
  for (const DeviceSheet& device : others) {
    bool seen = false;
    for (const DeviceModel& one : devices) seen = seen || same_device_name(one.device.name, device.name);
    if (!seen) names += ", " + device.name;
  }
  fail(ErrorKind::config, "unknown device '{}'; known are {}", name, names);
}

std::vector<DeviceSheet> TimeModel::seen_devices() const {
  std::vector<DeviceSheet> seen;
  for (const DeviceModel& one : devices) seen.push_back(one.device);
  return seen;
}

double half_interval(const Calibration& calibration, const Doubt& doubt) {
  const double known = calibration.known * doubt.widening;
  const double fresh = doubt.is_unlike() ? calibration.unlike : calibration.fresh;
  return std::min(kWidest,
                  std::sqrt(doubt.known * known * known + (1 - doubt.known) * fresh * fresh * doubt.open +
                            kDeviceHalf * kDeviceHalf * doubt.between));
}

Doubt doubt_of(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
               bool with_start, Campaign campaign) {
  const StepParts parts = step_parts(work, on.device, model.shared, on.constants);
  const Sensitivity sensitivity =
      sensitivity_of(work, on.device, model.shared, on.constants, steps, with_start);
  const bool seen = on.runs > 0;
  return {.known = model.residual.at(place_of(work, parts, on.device)).known,
          .widening = 1 + kHostWidening * parts.host / (parts.host + parts.device()),
          .open = open_variance(on.covariance, sensitivity),
          .between = seen && campaign == Campaign::same ? 0 : device_variance(sensitivity, seen)};
}

// Ops whose work is not known take from no time at all to three times that of the others on average.
constexpr double kMostOfUnknown = 3;

void tell_of_graph(const NetworkWork& work, Prediction& result) {
  if (work.forward_only)
    result.remarks.emplace_back("the graph has no gradients: a step is its forward pass");
  if (work.unknown_ops.empty()) return;
  const double share = work.unknown_share;
  result.high_seconds *= 1 + kMostOfUnknown * share / (1 - share);
  result.remarks.push_back(
      fmt::format("the work of {:.1f} % of the ops is not known ({}): the interval is wider", 100 * share,
                  joined(work.unknown_ops, ", ")));
}

Prediction predict(const TimeModel& model, const NetworkWork& work, const DeviceModel& on, double steps,
                   bool with_start, Campaign campaign) {
  Prediction result;
  result.device_seen = on.runs > 0;
  result.parts = step_parts(work, on.device, model.shared, on.constants);
  const Place place = place_of(work, result.parts, on.device);
  const Residual::Estimate missed = model.residual.at(place);
  const double factor = std::exp(missed.mean);
  result.known = missed.known;
  result.unlike_learned = missed.known < kUnlike;
  result.step_seconds = factor * result.parts.step;
  result.start_seconds = factor * result.parts.start;
  result.seconds = factor * run_seconds(result.parts, on.constants, steps, with_start);
  const double half =
      model.calibration.is_there()
          ? half_interval(model.calibration, doubt_of(model, work, on, steps, with_start, campaign))
          : 0;
  result.low_seconds = result.seconds * std::exp(-half);
  result.high_seconds = result.seconds * std::exp(half);
  tell_of_graph(work, result);
  result.memory = memory_need(work);
  result.oom_probability = model.memory.oom_probability(result.memory.total(), on.device);
  result.use = model.use.at(use_place(place, result.seconds), on.device.name);
  result.usual_use = model.use.usual(on.device.name);
  return result;
}

namespace {

constexpr std::size_t kMostDevices = 1000, kMostNetworks = 10000;
constexpr std::int64_t kMostSamples = 4000;
constexpr const char* kResidualTensor = "residual";

template <std::size_t Count>
Json named(const std::array<ConstantRow, Count>& rows, const std::array<double, Count>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < Count; ++i) json[rows[i].name] = values[i];
  return json;
}

Json json_of_device(const DeviceModel& one) {
  Json json = parse_json(device_to_json(one.device));
  json["runs"] = one.runs;
  json["constants"] = named(kDeviceRows, one.constants);
  return json;
}

constexpr double kTiny = 1e-30, kHuge = 1e30;

template <std::size_t Count>
std::array<double, Count> constants_in(const JsonMembers& members,
                                       const std::array<ConstantRow, Count>& rows) {
  std::array<double, Count> values{};
  for (std::size_t i = 0; i < Count; ++i) values[i] = members.number(rows[i].name, kTiny, kHuge);
  return values;
}

DeviceModel device_in(const JsonMembers& members) {
  DeviceModel one;
  one.device = parse_device(members);
  one.runs = members.number("runs", 0, kHuge);
  one.constants = constants_in(members.object("constants"), kDeviceRows);
  return one;
}

// A sample is a row: place, error, runs.
constexpr std::size_t kSampleColumns = kPlaceDimensions + 2;

constexpr const char* kCovarianceTensor = "covariance";
constexpr std::size_t kCovarianceColumns = kConstants * kConstants;
constexpr double kMostCovariance = 1e6;

// The first matrix is that of the shared constants; one for each device follows.
ModelTensor tensor_of_covariances(const TimeModel& model) {
  std::vector<double> numbers = model.shared_covariance;
  for (const DeviceModel& one : model.devices) {
    if (model.shared_covariance.empty()) continue;
    ConstantsCovariance whole = one.covariance;
    whole.resize(kCovarianceColumns);
    numbers.insert(numbers.end(), whole.begin(), whole.end());
  }
  const auto rows = static_cast<std::int64_t>(numbers.size() / kCovarianceColumns);
  return {kCovarianceTensor, {rows, kCovarianceColumns}, std::move(numbers)};
}

// A model without intervals has no rows.
void read_covariances(const ModelContainer& container, const std::string& who, TimeModel& model) {
  const std::span<const double> numbers =
      container.rows(kCovarianceTensor, kCovarianceColumns, kMostDevices + 1, who);
  if (numbers.empty()) return;
  if (numbers.size() != (model.devices.size() + 1) * kCovarianceColumns)
    fail(ErrorKind::config, "'{}': tensor '{}' has {} rows, wants one of shared constants and {} of devices",
         who, kCovarianceTensor, numbers.size() / kCovarianceColumns, model.devices.size());
  if (std::any_of(numbers.begin(), numbers.end(), [](double x) { return !(std::abs(x) < kMostCovariance); }))
    fail(ErrorKind::config, "'{}': tensor '{}' has a number beyond {}", who, kCovarianceTensor,
         kMostCovariance);
  const auto matrix = [&](std::size_t row) {
    const auto values = numbers.subspan(row * kCovarianceColumns, kCovarianceColumns);
    return ConstantsCovariance(values.begin(), values.end());
  };
  model.shared_covariance = matrix(0);
  for (std::size_t d = 0; d < model.devices.size(); ++d) model.devices[d].covariance = matrix(d + 1);
}

ModelTensor tensor_of(const std::vector<Residual::Sample>& samples) {
  std::vector<double> numbers;
  for (const Residual::Sample& sample : samples) {
    numbers.insert(numbers.end(), sample.place.begin(), sample.place.end());
    numbers.push_back(sample.error);
    numbers.push_back(sample.runs);
  }
  return {kResidualTensor, {static_cast<std::int64_t>(samples.size()), kSampleColumns}, std::move(numbers)};
}

std::vector<Residual::Sample> samples_in(const ModelContainer& container, const std::string& who) {
  const std::span<const double> numbers = container.rows(kResidualTensor, kSampleColumns, kMostSamples, who);
  std::vector<Residual::Sample> samples;
  for (std::size_t at = 0; at < numbers.size(); at += kSampleColumns) {
    const std::span<const double> cells = numbers.subspan(at, kSampleColumns);
    Residual::Sample sample;
    std::copy_n(cells.begin(), kPlaceDimensions, sample.place.begin());
    sample.error = cells[kPlaceDimensions];
    sample.runs = cells[kPlaceDimensions + 1];
    if (std::any_of(cells.begin(), cells.end(), [](double x) { return !(std::abs(x) < kHuge); }) ||
        !(sample.runs >= 1))
      fail(ErrorKind::config, "'{}': row {} of tensor '{}' is out of bounds", who, samples.size(),
           kResidualTensor);
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

ModelContainer to_container(const TimeModel& model) {
  Json devices = Json::array();
  for (const DeviceModel& one : model.devices) devices.push_back(json_of_device(one));
  const Json description{
      {"runs", model.runs},
      {"networks", model.networks},
      {"shared", named(kSharedRows, model.shared)},
      {"devices", std::move(devices)},
      {"calibration",
       {{"known", model.calibration.known},
        {"fresh", model.calibration.fresh},
        {"unlike", model.calibration.unlike}}},
      {"memory", {{"usable_share", model.memory.usable_share}, {"deviation", model.memory.deviation}}},
      {"use", parse_json(use_to_json(model.use))}};
  ModelContainer container{kTimeModelSchema, kTimeModelVersion, json_text(description),
                           use_tensors(model.use)};
  container.tensors.push_back(tensor_of(model.residual.samples()));
  container.tensors.push_back(tensor_of_covariances(model));
  return container;
}

TimeModel parse_time_model(const ModelContainer& container, const std::string& who) {
  want_schema(container, kTimeModelSchema, kTimeModelVersion, who);
  const JsonMembers members(container.description, who);
  TimeModel model;
  model.runs = members.number("runs", 0, kHuge);
  model.networks = members.texts("networks", kMostNetworks);
  model.shared = constants_in(members.object("shared"), kSharedRows);
  for (const JsonMembers& device : members.objects("devices", kMostDevices))
    model.devices.push_back(device_in(device));
  const JsonMembers calibration = members.object("calibration"), memory = members.object("memory");
  model.calibration = {calibration.number("known", 0, 10), calibration.number("fresh", 0, 100),
                       calibration.number("unlike", 0, 100)};
  model.memory = {memory.number("usable_share", 0.01, 10), memory.number("deviation", 1e-6, 10)};
  model.residual = Residual(samples_in(container, who));
  read_covariances(container, who, model);
  model.use = parse_use(members.object("use"), container, who);
  return model;
}

void write_time_model(const TimeModel& model, const std::filesystem::path& path) {
  write_model_container(path, to_container(model));
}

TimeModel read_time_model(const std::filesystem::path& path) {
  return parse_time_model(read_model_container(path), path.string());
}

}  // namespace trainyard::predict
