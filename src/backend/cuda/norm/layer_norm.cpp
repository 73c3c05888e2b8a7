#include "ops/layer_norm.h"

#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

using Attrs = ops::LayerNormAttrs;

bool is_centred(const graph::NodeView& node) { return node.attrs<Attrs>().centred; }

Decision want_f32(const KernelRequest& request, int input) {
  return request.node.input(input).type.dtype == DType::f32
             ? want_device_floats(request)
             : Decision::no("takes gamma, beta and statistics in f32");
}

Decision accept(const KernelRequest& request) {
  Decision decision = want_f32(request, 1);
  if (decision.accepted() && is_centred(request.node)) decision = want_f32(request, 2);
  return decision;
}

// The term that is added is the last input.
template <typename T>
const T* term_of(const Launch& at) {
  return at.node.attrs<Attrs>().adds ? at.input<T>(at.node.inputs() - 1) : nullptr;
}

void layer_norm(const Launch& at) {
  const bool centred = is_centred(at.node);
  const Shape& shape = at.node.input_shape(0);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    const T* term = term_of<T>(at);
    device::layer_norm<T>(at.stream(), shape[0], shape[1], static_cast<float>(at.node.attrs<Attrs>().epsilon),
                          {.src = at.input<T>(0),
                           .term = term,
                           .sum = term == nullptr ? nullptr : at.output<T>(at.node.outputs() - 1)},
                          {.gamma = at.input<float>(1),
                           .beta = centred ? at.input<float>(2) : nullptr,
                           .inverse = at.output<float>(1),
                           .mean = centred ? at.output<float>(2) : nullptr},
                          at.output<T>(0));
  });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), layer_norm);
}

device::LayerNormPasses passes_of(const graph::NodeView& node, const Context& device) {
  const std::size_t widest = std::max(size_of(node.input(0).type.dtype), size_of(node.input(1).type.dtype));
  return {node.input_shape(1)[0], node.input_shape(1)[1], static_cast<int>(16 / widest),
          device.properties().multiProcessorCount, node.attrs<Attrs>().column_sums};
}

class LayerNormGrad final : public Kernel {
 public:
  explicit LayerNormGrad(const KernelRequest& request)
      : Kernel(in_place_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        passes_(passes_of(node_, device_)),
        finished_(device_) {
    io_.workspace_bytes = passes_.part_bytes();
  }
  void bind(const Binding& binding) override { binding_ = binding; }

  // d_dst is bf16 where a product made it, while src may be a sum in f32.
  void run(const StepContext&) override {
    with_float_type(node_.input(0).type.dtype, [this]<typename D>() {
      with_float_type(node_.input(1).type.dtype, [this]<typename T>() { start<D, T>(); });
    });
  }

 private:
  template <typename D, typename T>
  void start() {
    const Launch at{node_, io_, binding_, device_};
    const bool centred = is_centred(node_);
    device::layer_norm_grad<D, T>(
        at.stream(), passes_,
        {.d_dst = at.input<D>(0),
         .src = at.input<T>(1),
         .term = term_of<T>(at),
         .gamma = at.input<float>(2),
         .inverse = at.input<float>(3),
         .mean = centred ? at.input<float>(4) : nullptr},
        at.workspace<float>(), finished_.get(), at.output<T>(0),
        {.d_gamma = at.output<float>(1),
         .d_beta = centred ? at.output<float>(2) : nullptr,
         .columns = node_.attrs<Attrs>().column_sums ? at.output<float>(node_.outputs() - 1) : nullptr});
  }

  graph::NodeView node_;
  Context& device_;
  device::LayerNormPasses passes_;
  BlockCounter finished_;
  Binding binding_;
};

Decision accept_gradient(const KernelRequest& request) {
  if (request.node.attrs<Attrs>().column_sums &&
      !device::LayerNormPasses::fits_warps(request.node.input_shape(1)[1]))
    return Decision::no("sums columns only where a warp takes a row");
  return want_f32(request, 2);
}

std::unique_ptr<Kernel> make_gradient(const KernelRequest& request) {
  return std::make_unique<LayerNormGrad>(request);
}

}  // namespace

std::vector<Candidate> layer_norm_candidates() {
  return {{&ops::layer_norm_op, "own:layer_norm", accept, make},
          {&ops::layer_norm_grad_op, "own:layer_norm_grad", accept_gradient, make_gradient}};
}

}  // namespace trainyard::backend::cuda
