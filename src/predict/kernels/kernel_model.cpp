#include "predict/kernels/kernel_model.h"

namespace trainyard::predict {

KernelModel::KernelModel(std::vector<DeviceRates> devices, std::vector<KernelObservation> kernels,
                         std::vector<StepObservation> steps)
    : devices_(std::move(devices)), kernels_(std::move(kernels)), steps_(std::move(steps)) {
  for (const KernelObservation& one : kernels_)
    times_.add(one.shape, {devices_[one.device].rates, one.group, one.seconds, one.share, one.error});
  for (const StepObservation& one : steps_)
    overlaps_.push_back({one.place, devices_[one.device].rates, one.group, one.logarithm});
}

KnownRates KernelModel::find(const DeviceSheet& device, backend::Precision precision) const {
  const DeviceRates* like = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (auto at = devices_.rbegin(); at != devices_.rend(); ++at) {
    const DeviceRates& one = *at;
    if (one.precision != precision) continue;
    if (same_device_name(one.device.name, device.name)) return {one, one.device.name, 0};
    if (one.adaptation) continue;
    const double doublings = doublings_between(device, one.device);
    if (doublings >= least) continue;
    least = doublings;
    like = &one;
  }
  if (like == nullptr)
    fail(ErrorKind::config, "precision '{}': this model was fitted to no run in it", name(precision));
  DeviceRates made{device, precision, like->rates, 0, {}, {}};
  made.rates.flops_per_second *= device.flops_per_second / like->device.flops_per_second;
  made.rates.bytes_per_second *= device.bytes_per_second / like->device.bytes_per_second;
  return {made, like->device.name, least};
}

namespace {

// Tells how far a weight's gradient is from filling the device: 1 with less than half a tile of results, 0
// with eight.
double weakness(const KernelShape& shape) {
  constexpr double kTile = 64.0 * 64.0;
  return std::clamp((3 - std::log2(shape.rows * shape.columns / kTile)) / 4, 0.0, 1.0);
}

// A step's place holds at kForward the shares of convolutions (forward, of src, of weight), at kDense, behind
// a norm's share, those of dense layers and of recurrent ones, and behind all that of attention.
constexpr std::size_t kForward = 3, kDense = 7, kAttention = 14;

}  // namespace

ShapePlace place_of_step(const std::vector<AlikeKernels>& kernels, const std::vector<double>& seconds) {
  constexpr double kShort = 6e-6;      // seconds: starting a kernel takes as long
  constexpr double kShareScale = 0.2;  // of shares that have little in common
  double all = 0, count = 0, lengths = 0, brief = 0, weak = 0, grouped = 0, copies = 0;
  double forward = 0, d_src = 0, d_weight = 0, norm = 0, dense = 0, recurrent = 0, attention = 0, others = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const KernelShape& shape = kernels[k].shape;
    const double taken = seconds[k] * kernels[k].count;
    if (!(taken > 0)) continue;
    const std::string& op = shape.op;
    all += taken;
    count += kernels[k].count;
    lengths += taken * std::log2(seconds[k] / 1e-6);
    if (seconds[k] < kShort) brief += taken;
    if (op == "conv2d_d_weight") weak += taken * weakness(shape);
    if (shape.place[kGroupDimension] > 0) grouped += taken;
    if (op == "concat" || op == "slice") copies += kernels[k].count;
    (op == "conv2d"                 ? forward
     : op == "conv2d_d_src"         ? d_src
     : op == "conv2d_d_weight"      ? d_weight
     : op.starts_with("batch_norm") ? norm
     : op.starts_with("dense")      ? dense
     : op.starts_with("recurrent")  ? recurrent
     : op.starts_with("attention")  ? attention
                                    : others) += taken;
  }
  if (!(all > 0)) return {};
  const auto share = [&](double part) { return part / all / kShareScale; };
  return {lengths / all / 2,
          std::log2(count) / 3,
          std::log2(all / 1e-3) / 4,
          share(forward),
          share(d_src),
          share(d_weight),
          share(norm),
          share(dense),
          share(recurrent),
          share(others),
          share(brief),
          share(weak),
          share(grouped),
          copies / count / kShareScale,
          share(attention)};
}

StepKind kind_at(const ShapePlace& step) {
  const double convolutions = step[kForward] + step[kForward + 1] + step[kForward + 2],
               dense = step[kDense] + step[kAttention], recurrent = step[kDense + 1];
  if (recurrent > convolutions && recurrent > dense) return StepKind::recurrent;
  return dense > convolutions ? StepKind::dense : StepKind::convolutional;
}

StepEstimate KernelModel::step(const std::vector<AlikeKernels>& kernels, const Rates& rates, int without,
                               const Corrections& corrections) const {
  StepEstimate made;
  std::vector<double> seconds;
  for (const AlikeKernels& kernel : kernels) {
    KernelTimes::Estimate one = times_.at(kernel.shape, rates, without);
    one.seconds *= std::exp(corrections.of_kernel(kernel.shape.op));
    const double taken = kernel.count * one.seconds;
    seconds.push_back(one.seconds);
    made.kernel_seconds += taken;
    made.known += taken * one.known;
    made.unknown += taken * taken * (1 - one.known);
    made.error += taken * one.error;
  }
  if (made.kernel_seconds > 0) {
    made.known /= made.kernel_seconds;
    made.unknown /= made.kernel_seconds * made.kernel_seconds;
    made.error /= made.kernel_seconds;
  }
  const ShapePlace place = place_of_step(kernels, seconds);
  made.kind = kind_at(place);
  const std::vector<NearSample> near = nearest(overlaps_, place, rates, without);
  const double overlap = near.empty() ? 0 : estimate(overlaps_, near, place).value;
  made.seconds = made.kernel_seconds * std::exp(overlap + corrections.step);
  return made;
}

double KernelModel::error_of(const KernelObservation& kernel) const {
  constexpr double kMost = 1;
  const double taken = kernel.share * kernel.seconds;
  if (!(taken > 0)) return -1;
  const double made = times_.at(kernel.shape, devices_[kernel.device].rates, kernel.group).seconds;
  return made > 0 ? std::min(std::abs(std::log(taken / made)), kMost) : kMost;
}

namespace {

// StepKey holds everything that determines a step.
using StepKey = std::pair<WorkKey, backend::Precision>;

class KernelPredictor : public Predictor {
 public:
  explicit KernelPredictor(KernelModel model) : model_(std::move(model)) {}

  std::vector<Prediction> predict(std::span<const JobDescription> jobs) override {
    std::vector<Prediction> all;
    for (const JobDescription& job : jobs) all.push_back(predict_one(job));
    return all;
  }

  std::vector<DeviceSheet> devices() const override {
    std::vector<DeviceSheet> seen;
    for (const DeviceRates& one : model_.devices())
      if (std::find(seen.begin(), seen.end(), one.device) == seen.end()) seen.push_back(one.device);
    return seen;
  }

  bool knows(backend::Precision precision) const override {
    return std::any_of(model_.devices().begin(), model_.devices().end(),
                       [&](const DeviceRates& one) { return one.precision == precision; });
  }

  Basis basis(const JobDescription& job) const override {
    const KnownRates on = model_.find(job.device, job.precision);
    Basis basis{.model = "kernels", .runs = model_.runs, .device = on.like, .device_seen = on.rates.runs > 0};
    for (const DeviceRates& one : model_.devices()) {
      if (one.precision != job.precision || one.device.name != on.like) continue;
      basis.device_runs = one.runs;
      if (one.families.empty()) continue;
      const std::optional<NamedNetwork> named = find_named_network(job.network);
      const auto at = one.families.find(named ? family_of(named->network) : job.network);
      basis.family_runs = at == one.families.end() ? 0 : at->second;
      for (const auto& [family, runs] : one.families) basis.families.push_back(family);
    }
    return basis;
  }

 private:
  Prediction predict_one(const JobDescription& job) {
    const auto [on, like, doublings] = model_.find(job.device, job.precision);
    const Corrections corrections = on.adaptation ? on.adaptation->corrections : Corrections{};
    const StepEstimate step = model_.step(kernels(job), on.rates, kNobody, corrections);
    Prediction made;
    made.step_seconds = step.seconds;
    made.seconds = job.steps * step.seconds;  // what a process takes to start is not learned
    const double half = on.adaptation ? on.adaptation->interval_factor *
                                            model_.intervals.half_elsewhere(step, on.adaptation->doublings)
                        : on.runs > 0 ? model_.intervals.half(step)
                                      : model_.intervals.half_elsewhere(step, doublings);
    made.low_seconds = made.seconds * std::exp(-half);
    made.high_seconds = made.seconds * std::exp(half);
    made.known = step.known;
    made.device_seen = on.runs > 0;
    made.memory = memory(job, like, step.seconds);
    made.oom_probability = MemoryModel{}.oom_probability(made.memory.total(), on.device);
    return made;
  }

  static StepKey key_of(const JobDescription& job) {
    return {predict::key_of(work_options(job)), job.precision};
  }

  const std::vector<AlikeKernels>& kernels(const JobDescription& job) {
    const StepKey key = key_of(job);
    if (const auto at = made_.find(key); at != made_.end()) return at->second;
    return made_.emplace(key, kernels_of(job)).first->second;
  }

  // Plans as for the device that was seen. Uses first principles where the model has seen no memory.
  MemoryNeed memory(const JobDescription& job, const std::string& like, double step_seconds) {
    if (model_.memory.empty()) return memory_need(works_.work(work_options(job)));
    const std::size_t on = model_.memory.find(like, job.precision);
    const auto key = std::tuple(key_of(job), on, job.device.memory_bytes);
    auto at = planned_.find(key);
    if (at == planned_.end()) at = planned_.emplace(key, model_.memory.plan(job, on)).first;
    return model_.memory.need(at->second, on, step_seconds, job.steps);
  }

  KernelModel model_;
  WorkCache works_;
  std::map<StepKey, std::vector<AlikeKernels>> made_;
  std::map<std::tuple<StepKey, std::size_t, double>, PlannedStep> planned_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(KernelModel model) {
  return std::make_unique<KernelPredictor>(std::move(model));
}

}  // namespace trainyard::predict
