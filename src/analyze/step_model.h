#pragma once

#include "analyze/point.h"
#include "analyze/roofline.h"

namespace trainyard::analyze {

// StepWork is the work of a step, independent of the device that does it.
struct StepWork {
  double launches = 1;    // kernels, or what their number is proportional to: layers
  double flops = 0;       // of matrix products and convolutions
  double bytes = 0;       // that have to move
  double parameters = 0;  // each is read and written by the optimizer, and by every pass of it
  // Sum of the inner loop lengths of all matrix products, where they are known. A product with few results
  // keeps only a part of the device busy, and then takes as long as its inner loop does.
  double inner = 0;
  double images =
      0;  // that the host may have to make and send; 0: it is known how long the device waited for them
};

// Uses flops_per_step, bytes_per_step, parameters and kernels_per_step of a point, the dimensions of fully
// connected networks, and the batch unless input_wait_fraction is known. Returns nothing where flops or bytes
// are not known.
std::optional<StepWork> work_of(const Point& point);

// PartSeconds holds the seconds that each part of a step would take alone.
struct PartSeconds {
  double launch = 0;     // of the host, which starts kernels one by one
  double compute = 0;    // arithmetic at the rate that large products reach
  double bandwidth = 0;  // moving operands, activations and the optimizer's state
  double latency = 0;    // of kernels too small to fill the device: their inner loops, start and end
  double input = 0;      // of the host, which makes the next batch and sends it

  double device() const { return compute + bandwidth + latency; }
};

// The host starts kernels and makes batches while the device works: a step takes as long as the slowest of
// the three, and a little more where they are alike:  seconds = (host^s + device^s + input^s)^(1/s)
//   host   = fixed + launches^host_exponent * seconds_per_launch; long rows of like launches are cheaper each
//   device = flops * .. + bytes * .. + parameters * .. + inner * .. + launches * ..
//   input  = images * seconds_per_image, where the samples cannot be told without it; else 0
struct StepModel {
  double fixed_seconds = 0, seconds_per_launch = 0;
  double host_exponent = 1;
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  double seconds_per_parameter = 0;  // of what an optimizer moves beyond the least
  double seconds_per_inner = 0;
  double device_seconds_per_launch = 0;
  double sharpness = 1;  // s
  double seconds_per_image = 0;

  PartSeconds parts(const StepWork& work) const;
  double predict(const StepWork& work) const;  // seconds
};

struct StepSample {
  StepWork work;
  double seconds = 0;
};

// Fits the model robustly to the logarithms of the seconds, and then to the relative error. Constants about
// which the samples tell little stay near the values that the roofs give. Unknown roofs (0) become the best
// rates among the samples. REQUIRES: at least one sample, positive seconds.
StepModel fit_step_model(std::span<const StepSample> samples, const Roofs& roofs = {});

// Returns the mean of |predicted - measured| / measured.
double mean_relative_error(std::span<const double> predicted, std::span<const double> measured);

}  // namespace trainyard::analyze
