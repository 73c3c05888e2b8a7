#pragma once

#include "analyze/step_model.h"

namespace trainyard::analyze {

// Limit names the resource that a step waits for most.
enum class Limit {
  launch,     // kernels are started, or are too small to fill the device
  bandwidth,  // operands, activations and optimizer state are moved
  compute,    // arithmetic
  host,       // the next batch is not there yet
};

const char* name(Limit limit);

struct LimitedPoint {
  const Point* point = nullptr;
  Limit limit = Limit::launch;
  PartSeconds parts;             // zero where no model says them
  double predicted_seconds = 0;  // likewise
};

// LimitedGroup holds the points of one device, backend and precision, and the model fitted to them.
struct LimitedGroup {
  std::string name;  // "cpu, f32"
  StepModel model;
  std::size_t fitted = 0;          // points that the model saw; 0: there is none
  double mean_relative_error = 0;  // of these
  std::vector<LimitedPoint> points;
};

// Classifies every point that went well and has enough data: its work and its seconds, or its place below a
// known roof. A model needs at least as many points as it has constants. Waiting for input for half of the
// time or more takes precedence over every other limit.
std::vector<LimitedGroup> find_limits(std::span<const Point> points, const Roofs& roofs = {});

std::map<Limit, std::size_t> count_limits(std::span<const LimitedGroup> groups);

}  // namespace trainyard::analyze
