#include "predict/analytic/step_time.h"

namespace trainyard::predict {

// The initial values come from the literature and data sheets: 3x3 convolutions by Winograd's algorithm do
// 2.25 times the work (Lavin and Gray, 2016) and move their transforms; large products reach some 80 % of the
// peak; the executor of TensorFlow 1 takes 5 to 10 microseconds for a kernel. Small networks of published
// runs showed that a product takes the host ten times as long. Tiles of results have 64 x 64.
const std::array<ConstantRow, kSharedConstants> kSharedRows = {{
    {"window3_efficiency", 2.0, 0.4},
    {"window3_weight_efficiency", 1.4, 0.4},
    {"large_window_efficiency", 1.0, 0.4},
    {"pointwise_efficiency", 0.8, 0.3},
    {"strided_efficiency", 0.8, 0.4},
    {"half_columns", 16, 0.8},
    {"half_inner", 32, 0.8},
    {"half_tiles", 0.5, 1},
    {"window_traffic", 2.0, 0.5},
    {"pointwise_traffic", 1.2, 0.3},
    {"norm_traffic", 1.5, 0.4},
    {"pool_traffic", 1.2, 0.4},
    {"copy_traffic", 1.2, 0.5},
    {"elementwise_traffic", 1.0, 0.3},
    {"launch", 1.0, 0.6},
    {"update_passes", 13, 0.4},
    {"slot_passes", 2.0, 0.3},
    {"variable_ops", 3.0, 0.5},
    {"slot_ops", 0.15, 1},
    {"product_ops", 10, 0.5},
    {"sharpness", 3.0, 0.4},
}};

const std::array<ConstantRow, kDeviceConstants> kDeviceRows = {{
    {"compute", 1.0, 0.15},
    {"bandwidth", 1.0, 0.15},
    {"host_op_seconds", 7e-6, 0.4},
    {"host_step_seconds", 0.5e-3, 0.3},
    {"start_seconds", 5, 0.6},
    {"start_seconds_per_op", 10e-3, 0.6},
    {"report_seconds_per_step_squared", 3e-9, 0.6},
}};

SharedConstants first_shared() {
  SharedConstants constants{};
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = kSharedRows[i].first;
  return constants;
}

DeviceConstants first_of_device() {
  DeviceConstants constants{};
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = kDeviceRows[i].first;
  return constants;
}

namespace {

constexpr double kTile = 64.0 * 64.0;
// Products of matrices and gradients of weights split sums longer than this among multiprocessors.
constexpr double kSplit = 512;
// A normalisation also updates two running statistics, each by a difference, a product and an assignment.
constexpr double kStatisticOps = 6;
// Weight decay of a tensor adds its penalty, the penalty's gradient and the sum of gradients.
constexpr double kDecayOps = 3;
constexpr double kWordBytes = 4;

double efficiency(const KernelWork& kernel, const SharedConstants& shared) {
  if (kernel.window == 1) return shared[kPointwise];
  if (kernel.strided) return shared[kStrided];
  if (kernel.window > 9) return shared[kLargeWindow];
  return kernel.of_weight ? shared[kWindow3Weight] : shared[kWindow3];
}

double traffic(const KernelWork& kernel, const SharedConstants& shared) {
  switch (kernel.kind) {
    case KernelKind::product:  // no algorithm transforms the images of grouped convolutions
      return shared[kernel.window > 1 && kernel.groups == 1 ? kWindowTraffic : kPointwiseTraffic];
    case KernelKind::norm:
      return shared[kNormTraffic];
    case KernelKind::pool:
      return shared[kPoolTraffic];
    case KernelKind::copy:
      return shared[kCopyTraffic];
    case KernelKind::elementwise:
      break;
  }
  return shared[kElementwiseTraffic];
}

// Returns seconds of arithmetic, at the rate of large products.
double product_seconds(const KernelWork& kernel, const DeviceSheet& device, const SharedConstants& shared,
                       double peak) {
  const bool splits = kernel.of_weight || kernel.dense;
  const double split = splits ? std::max(1.0, kernel.inner / kSplit) : 1.0;
  const double tiles = std::max(kernel.rows * kernel.columns * kernel.groups / kTile * split, 1 / kTile);
  return kernel.flops / (peak * efficiency(kernel, shared)) *
         (1 + shared[kHalfColumns] / std::max(kernel.columns, 1.0)) *
         (1 + shared[kHalfInner] / std::max(kernel.inner, 1.0)) *
         (1 + shared[kHalfTiles] * device.multiprocessors / tiles);
}

}  // namespace

StepParts step_parts(const NetworkWork& work, const DeviceSheet& device, const SharedConstants& shared,
                     const DeviceConstants& own) {
  StepParts parts;
  const double peak = device.flops_per_second * own[kCompute];
  const double bandwidth = device.bytes_per_second * own[kBandwidth];
  const double least = device.launch_seconds * shared[kLaunch];
  double launches = 0, products = 0, norms = 0;
  for (const KernelWork& kernel : work.kernels) {
    const double moving = kernel.count * kernel.bytes * traffic(kernel, shared) / bandwidth;
    launches += kernel.count;
    if (kernel.kind == KernelKind::product) {
      products += kernel.count;
      (kernel.window > 1 ? parts.window_products : parts.other_products) +=
          kernel.count * product_seconds(kernel, device, shared, peak);
      parts.product_traffic += moving;
    } else if (kernel.kind == KernelKind::norm) {
      norms += kernel.count / 2;  // forward and backward
      parts.norm += moving;
    } else {
      parts.other_traffic += moving;
    }
  }
  const double decayed = std::max(work.variables - 2 * norms, 0.0);  // not what a normalisation has
  const double small = kStatisticOps * norms + kDecayOps * decayed +
                       work.variables * (shared[kVariableOps] + shared[kSlotOps] * work.state_slots);
  parts.launch = (launches + small / 2) * least;
  parts.update = work.parameters * kWordBytes *
                 (shared[kUpdatePasses] + shared[kSlotPasses] * work.state_slots) / bandwidth;
  const double ops = launches + small;
  parts.host = own[kHostStep] + own[kHostOp] * (ops + shared[kProductOps] * products);
  parts.start = own[kStart] + own[kStartOp] * ops;
  const double sharpness = 1 + shared[kSharpness];
  const double longer = std::max(parts.host, parts.device());
  const double ratio = std::min(parts.host, parts.device()) / longer;
  parts.step = longer * std::pow(1 + std::pow(ratio, sharpness), 1 / sharpness);
  return parts;
}

double run_seconds(const StepParts& parts, const DeviceConstants& own, double steps, bool with_start) {
  return (with_start ? parts.start : 0) + steps * parts.step + own[kReportSeconds] * steps * steps;
}

}  // namespace trainyard::predict
