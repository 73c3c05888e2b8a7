#include "analyze/step_work.h"

#include <cmath>

namespace trainyard::analyze {
namespace {

double or_else(double value, double otherwise) { return std::isfinite(value) ? value : otherwise; }

// Forward, d_src and d_weight of every layer; the input has no gradient. Families that count their layers
// differently have parameters in common: hidden matrices of width x width, with biases.
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

}  // namespace trainyard::analyze
