#include "ops/sequence/position.h"

#include <numbers>

#include "backend/cuda/attention/position_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

device::StepRows rows_of(const graph::NodeView& node, const ops::SequenceRows& rows) {
  return {node.input_shape(0)[0], rows.steps, rows.batch_first};
}

void add_positions(const Launch& at) {
  const device::StepRows rows = rows_of(at.node, at.node.attrs<ops::PositionsAttrs>().rows);
  const std::int64_t width = at.node.input_shape(0)[1];
  with_float_type(at.node.dtype(), [&]<typename T>() {
    with_float_type(at.node.input(1).type.dtype, [&]<typename P>() {
      device::add_positions(at.stream(), rows, width, at.input<T>(0), at.input<P>(1), at.output<T>(0));
    });
  });
}

void positions_d_table(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::PositionsAttrs>();
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::positions_d_table(at.stream(), rows_of(at.node, attrs.rows), at.node.input_shape(0)[1],
                              attrs.positions, at.input<T>(0), at.output<float>(0));
  });
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), function);
}

// A RotaryKernel keeps the speeds of all angles on the device, in double precision.
class RotaryKernel final : public Kernel {
 public:
  explicit RotaryKernel(const KernelRequest& request)
      : Kernel(in_place_io(request.node)), node_(request.node), device_(context_of(request)) {}

  void bind(const Binding& binding) override {
    binding_ = binding;
    const auto& attrs = node_.attrs<ops::RotaryAttrs>();
    std::vector<double> turns;
    for (std::int64_t i = 0; i < attrs.head_size / 2; ++i)
      turns.push_back(
          std::pow(attrs.base, -2 * static_cast<double>(i) / static_cast<double>(attrs.head_size)) /
          (2 * std::numbers::pi));
    const std::size_t bytes = turns.size() * sizeof(double);
    // The device outlives its kernels.
    turns_ = DeviceMemory(std::shared_ptr<Device>(std::shared_ptr<Device>(), &device_), bytes);
    device_.write(turns_.data(), turns.data(), bytes);
  }

  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    const auto& attrs = node_.attrs<ops::RotaryAttrs>();
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::rotary(at.stream(),
                     {.rows = rows_of(node_, attrs.rows),
                      .width = node_.input_shape(0)[1],
                      .heads = static_cast<int>(attrs.heads),
                      .head_size = static_cast<int>(attrs.head_size),
                      .inverse = attrs.inverse,
                      .turns = reinterpret_cast<const double*>(turns_.data()),
                      .first_place = node_.inputs() > 1 ? at.input<std::int32_t>(1) : nullptr},
                     at.input<T>(0), at.output<T>(0));
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  Binding binding_;
  DeviceMemory turns_;
};

std::unique_ptr<Kernel> make_rotary(const KernelRequest& request) {
  return std::make_unique<RotaryKernel>(request);
}

}  // namespace

std::vector<Candidate> position_candidates() {
  return {{&ops::add_positions_op, "own:add_positions", want_device_floats, make<add_positions>},
          {&ops::positions_d_table_op, "own:positions_d_table", want_device_floats, make<positions_d_table>},
          {&ops::rotary_op, "own:rotary", want_device_floats, make_rotary}};
}

}  // namespace trainyard::backend::cuda
