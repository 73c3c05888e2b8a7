#include "analyze/step_model.h"

#include "stats/least_squares.h"

namespace trainyard::analyze {

namespace {

double or_else(double value, double otherwise) { return std::isfinite(value) ? value : otherwise; }

// Counts forward, d_src and d_weight of every layer; the input has no gradient. Families that count their
// layers differently have the number of parameters in common: hidden matrices of width x width, with biases.
double inner_of_fc(const Point& point) {
  const double width = point.key("width"), inputs = point.key("inputs"), classes = point.key("classes"),
               batch = point.key("batch");
  const double outer = width * (inputs + 1) + classes * (width + 1);
  const double hidden = std::round((point.metric("parameters") - outer) / (width * width + width));
  const double sum = inputs + (2 * hidden + 1) * width + classes + (hidden + 2) * batch;
  return or_else(sum, 0);
}

}  // namespace

std::optional<StepWork> work_of(const Point& point) {
  StepWork work;
  work.flops = point.metric("flops_per_step");
  work.bytes = point.metric("bytes_per_step");
  if (!(work.flops > 0) || !(work.bytes > 0)) return std::nullopt;
  work.launches = or_else(point.metric("kernels_per_step"), or_else(point.key("layers"), 1));
  work.parameters = or_else(point.metric("parameters"), 0);
  const auto network = point.keys.find("network");
  if (network != point.keys.end() && network->second == record::Value(std::string("fc")))
    work.inner = inner_of_fc(point);
  if (!std::isfinite(point.metric("input_wait_fraction"))) work.images = or_else(point.key("batch"), 0);
  return work;
}

namespace {

// An error beyond a tenth counts linearly, because repeated runs of tiny networks differ by 7 % in the
// median.
constexpr double kTolerated = 0.1;
// The deviation, as a logarithm, that constants may have from their start, and the weight of that prior
// knowledge against the samples.
constexpr double kPriorDeviation = 1.5;
constexpr double kPriorSamples = 0.01;  // of the samples' number
// The input becomes part of the model only if the loss falls below this share of the loss without it.
constexpr double kWorthItsConstant = 0.7;

using Logarithms = std::vector<double>;

constexpr std::array kMembers = {&StepModel::fixed_seconds,     &StepModel::seconds_per_launch,
                                 &StepModel::host_exponent,     &StepModel::seconds_per_flop,
                                 &StepModel::seconds_per_byte,  &StepModel::seconds_per_parameter,
                                 &StepModel::seconds_per_inner, &StepModel::device_seconds_per_launch,
                                 &StepModel::sharpness,         &StepModel::seconds_per_image};

StepModel model_of(const Logarithms& logarithms) {
  StepModel model;
  for (std::size_t i = 0; i < logarithms.size(); ++i)
    model.*kMembers[i] = std::exp(std::clamp(logarithms[i], -80.0, 5.0));
  return model;
}

Logarithms logarithms_of(const StepModel& model) {
  Logarithms result;
  for (const auto member : kMembers)
    if (model.*member > 0) result.push_back(std::log(model.*member));
  return result;
}

// Before any fit, the shortest steps give the host's constants, and the roofs give the best rates.
StepModel first_guess(std::span<const StepSample> samples, const Roofs& roofs) {
  double shortest = samples[0].seconds, per_launch = samples[0].seconds, flops = 0, bytes = 0;
  for (const StepSample& sample : samples) {
    shortest = std::min(shortest, sample.seconds);
    per_launch = std::min(per_launch, sample.seconds / sample.work.launches);
    flops = std::max(flops, sample.work.flops / sample.seconds);
    bytes = std::max(bytes, sample.work.bytes / sample.seconds);
  }
  if (roofs.flops_per_second > 0) flops = roofs.flops_per_second;
  if (roofs.bytes_per_second > 0) bytes = roofs.bytes_per_second;
  StepModel model;
  model.fixed_seconds = shortest / 2;
  model.seconds_per_launch = per_launch;
  model.seconds_per_flop = 1 / flops;
  model.seconds_per_byte = 1 / bytes;
  model.seconds_per_parameter = 4 / bytes;
  model.seconds_per_inner = 1e-9;
  model.device_seconds_per_launch = per_launch / 10;
  model.sharpness = 4;
  return model;
}

// The host never made images faster than in the step with the most images a second.
double least_seconds_per_image(std::span<const StepSample> samples) {
  double least = 0;
  for (const StepSample& sample : samples)
    if (const double one = sample.seconds / sample.work.images;
        sample.work.images > 0 && (least == 0 || one < least))
      least = one;
  return least;
}

stats::RobustFit fit_from(const StepModel& guess, std::span<const StepSample> samples) {
  const Logarithms start = logarithms_of(guess);
  const double knowledge =
      std::sqrt(kPriorSamples * static_cast<double>(samples.size())) * kTolerated / kPriorDeviation;
  const auto residuals_by = [&](const auto& error) {
    return [&, error](const Logarithms& at, std::vector<double>& residuals) {
      const StepModel model = model_of(at);
      residuals.clear();
      for (const StepSample& sample : samples)
        residuals.push_back(error(model.predict(sample.work) / sample.seconds));
      for (std::size_t i = 0; i < start.size(); ++i) residuals.push_back(knowledge * (at[i] - start[i]));
    };
  };
  // Logarithms converge from far away; the final criterion is the relative error.
  const stats::RobustFit near =
      stats::fit_robustly(start, kTolerated, residuals_by([](double ratio) { return std::log(ratio); }));
  return stats::fit_robustly(near.parameters, kTolerated,
                             residuals_by([](double ratio) { return ratio - 1; }));
}

}  // namespace

PartSeconds StepModel::parts(const StepWork& work) const {
  return {fixed_seconds + std::pow(work.launches, host_exponent) * seconds_per_launch,
          work.flops * seconds_per_flop,
          work.bytes * seconds_per_byte + work.parameters * seconds_per_parameter,
          work.inner * seconds_per_inner + work.launches * device_seconds_per_launch,
          work.images * seconds_per_image};
}

double StepModel::predict(const StepWork& work) const {
  const PartSeconds all = parts(work);
  const double longest = std::max({all.launch, all.device(), all.input});
  double sum = 0;
  for (const double part : {all.launch, all.device(), all.input}) sum += std::pow(part / longest, sharpness);
  return longest * std::pow(sum, 1 / sharpness);
}

StepModel fit_step_model(std::span<const StepSample> samples, const Roofs& roofs) {
  TRAINYARD_CHECK(!samples.empty());
  StepModel guess = first_guess(samples, roofs);
  const stats::RobustFit without = fit_from(guess, samples);
  guess.seconds_per_image = least_seconds_per_image(samples);
  if (guess.seconds_per_image == 0) return model_of(without.parameters);
  const stats::RobustFit with = fit_from(guess, samples);
  return model_of(with.loss < kWorthItsConstant * without.loss ? with.parameters : without.parameters);
}

double mean_relative_error(std::span<const double> predicted, std::span<const double> measured) {
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) sum += std::abs(predicted[i] / measured[i] - 1);
  return sum / static_cast<double>(measured.size());
}

}  // namespace trainyard::analyze
