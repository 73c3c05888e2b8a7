#pragma once

#include "predict/gnn/graph_sample.h"
#include "predict/gnn/network.h"

namespace trainyard::predict {

// Loss is the quantity that a fit minimises, over the known labels y and the predictions p:
//   squares   mean of ((p - y) / max |y|)^2, Driple's: small labels count for little
//   relative  mean of (p / y - 1)^2; labels must not be zero
//   log       mean of (ln p - ln y)^2; labels must be above zero
enum class Loss : std::uint8_t { squares, relative, log };
const char* name(Loss loss);
Loss parse_loss(const std::string& word);

// GnnScaling converts numbers in units to those the network sees, and back. It is fitted to training samples
// and stored with the model.
//   features  x -> (x - middle) / spread, of the signed logarithm of 1 + |x| where logarithmic
//   labels    y -> (y - middle) / spread, of ln y under Loss::log
struct GnnScaling {
  Loss loss = Loss::squares;
  bool logarithmic_features = false;
  std::vector<float> feature_middle, feature_spread, label_middle, label_spread;

  float feature(std::size_t column, float x) const;
  float target(std::size_t output, float label) const;
  float prediction(std::size_t output, float number) const;  // in units
  // Returns the weight of one known label in the sum of squares over scaled outputs, so that the sum is the
  // loss.
  float weight(std::size_t output, float label) const;
};

// Changes nothing: for foreign models, trained on raw features and on labels that were divided elsewhere.
GnnScaling no_scaling(const Architecture& architecture);

// `legacy` leaves features as they are. An output without known labels has middle 0 and spread 1. REQUIRES:
// checked samples. Throws Error (config) naming a sample whose label the loss cannot take.
GnnScaling fit_scaling(std::span<const GraphSample> samples, const Architecture& architecture, Loss loss,
                       bool raw_features);

Settings to_settings(const GnnScaling& scaling);
GnnScaling parse_scaling(const Settings& settings, const Architecture& architecture, const std::string& who);

}  // namespace trainyard::predict
