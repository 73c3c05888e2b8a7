#include "analyze/bottleneck.h"

namespace trainyard::analyze {
namespace {

constexpr std::size_t kLeastPoints = 9;  // constants of the model
constexpr double kWaiting = 0.5;

std::string group_name(const Point& point) {
  std::string text;
  for (const char* key : {"device", "backend", "precision"})
    if (const auto found = point.keys.find(key); found != point.keys.end())
      text += (text.empty() ? "" : ", ") + record::to_text(found->second);
  return text.empty() ? "all points" : text;
}

bool has_seconds(const Point& point) { return point.metric("step_seconds") > 0; }

// The longest part is the limit when none of these takes most of the step.
Limit limit_of(const PartSeconds& parts) {
  if (parts.input > parts.launch && parts.input > parts.device()) return Limit::host;
  if (parts.launch >= parts.device()) return Limit::launch;
  if (parts.compute >= parts.bandwidth && parts.compute >= parts.latency) return Limit::compute;
  return parts.bandwidth >= parts.latency ? Limit::bandwidth : Limit::launch;
}

// Works without seconds: a trace gives the arithmetic done for each byte.
std::optional<Limit> limit_below_roof(const Point& point, const Roofs& roofs) {
  const double intensity = point.metric("flops_per_byte");
  if (!(intensity > 0) || !(roofs.flops_per_second > 0) || !(roofs.bytes_per_second > 0)) return std::nullopt;
  return intensity < roofs.ridge() ? Limit::bandwidth : Limit::compute;
}

LimitedGroup limit_group(std::string name, const std::vector<const Point*>& points, const Roofs& roofs) {
  LimitedGroup group;
  group.name = std::move(name);
  std::vector<StepSample> samples;
  for (const Point* point : points)
    if (const auto work = work_of(*point); work && has_seconds(*point))
      samples.push_back({*work, point->metric("step_seconds")});
  if (samples.size() >= kLeastPoints) {
    group.fitted = samples.size();
    group.model = fit_step_model(samples, roofs);
    std::vector<double> predicted, measured;
    for (const StepSample& sample : samples) {
      predicted.push_back(group.model.predict(sample.work));
      measured.push_back(sample.seconds);
    }
    group.mean_relative_error = mean_relative_error(predicted, measured);
  }
  for (const Point* point : points) {
    LimitedPoint limited{point, Limit::host, {}, 0};
    const std::optional<StepWork> work = work_of(*point);
    std::optional<Limit> limit;
    if (group.fitted > 0 && work && has_seconds(*point)) {
      limited.parts = group.model.parts(*work);
      limited.predicted_seconds = group.model.predict(*work);
      limit = limit_of(limited.parts);
    } else {
      limit = limit_below_roof(*point, roofs);
    }
    if (point->metric("input_wait_fraction") >= kWaiting) limit = Limit::host;
    if (!limit) continue;
    limited.limit = *limit;
    group.points.push_back(limited);
  }
  return group;
}

}  // namespace

const char* name(Limit limit) {
  switch (limit) {
    case Limit::launch:
      return "launch";
    case Limit::bandwidth:
      return "bandwidth";
    case Limit::compute:
      return "compute";
    case Limit::host:
      break;
  }
  return "host";
}

std::vector<LimitedGroup> find_limits(std::span<const Point> points, const Roofs& roofs) {
  std::map<std::string, std::vector<const Point*>> groups;
  for (const Point& point : points)
    if (point.ok()) groups[group_name(point)].push_back(&point);
  std::vector<LimitedGroup> found;
  for (const auto& [name, members] : groups)
    if (LimitedGroup group = limit_group(name, members, roofs); !group.points.empty())
      found.push_back(std::move(group));
  return found;
}

std::map<Limit, std::size_t> count_limits(std::span<const LimitedGroup> groups) {
  std::map<Limit, std::size_t> counts;
  for (const LimitedGroup& group : groups)
    for (const LimitedPoint& point : group.points) ++counts[point.limit];
  return counts;
}

}  // namespace trainyard::analyze
