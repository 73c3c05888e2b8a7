#include "predict/gnn/scaling.h"

#include <charconv>

namespace trainyard::predict {
namespace {

// Moments gives mean and standard deviation: 0 and 1 without numbers, and a spread of 1 where all numbers are
// equal.
class Moments {
 public:
  void add(double x) {
    ++count_;
    const double before = x - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (x - mean_);
  }
  float mean() const { return static_cast<float>(mean_); }
  float deviation() const {
    const double deviation = count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
    return deviation > 1e-6 * std::max(1.0, std::fabs(mean_)) ? static_cast<float>(deviation) : 1.0f;
  }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

float signed_log(float x) { return std::copysign(std::log1p(std::fabs(x)), x); }

void check_label(const GraphSample& sample, std::size_t output, Loss loss) {
  const float label = sample.labels[output];
  if ((loss == Loss::relative && label == 0) || (loss == Loss::log && !(label > 0)))
    fail(ErrorKind::config,
         "graph '{}': label {} is {}; loss {} wants labels {} zero, or said not to be known", sample.name,
         output, label, name(loss), loss == Loss::log ? "above" : "other than");
}

void fit_labels(std::span<const GraphSample> samples, std::size_t output, GnnScaling& scaling) {
  double largest = 0, sum = 0;
  std::int64_t count = 0;
  Moments logs;
  for (const GraphSample& sample : samples) {
    if (!sample.knows(output)) continue;
    check_label(sample, output, scaling.loss);
    const double size = std::fabs(sample.labels[output]);
    largest = std::max(largest, size);
    sum += size;
    ++count;
    if (scaling.loss == Loss::log) logs.add(std::log(size));
  }
  if (scaling.loss == Loss::log) {
    scaling.label_middle[output] = logs.mean();
    scaling.label_spread[output] = logs.deviation();
  } else if (largest > 0) {  // a column of zeros stays one: nothing is divided by zero
    scaling.label_spread[output] =
        static_cast<float>(scaling.loss == Loss::squares ? largest : sum / static_cast<double>(count));
  }
}

std::string to_text(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) text += fmt::format("{}{}", text.empty() ? "" : " ", number);
  return text;
}

std::vector<float> parse_numbers(const Settings& settings, const char* name, std::int64_t count,
                                 const std::string& who) {
  const std::string text = setting(settings, name, who);
  std::vector<float> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    float number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc() || !std::isfinite(number)) break;
    numbers.push_back(number);
    at = parsed.ptr == end ? end : parsed.ptr + 1;
  }
  if (at != end || static_cast<std::int64_t>(numbers.size()) != count)
    fail(ErrorKind::config, "'{}': setting '{}' wants {} numbers", who, name, count);
  return numbers;
}

}  // namespace

const char* name(Loss loss) {
  switch (loss) {
    case Loss::squares:
      return "squares";
    case Loss::relative:
      return "relative";
    case Loss::log:
      return "log";
  }
  return "";
}

Loss parse_loss(const std::string& word) {
  for (const Loss loss : {Loss::squares, Loss::relative, Loss::log})
    if (word == name(loss)) return loss;
  fail(ErrorKind::config, "loss '{}': wants squares, relative or log", word);
}

float GnnScaling::feature(std::size_t column, float x) const {
  return ((logarithmic_features ? signed_log(x) : x) - feature_middle[column]) / feature_spread[column];
}

float GnnScaling::target(std::size_t output, float label) const {
  return ((loss == Loss::log ? std::log(label) : label) - label_middle[output]) / label_spread[output];
}

float GnnScaling::prediction(std::size_t output, float number) const {
  const float raw = number * label_spread[output] + label_middle[output];
  return loss == Loss::log ? std::exp(raw) : raw;
}

float GnnScaling::weight(std::size_t output, float label) const {
  const float spread = label_spread[output];
  if (loss == Loss::squares) return 1;
  return loss == Loss::log ? spread * spread : spread * spread / (label * label);
}

GnnScaling no_scaling(const Architecture& architecture) {
  const auto features = static_cast<std::size_t>(architecture.features),
             outputs = static_cast<std::size_t>(architecture.outputs);
  return {.feature_middle = std::vector<float>(features, 0),
          .feature_spread = std::vector<float>(features, 1),
          .label_middle = std::vector<float>(outputs, 0),
          .label_spread = std::vector<float>(outputs, 1)};
}

GnnScaling fit_scaling(std::span<const GraphSample> samples, const Architecture& architecture, Loss loss,
                       bool raw_features) {
  GnnScaling scaling = no_scaling(architecture);
  scaling.loss = loss;
  const auto features = static_cast<std::size_t>(architecture.features);
  if (!raw_features) {
    scaling.logarithmic_features = true;
    for (std::size_t column = 0; column < features; ++column) {
      Moments moments;
      for (const GraphSample& sample : samples)
        for (std::size_t i = column; i < sample.features.size(); i += features)
          moments.add(signed_log(sample.features[i]));
      scaling.feature_middle[column] = moments.mean();
      scaling.feature_spread[column] = moments.deviation();
    }
  }
  for (std::size_t output = 0; output < static_cast<std::size_t>(architecture.outputs); ++output)
    fit_labels(samples, output, scaling);
  return scaling;
}

Settings to_settings(const GnnScaling& scaling) {
  return {{"loss", name(scaling.loss)},
          {"feature_scale", scaling.logarithmic_features ? "log" : "raw"},
          {"feature_middle", to_text(scaling.feature_middle)},
          {"feature_spread", to_text(scaling.feature_spread)},
          {"label_middle", to_text(scaling.label_middle)},
          {"label_spread", to_text(scaling.label_spread)}};
}

GnnScaling parse_scaling(const Settings& settings, const Architecture& architecture, const std::string& who) {
  GnnScaling scaling;
  scaling.loss = parse_loss(setting(settings, "loss", who));
  const std::string scale = setting(settings, "feature_scale", who);
  if (scale != "log" && scale != "raw")
    fail(ErrorKind::config, "'{}': feature_scale '{}', wants log or raw", who, scale);
  scaling.logarithmic_features = scale == "log";
  scaling.feature_middle = parse_numbers(settings, "feature_middle", architecture.features, who);
  scaling.feature_spread = parse_numbers(settings, "feature_spread", architecture.features, who);
  scaling.label_middle = parse_numbers(settings, "label_middle", architecture.outputs, who);
  scaling.label_spread = parse_numbers(settings, "label_spread", architecture.outputs, who);
  for (const auto* spreads : {&scaling.feature_spread, &scaling.label_spread})
    if (std::any_of(spreads->begin(), spreads->end(), [](float spread) { return !(spread > 0); }))
      fail(ErrorKind::config, "'{}': a spread is not above zero", who);
  return scaling;
}

}  // namespace trainyard::predict
