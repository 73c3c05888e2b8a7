#include "predict/kernels/gpu_stand_in.h"

#include <cmath>

#include "base/error.h"
#include "ops/conv2d.h"
#include "ops/registry.h"

namespace trainyard::predict {
namespace {

using backend::KernelIo;
using backend::KernelRequest;

[[noreturn]] void refuse_to_work() {
  fail(ErrorKind::unsupported, "a stand-in of a GPU plans only; it has no memory and runs nothing");
}

class StandInDevice final : public backend::Device {
 public:
  StandInDevice(StandInKernels kernels, double memory_bytes)
      : asked(std::move(kernels)), memory_bytes_(memory_bytes) {}

  std::string name() const override { return "stand-in"; }
  std::size_t free_bytes() const override { return static_cast<std::size_t>(memory_bytes_); }
  int lanes() const override { return 2; }  // a plan's memory is the same with more

  std::byte* allocate(std::size_t) override { refuse_to_work(); }
  void release(std::byte*, std::size_t) noexcept override {}
  void write(std::byte*, const void*, std::size_t) override { refuse_to_work(); }
  void read(const std::byte*, void*, std::size_t) override { refuse_to_work(); }
  void wait() override {}
  void fill_random(std::byte*, std::size_t, DType) override { refuse_to_work(); }
  double time(const std::function<void()>&) override { refuse_to_work(); }

  const StandInKernels asked;

 private:
  double memory_bytes_;
};

class StandInKernel final : public backend::Kernel {
 public:
  using Kernel::Kernel;
  void bind(const backend::Binding&) override { refuse_to_work(); }
  void run(const backend::StepContext&) override { refuse_to_work(); }
};

Layout natural_layout(const Shape& shape) { return shape.rank() == 4 ? Layout::channels_last(4) : Layout{}; }

std::unique_ptr<backend::Kernel> make_kernel(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  KernelIo io;
  for (int i = 0; i < node.inputs(); ++i) {
    const std::optional<Layout>& present = request.inputs[static_cast<std::size_t>(i)];
    io.inputs.push_back(present && node.node().op->any_layout ? *present
                                                              : natural_layout(node.input_shape(i)));
  }
  for (int o = 0; o < node.outputs(); ++o) io.outputs.push_back(natural_layout(node.output_shape(o)));
  io.in_place = backend::in_place_of_row(node, io);
  const auto& device = static_cast<const StandInDevice&>(*request.device);
  io.workspace_bytes = static_cast<std::size_t>(std::llround(device.asked.workspace_bytes(node)));
  return std::make_unique<StandInKernel>(std::move(io));
}

backend::Decision accept_likely(const KernelRequest& request) {
  if (request.node.node().op == &ops::conv2d_max_pool_op &&
      request.node.dtype() != request.node.input(1).type.dtype)
    return backend::Decision::no("libraries take images and weights of one type");
  const auto& device = static_cast<const StandInDevice&>(*request.device);
  return device.asked.takes(request.node) ? backend::Decision::yes()
                                          : backend::Decision::no("kernels like it were not taken");
}

class GpuStandIn final : public backend::Backend {
 public:
  explicit GpuStandIn(std::shared_ptr<StandInDevice> device) : device_(std::move(device)) {
    for (const graph::OpDef* op : ops::all_ops()) {
      candidates_.push_back({op, "stand-in", accept_likely, make_kernel});
      // The name tells the fusion passes that this kernel is no reason to fuse.
      candidates_.push_back(
          {op, "stand-in_plain", [](const KernelRequest&) { return backend::Decision::yes(); }, make_kernel});
    }
  }
  std::string name() const override { return "stand-in"; }
  std::shared_ptr<backend::Device> device() const override { return device_; }
  const std::vector<backend::Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<backend::Kernel> make_reorder(const graph::TensorType&, const Layout& from,
                                                const Layout& to) const override {
    return std::make_unique<StandInKernel>(KernelIo{{from}, {to}, 0, {}});
  }
  bool executes() const override { return false; }

 private:
  std::shared_ptr<StandInDevice> device_;
  std::vector<backend::Candidate> candidates_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_gpu_stand_in(StandInKernels kernels, double memory_bytes) {
  return std::make_unique<GpuStandIn>(std::make_shared<StandInDevice>(std::move(kernels), memory_bytes));
}

}  // namespace trainyard::predict
