#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/step_model.h"

namespace trainyard::analyze {

// What a step waits for most.
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
  StepParts parts;               // zero where no model says them
  double predicted_seconds = 0;  // likewise
};

// Points of one device, backend and precision, and the model that was fitted to them.
struct LimitedGroup {
  std::string name;  // "cpu, f32"
  StepModel model;
  std::size_t fitted = 0;          // points that the model saw; 0: there is none
  double mean_relative_error = 0;  // of these
  std::vector<LimitedPoint> points;
};

// Every point that went well and knows enough: its work and its seconds, or its place below a roof that is
// known. A model wants at least as many points as it has constants. Waiting for input for half of the time or
// more goes before everything else.
std::vector<LimitedGroup> find_limits(std::span<const Point> points, const Roofs& roofs = {});

std::map<Limit, std::size_t> count_limits(std::span<const LimitedGroup> groups);

}  // namespace trainyard::analyze
