#include "study/fc_counts.h"

namespace trainyard::study {
namespace {

constexpr double kElementBytes = 4;
constexpr double kOptimizerMoves = 7;
constexpr double kActivationMoves = 5;  // two forward, three backward

// Elements of a product's three operands.
double operands(double rows, double inner, double columns) {
  return rows * inner + inner * columns + rows * columns;
}

}  // namespace

record::Settings FcPoint::settings() const {
  return {{"network", std::string("fc")}, {"layers", layers}, {"width", width}, {"inputs", inputs},
          {"classes", classes},           {"batch", batch}};
}

FcCounts count_fc(const FcPoint& point, std::int64_t hidden) {
  const auto batch = static_cast<double>(point.batch), width = static_cast<double>(point.width),
             inputs = static_cast<double>(point.inputs), classes = static_cast<double>(point.classes),
             square = static_cast<double>(hidden);
  const double weights = square * width * width + width * (inputs + classes);
  const double parameters = weights + (square + 1) * width + classes;
  // Forward, d_src and d_weight of every layer, but no d_src of the first.
  const double products = 2 * operands(batch, inputs, width) +
                          3 * (square * operands(batch, width, width) + operands(batch, width, classes));
  const double activations = kActivationMoves * (square + 1) * batch * width;
  return {parameters, 6 * batch * weights - 2 * batch * width * inputs,
          kElementBytes * (products + activations + kOptimizerMoves * parameters)};
}

}  // namespace trainyard::study
