#include "ops/sequence/attention.h"

#include "backend/cuda/attention/attention_kernels.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

// `qkv` and `lengths`: the inputs of these names; there may be no lengths.
device::AttentionShape shape_of(const Launch& at, int qkv, int lengths) {
  const auto& attrs = at.node.attrs<ops::AttentionAttrs>();
  const Shape& shape = at.node.input_shape(qkv);
  const std::int64_t steps = attrs.rows.steps, sequences = attrs.rows.sequences(shape[0]),
                     head = attrs.head_size(shape[1]);
  return {.sequence_stride = attrs.rows.batch_first ? steps : 1,
          .step_stride = attrs.rows.stride(shape[0]),
          .sequences = static_cast<int>(sequences),
          .steps = static_cast<int>(steps),
          .heads = static_cast<int>(attrs.heads),
          .kv_heads = static_cast<int>(attrs.kv_heads),
          .head_size = static_cast<int>(head),
          .causal = attrs.causal,
          .scale = static_cast<float>(attrs.scale(head)),
          .lengths = at.node.inputs() > lengths ? at.input<std::int32_t>(lengths) : nullptr,
          .dropout = {at.context(), attrs.dropout.stream, static_cast<float>(attrs.dropout.rate),
                      static_cast<float>(1 / (1 - attrs.dropout.rate))}};
}

// Blocks are counted in 32 bits, and the smallest take 64 steps of a head.
Decision want_countable_blocks(const KernelRequest& request, int qkv) {
  const auto& attrs = request.node.attrs<ops::AttentionAttrs>();
  const std::int64_t sequences = attrs.rows.sequences(request.node.input_shape(qkv)[0]);
  if (sequences * attrs.heads * (attrs.rows.steps / 32 + 1) >= std::int64_t{1} << 31)
    return Decision::no("there are 2^31 tiles of heads or more");
  return want_device_floats(request);
}

Decision accept_plain(const KernelRequest& request) { return want_countable_blocks(request, 0); }
Decision accept_plain_grad(const KernelRequest& request) {
  if (request.node.attrs<ops::AttentionAttrs>().column_sums) return Decision::no("sums no columns");
  return want_countable_blocks(request, 1);
}

Decision want_tiles(const KernelRequest& request, int qkv) {
  const DType dtype = request.node.input(qkv).type.dtype;
  const std::int64_t head =
      request.node.attrs<ops::AttentionAttrs>().head_size(request.node.input_shape(qkv)[1]);
  if (Decision blocks = want_countable_blocks(request, qkv); !blocks.accepted()) return blocks;
  if (dtype == DType::f32 && context_of(request).precision() == Precision::f32)
    return Decision::no("rounds what it multiplies");
  if (head * static_cast<std::int64_t>(size_of(dtype)) % 16 != 0)
    return Decision::no("loads 16 bytes of a head at once");
  if (head > device::kLargestTiledHead) return Decision::no("made for heads of at most 128 numbers");
  return Decision::yes();
}

Decision accept_tiled(const KernelRequest& request) { return want_tiles(request, 0); }
Decision accept_tiled_grad(const KernelRequest& request) {
  if (request.node.attrs<ops::AttentionAttrs>().column_sums) return Decision::no("sums no columns");
  return want_tiles(request, 1);
}

Decision accept_warpgroup_grad(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::AttentionAttrs>();
  const std::int64_t head = attrs.head_size(request.node.input_shape(1)[1]);
  if (request.node.input(1).type.dtype != DType::bf16) return Decision::no("multiplies bf16");
  if (attrs.dropout.rate > 0) return Decision::no("drops no probabilities");
  if (head > device::kLargestWarpgroupHead || head % 8 != 0)
    return Decision::no("made for heads of at most 64 numbers, by eights");
  return want_countable_blocks(request, 1);
}

void plain(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::attention_plain(at.stream(), shape_of(at, 0, 1), at.input<T>(0), at.output<T>(0),
                            at.output<float>(1));
  });
}

void tiled(const Launch& at) {
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::attention_tiled(at.stream(), shape_of(at, 0, 1), at.input<T>(0), at.output<T>(0),
                            at.output<float>(1));
  });
}

// Behind a number for each query the workspace has d_dst in the type of qkv where its own is another one.
std::size_t deltas_bytes(const graph::NodeView& node) {
  return align_up(static_cast<std::size_t>(node.input_shape(3).elements()) * sizeof(float));
}

bool converts_d_dst(const graph::NodeView& node) {
  return node.input(0).type.dtype != node.input(1).type.dtype;
}

template <typename T>
device::AttentionGradient<T> gradient_of(const Launch& at) {
  const T* d_dst = at.input<T>(0);
  if (converts_d_dst(at.node)) {
    auto* converted = reinterpret_cast<T*>(at.workspace<std::byte>() + deltas_bytes(at.node));
    with_float_type(at.node.input(0).type.dtype, [&]<typename From>() {
      if constexpr (!std::is_same_v<From, T>)
        device::convert(at.stream(), at.input<From>(0), converted, at.node.input_shape(0).elements());
    });
    d_dst = converted;
  }
  return {.d_dst = d_dst,
          .qkv = at.input<T>(1),
          .dst = at.input<T>(2),
          .log_sums = at.input<float>(3),
          .deltas = at.workspace<float>(),
          .d_qkv = at.output<T>(0)};
}

void plain_grad(const Launch& at) {
  with_float_type(at.node.input(1).type.dtype, [&]<typename T>() {
    device::attention_plain_grad(at.stream(), shape_of(at, 1, 4), gradient_of<T>(at));
  });
}

void tiled_grad(const Launch& at) {
  with_float_type(at.node.input(1).type.dtype, [&]<typename T>() {
    device::attention_tiled_grad(at.stream(), shape_of(at, 1, 4), gradient_of<T>(at));
  });
}

// The workspace of every gradient, behind which warpgroups have the parts of their column sums.
std::size_t gradient_bytes(const graph::NodeView& node) {
  if (!converts_d_dst(node)) return deltas_bytes(node);
  return deltas_bytes(node) + align_up(static_cast<std::size_t>(node.input_shape(0).elements()) *
                                       size_of(node.input(1).type.dtype));
}

// A part for each tile of each sequence.
std::int64_t column_parts(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::AttentionAttrs>();
  if (!attrs.column_sums) return 0;
  constexpr int kTile = device::kWarpgroupTile;
  return attrs.rows.sequences(node.input_shape(1)[0]) * ((attrs.rows.steps + kTile - 1) / kTile);
}

void warpgroup_grad(const Launch& at) {
  auto gradient = gradient_of<__nv_bfloat16>(at);
  const std::int64_t parts = column_parts(at.node);
  if (parts > 0)
    gradient.column_parts = reinterpret_cast<float*>(at.workspace<std::byte>() + gradient_bytes(at.node));
  device::attention_warpgroup_grad(at.stream(), shape_of(at, 1, 4), gradient);
  if (parts > 0)
    device::channel_sum(at.stream(), gradient.column_parts, at.output<float>(1), parts,
                        at.node.input_shape(1)[1]);
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes =
      gradient_bytes(request.node) +
      static_cast<std::size_t>(column_parts(request.node) * request.node.input_shape(1)[1]) * sizeof(float);
  return std::make_unique<LaunchKernel>(request, std::move(io), function);
}

}  // namespace

std::vector<Candidate> attention_candidates() {
  return {{&ops::attention_op, "own:attention", accept_tiled, make<tiled>},
          {&ops::attention_grad_op, "own:attention_grad", accept_tiled_grad, make_grad<tiled_grad>},
          {&ops::attention_grad_op, "own:attention_grad_warpgroup", accept_warpgroup_grad,
           make_grad<warpgroup_grad>},
          {&ops::attention_op, "own:attention_plain", accept_plain, make<plain>},
          {&ops::attention_grad_op, "own:attention_grad_plain", accept_plain_grad, make_grad<plain_grad>}};
}

}  // namespace trainyard::backend::cuda
