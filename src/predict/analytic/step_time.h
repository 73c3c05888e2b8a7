#pragma once

#include "predict/runs/device.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {

// These constants of the model of a step's time belong to a framework and its libraries, for every device.
enum SharedConstant : std::size_t {
  // Share of the peak that large products reach; short algorithms make it more than one.
  kWindow3,        // square windows of 3x3 that step by one
  kWindow3Weight,  // the gradients of their weights
  kLargeWindow,    // larger windows that step by one
  kPointwise,      // 1x1 and dense
  kStrided,        // all others
  // A product's columns or inner length at which it is half as fast, and how many tiles of results for each
  // multiprocessor.
  kHalfColumns,
  kHalfInner,
  kHalfTiles,
  // Bytes that really move, over those that have to.
  kWindowTraffic,
  kPointwiseTraffic,
  kNormTraffic,
  kPoolTraffic,
  kCopyTraffic,
  kElementwiseTraffic,
  kLaunch,        // least time of a kernel, over that of the device
  kUpdatePasses,  // over all parameters: weight decay, packing of gradients, update
  kSlotPasses,    // more of them for each slot of the optimizer
  // Ops that the host starts, beyond one for each kernel.
  kVariableOps,  // for a trained tensor
  kSlotOps,      // more for one with optimizer slots
  kProductOps,   // a product takes the host as long as so many others
  kSharpness,    // host and device overlap: step = (host^s + device^s)^(1/s), s = 1 + this
  kSharedConstants
};

// These constants belong to one device and its host.
enum DeviceConstant : std::size_t {
  kCompute,        // peak that is reached, over that of the data sheet
  kBandwidth,      // likewise
  kHostOp,         // seconds to start an op
  kHostStep,       // seconds of a step without any
  kStart,          // seconds before the first step
  kStartOp,        // more for each op of a step
  kReportSeconds,  // seconds times steps squared: what is reported of all steps so far grows with them
  kDeviceConstants
};

struct ConstantRow {
  const char* name;
  double first;      // what is known before any measurement
  double deviation;  // of its logarithm
};
extern const std::array<ConstantRow, kSharedConstants> kSharedRows;
extern const std::array<ConstantRow, kDeviceConstants> kDeviceRows;

using SharedConstants = std::array<double, kSharedConstants>;
using DeviceConstants = std::array<double, kDeviceConstants>;
SharedConstants first_shared();
DeviceConstants first_of_device();

// StepParts holds the seconds of a step on the device alone, by cause, and the host's seconds meanwhile.
struct StepParts {
  double window_products = 0, other_products = 0;
  double product_traffic = 0, norm = 0, other_traffic = 0, update = 0, launch = 0;
  double host = 0;
  double start = 0;  // before the first step
  double step = 0;   // of all this together

  double device() const {
    return window_products + other_products + product_traffic + norm + other_traffic + update + launch;
  }
};

StepParts step_parts(const NetworkWork& work, const DeviceSheet& device, const SharedConstants& shared,
                     const DeviceConstants& own);

// Returns the seconds of so many steps, including their reports, and of the start before them.
double run_seconds(const StepParts& parts, const DeviceConstants& own, double steps, bool with_start);

}  // namespace trainyard::predict
