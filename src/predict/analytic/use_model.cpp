#include "predict/analytic/use_model.h"

#include "base/json.h"

namespace trainyard::predict {

namespace {

constexpr double kFloatBytes = 4;
// The prior of the share, without samples: contexts and libraries take some hundred MiB.
constexpr double kFirstShare = 0.95, kShareDeviation = 0.05;

double normal_share(double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2.0)); }

}  // namespace

MemoryNeed memory_need(const NetworkWork& work) {
  const double weights = kFloatBytes * work.parameters;
  return {.weights = weights,
          .gradients = weights,
          .optimizer = weights * work.state_slots,
          .activations = work.peak_live_bytes,
          .workspace = work.largest_kernel_bytes};
}

double MemoryModel::oom_probability(double bytes, const DeviceSheet& device) const {
  return normal_share(std::log(bytes / (usable_share * device.memory_bytes)) / deviation);
}

MemoryModel fit_memory(const std::vector<MemorySample>& samples) {
  MemoryModel best;
  double best_likelihood = -1e300;
  for (int step = -100; step <= 100; ++step) {
    MemoryModel tried;
    const double away = 3 * step / 100.0;  // deviations from what is known
    tried.usable_share = kFirstShare * std::exp(away * kShareDeviation);
    double likelihood = -away * away / 2;
    for (const MemorySample& sample : samples) {
      const double p = tried.oom_probability(sample.bytes, {.memory_bytes = sample.memory_bytes});
      likelihood += std::log(std::max(sample.oom ? p : 1 - p, 1e-12));
    }
    if (likelihood <= best_likelihood) continue;
    best_likelihood = likelihood;
    best = tried;
  }
  return best;
}

namespace {

constexpr double kNoise = 0.3;        // variance of a run beside its like, over that between places
constexpr double kLengthScale = 1.5;  // of the logarithm of seconds
constexpr double kLeastShare = 5e-4;  // a sample of a run of ten minutes

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<UseModel::Output> outputs_in(const std::vector<UseSample>& samples,
                                         std::vector<UseModel::Output> outputs) {
  for (const UseSample& sample : samples)
    for (const ResourceUse& use : sample.use)
      for (const bool peak : {false, true}) {
        const UseModel::Output output{use.resource, peak};
        if (std::isfinite(peak ? use.peak : use.burst) &&
            std::find(outputs.begin(), outputs.end(), output) == outputs.end())
          outputs.push_back(output);
      }
  return outputs;
}

// Returns NaN where no sample of the device (of any device, where the name is empty) has the share.
double mean_share(const std::vector<UseSample>& samples, const std::string& device,
                  const UseModel::Output& output) {
  double sum = 0, count = 0;
  for (const UseSample& sample : samples) {
    const double share = share_in(sample.use, output.resource, output.peak);
    if (!std::isfinite(share) || !(device.empty() || sample.device == device)) continue;
    sum += share;
    count += 1;
  }
  return count > 0 ? sum / count : kUnknown;
}

// Keeps the means of the base. Other outputs and devices get the means of the samples, or those over all
// devices.
std::vector<UseModel::DeviceMeans> means_in(const std::vector<UseSample>& samples,
                                            const std::vector<UseModel::Output>& outputs,
                                            std::vector<UseModel::DeviceMeans> means) {
  if (means.empty()) means.push_back({});
  for (const UseSample& sample : samples)
    if (std::none_of(means.begin(), means.end(),
                     [&](const UseModel::DeviceMeans& one) { return one.device == sample.device; }))
      means.push_back({sample.device, {}});
  for (UseModel::DeviceMeans& one : means)
    for (std::size_t o = one.shares.size(); o < outputs.size(); ++o) {
      const double share = mean_share(samples, one.device, outputs[o]);
      one.shares.push_back(std::isfinite(share) ? share : means.front().shares[o]);
    }
  return means;
}

// Turns targets, NaN where they are not known, into weights. Most runs have all or the same outputs, so one
// factorisation serves several.
void solve_weights(std::vector<UseModel::Row>& rows, std::size_t outputs) {
  std::vector<std::size_t> factored;
  stats::CovarianceFactor factor;
  for (std::size_t o = 0; o < outputs; ++o) {
    std::vector<std::size_t> known;
    std::vector<double> targets;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (std::isfinite(rows[r].weights[o])) {
        known.push_back(r);
        targets.push_back(rows[r].weights[o]);
      }
    if (known != factored) {
      factor = stats::CovarianceFactor(known.size(), [&](std::size_t i, std::size_t j) {
        return i == j ? 1 + kNoise : stats::similarity(rows[known[i]].place, rows[known[j]].place);
      });
      factored = known;
    }
    factor.solve(targets);
    for (UseModel::Row& row : rows) row.weights[o] = 0;
    for (std::size_t i = 0; i < known.size(); ++i) rows[known[i]].weights[o] = targets[i];
  }
}

// Inverts solve_weights: returns the targets that the weights were made from.
std::vector<UseModel::Row> targets_of(const std::vector<UseModel::Row>& rows, std::size_t outputs) {
  std::vector<UseModel::Row> targets = rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    targets[i].weights.assign(outputs, kUnknown);
    for (std::size_t o = 0; o < rows[i].weights.size(); ++o)
      if (rows[i].weights[o] != 0) targets[i].weights[o] = kNoise * rows[i].weights[o];
    for (const UseModel::Row& other : rows) {
      const double shared = stats::similarity(rows[i].place, other.place);
      for (std::size_t o = 0; o < other.weights.size(); ++o)
        targets[i].weights[o] += shared * other.weights[o];
    }
  }
  return targets;
}

void thin(std::vector<UseModel::Row>& rows) {
  if (rows.size() <= kMostUseRows) return;
  std::vector<UseModel::Row> kept;
  for (std::size_t i = 0; i < kMostUseRows; ++i) kept.push_back(rows[i * rows.size() / kMostUseRows]);
  rows = std::move(kept);
}

}  // namespace

double logit_of_share(double share) {
  const double inside = kLeastShare + (1 - 2 * kLeastShare) * share;
  return std::log(inside / (1 - inside));
}

double share_of_logit(double logit) {
  const double inside = 1 / (1 + std::exp(-logit));
  return std::clamp((inside - kLeastShare) / (1 - 2 * kLeastShare), 0.0, 1.0);
}

double share_in(const std::vector<ResourceUse>& use, const std::string& resource, bool peak) {
  for (const ResourceUse& one : use)
    if (one.resource == resource) return peak ? one.peak : one.burst;
  return kUnknown;
}

UsePlace use_place(const Place& place, double seconds) {
  UsePlace longer{};
  std::copy(place.begin(), place.end(), longer.begin());
  longer.back() = std::log(std::max(seconds, 1e-3)) / kLengthScale;
  return longer;
}

UseModel::UseModel(std::vector<Output> outputs, std::vector<DeviceMeans> means, std::vector<Row> rows)
    : outputs_(std::move(outputs)), means_(std::move(means)), rows_(std::move(rows)) {}

UseModel UseModel::fit_means(const std::vector<UseSample>& samples, const UseModel* base) {
  UseModel model = base != nullptr ? *base : UseModel();
  model.outputs_ = outputs_in(samples, std::move(model.outputs_));
  if (!model.outputs_.empty()) model.means_ = means_in(samples, model.outputs_, std::move(model.means_));
  return model;
}

UseModel UseModel::fit(const std::vector<UseSample>& samples, const UseModel* base) {
  UseModel model = fit_means(samples, base);
  const std::size_t outputs = model.outputs_.size();
  if (samples.empty() || outputs == 0) return model;
  model.rows_ = targets_of(model.rows_, outputs);
  for (const UseSample& sample : samples) {
    Row row{sample.place, {}};
    const std::vector<double>& mean = model.means_of(sample.device).shares;
    for (std::size_t o = 0; o < outputs; ++o) {
      const double share = share_in(sample.use, model.outputs_[o].resource, model.outputs_[o].peak);
      row.weights.push_back(std::isfinite(share) ? logit_of_share(share) - logit_of_share(mean[o])
                                                 : kUnknown);
    }
    model.rows_.push_back(std::move(row));
  }
  thin(model.rows_);
  solve_weights(model.rows_, outputs);
  return model;
}

const UseModel::DeviceMeans& UseModel::means_of(std::string_view device) const {
  for (const DeviceMeans& one : means_)
    if (!one.device.empty() && same_device_name(one.device, device)) return one;
  return means_.front();
}

std::vector<ResourceUse> UseModel::named(const std::vector<double>& shares) const {
  std::vector<ResourceUse> use;
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    auto at = std::find_if(use.begin(), use.end(),
                           [&](const ResourceUse& one) { return one.resource == outputs_[o].resource; });
    if (at == use.end()) at = use.insert(use.end(), {outputs_[o].resource, kUnknown, kUnknown, kUnknown});
    if (outputs_[o].peak) {
      at->peak = shares[o];
    } else {
      at->burst = shares[o];
      at->idle = 1 - shares[o];
    }
  }
  return use;
}

std::vector<ResourceUse> UseModel::at(const UsePlace& place, std::string_view device) const {
  if (outputs_.empty()) return {};
  std::vector<double> shares(outputs_.size());
  for (const Row& row : rows_) {
    const double shared = stats::similarity(place, row.place);
    for (std::size_t o = 0; o < shares.size(); ++o) shares[o] += shared * row.weights[o];
  }
  const std::vector<double>& mean = means_of(device).shares;
  for (std::size_t o = 0; o < shares.size(); ++o)
    shares[o] = share_of_logit(logit_of_share(mean[o]) + shares[o]);
  return named(shares);
}

std::vector<ResourceUse> UseModel::usual(std::string_view device) const {
  if (outputs_.empty()) return {};
  return named(means_of(device).shares);
}

namespace {

constexpr std::size_t kMostUseDevices = 1000, kMostShares = 64;
constexpr const char *kMeansTensor = "use_means", *kWeightsTensor = "use";

// The first row covers all devices, and each device has one after it.
ModelTensor means_tensor(const UseModel& use) {
  std::vector<double> numbers;
  for (const UseModel::DeviceMeans& one : use.means())
    numbers.insert(numbers.end(), one.shares.begin(), one.shares.end());
  return {kMeansTensor,
          {static_cast<std::int64_t>(use.means().size()), static_cast<std::int64_t>(use.outputs().size())},
          std::move(numbers)};
}

// A row holds a place and the weights of the outputs there.
ModelTensor weights_tensor(const UseModel& use) {
  std::vector<double> numbers;
  for (const UseModel::Row& row : use.rows()) {
    numbers.insert(numbers.end(), row.place.begin(), row.place.end());
    numbers.insert(numbers.end(), row.weights.begin(), row.weights.end());
  }
  return {kWeightsTensor,
          {static_cast<std::int64_t>(use.rows().size()),
           static_cast<std::int64_t>(kUseDimensions + use.outputs().size())},
          std::move(numbers)};
}

}  // namespace

std::string use_to_json(const UseModel& use) {
  std::vector<std::string> resources, shares, devices;
  for (const UseModel::Output& output : use.outputs()) {
    resources.push_back(output.resource);
    shares.push_back(output.peak ? "peak" : "burst");
  }
  for (std::size_t i = 1; i < use.means().size(); ++i) devices.push_back(use.means()[i].device);
  return json_text(Json{{"resources", resources}, {"shares", shares}, {"devices", devices}});
}

std::vector<ModelTensor> use_tensors(const UseModel& use) { return {means_tensor(use), weights_tensor(use)}; }

UseModel parse_use(const JsonMembers& members, const ModelContainer& container, const std::string& who) {
  const std::vector<std::string> resources = members.texts("resources", kMostShares),
                                 shares = members.texts("shares", kMostShares),
                                 devices = members.texts("devices", kMostUseDevices);
  if (shares.size() != resources.size()) members.refuse("shares", "one for each of 'resources'");
  const std::size_t count = resources.size(), columns = kUseDimensions + count;
  std::vector<UseModel::Output> outputs;
  for (std::size_t o = 0; o < count; ++o) {
    if (shares[o] != "burst" && shares[o] != "peak") members.refuse("shares", "burst or peak");
    outputs.push_back({resources[o], shares[o] == "peak"});
  }
  const auto means = container.rows(kMeansTensor, static_cast<std::int64_t>(count),
                                    static_cast<std::int64_t>(kMostUseDevices + 1), who);
  const auto weights = container.rows(kWeightsTensor, static_cast<std::int64_t>(columns),
                                      static_cast<std::int64_t>(kMostUseRows), who);
  if (count == 0) return {};
  if (means.size() != (devices.size() + 1) * count ||
      std::any_of(means.begin(), means.end(), [](double share) { return !(share >= 0 && share <= 1); }))
    fail(ErrorKind::config, "'{}': tensor '{}' wants {} rows of shares from 0 to 1", who, kMeansTensor,
         devices.size() + 1);
  std::vector<UseModel::DeviceMeans> of_devices;
  for (std::size_t d = 0; d <= devices.size(); ++d) {
    const auto row = means.subspan(d * count, count);
    of_devices.push_back({d == 0 ? "" : devices[d - 1], {row.begin(), row.end()}});
  }
  std::vector<UseModel::Row> rows;
  for (std::size_t at = 0; at < weights.size(); at += columns) {
    const auto row = weights.subspan(at, columns);
    rows.push_back({{}, {row.begin() + kUseDimensions, row.end()}});
    std::copy_n(row.begin(), kUseDimensions, rows.back().place.begin());
  }
  return {std::move(outputs), std::move(of_devices), std::move(rows)};
}

}  // namespace trainyard::predict
