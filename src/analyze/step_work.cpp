#include "analyze/step_work.h"

#include <cmath>

namespace trainyard::analyze {
namespace {

double or_else(double value, double otherwise) { return std::isfinite(value) ? value : otherwise; }

// Forward, d_src and d_weight of every layer; the input has no gradient.
double inner_of_fc(const Point& point) {
  const double layers = point.key("layers"), width = point.key("width"), inputs = point.key("inputs"),
               classes = point.key("classes"), batch = point.key("batch");
  const double sum = inputs + (2 * layers + 1) * width + classes + (layers + 2) * batch;
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
  return work;
}

}  // namespace trainyard::analyze
