#include "backend/cuda/conv/convolution.h"

#include "backend/cuda/conv/conv2d_kernels.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/pool/pool.h"
#include "backend/cuda/pool/pool_kernels.h"

namespace trainyard::backend::cuda {

namespace {

constexpr std::int64_t kSrc = 1, kWeight = 2, kDst = 3;
constexpr std::size_t kMostEngines = 12, kMostQuickEngines = 3;

struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t src, weight, dst, convolution, alpha, beta;
};

OperationNames names_of(ConvolutionKind kind) {
  switch (kind) {
    case ConvolutionKind::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionKind::d_src:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionKind::d_weight:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

CudnnDescriptor window_descriptor(const ops::Window2d& window) {
  CudnnDescriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {window.pad_top, window.pad_left});
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {window.pad_bottom, window.pad_right});
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {window.stride_h, window.stride_w});
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {window.dilation_h, window.dilation_w});
  made.finalize();
  return made;
}

CudnnDescriptor operation(const ConvolutionProblem& problem) {
  const OperationNames names = names_of(problem.kind);
  const Layout layout = Layout::channels_last(4);
  CudnnDescriptor made(names.type);
  made.set(names.src, tensor_descriptor(kSrc, problem.src, layout, problem.dtype));
  made.set(names.weight, tensor_descriptor(kWeight, problem.weight, layout, problem.dtype));
  made.set(names.dst, tensor_descriptor(kDst, problem.dst, layout, problem.dtype));
  made.set(names.convolution, window_descriptor(problem.window));
  made.set(names.alpha, 1.0f);
  made.set(names.beta, 0.0f);
  made.finalize();
  return made;
}

Contest measure_plans(Context& context, const ConvolutionProblem& problem,
                      const std::vector<ExecutionPlan>& plans) {
  std::vector<Way> ways;
  std::size_t workspace_bytes = 0;
  for (const ExecutionPlan& plan : plans) {
    const std::string text = plan.choice().to_string();
    ways.push_back({"engine " + text, text});
    workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes());
  }
  try {
    const ScratchMemory src = random_memory(context, problem.src.elements(), problem.dtype),
                        weight = random_memory(context, problem.weight.elements(), problem.dtype),
                        dst = random_memory(context, problem.dst.elements(), problem.dtype),
                        workspace = scratch_memory(context, workspace_bytes);
    const CudnnDescriptor memory = ExecutionPlan::variant_pack(
        {kSrc, kWeight, kDst}, {src.get(), weight.get(), dst.get()}, workspace.get());
    const auto launch = [&](std::size_t i) { plans[i].run(context, memory); };
    const Contest contest = find_fastest(context, ways, launch, context.tuning().effort());
    context.wait();
    return contest;
  } catch (const Error& error) {
    // Too little memory to measure: what the heuristics put first.
    if (error.kind() != ErrorKind::device) throw;
    return {0, {ways[0].name, ways[0].choice, 0, {}}};
  }
}

std::optional<PlannedConvolution> known_plan(const OperationGraph& graph, const Tuned* known) {
  if (known == nullptr) return std::nullopt;
  const std::optional<EngineChoice> choice = EngineChoice::parse(known->choice);
  if (!choice) return std::nullopt;
  try {
    if (auto plan = graph.plan(*choice)) return PlannedConvolution{std::move(*plan), *known};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
  }
  return std::nullopt;
}

std::shared_ptr<const PlannedConvolution> plan_convolution(Context& context,
                                                           const ConvolutionProblem& problem) {
  const OperationGraph graph(context, operation(problem));
  const std::string key = fmt::format("cudnn {} {}", name(context.precision()), problem.to_string());
  if (auto known = known_plan(graph, context.tuning().find(key)))
    return std::make_shared<const PlannedConvolution>(std::move(*known));
  std::vector<ExecutionPlan> plans =
      graph.plans(context.tuning().effort() == Effort::full ? kMostEngines : kMostQuickEngines);
  if (plans.empty()) return nullptr;
  Contest contest = measure_plans(context, problem, plans);
  if (contest.winner < 0) return nullptr;
  if (contest.tuned.seconds > 0) context.tuning().put(key, contest.tuned);
  return std::make_shared<const PlannedConvolution>(PlannedConvolution{
      std::move(plans[static_cast<std::size_t>(contest.winner)]), std::move(contest.tuned)});
}

const char* name(ConvolutionKind kind) {
  return kind == ConvolutionKind::forward ? "conv2d"
         : kind == ConvolutionKind::d_src ? "conv2d_d_src"
                                          : "conv2d_d_weight";
}

}  // namespace

std::string ConvolutionProblem::to_string() const {
  return fmt::format("{} {} src {} weight {} dst {} stride {}x{} dilation {}x{} pad {},{},{},{} acdb",
                     name(kind), trainyard::name(dtype), src.to_string(), weight.to_string(), dst.to_string(),
                     window.stride_h, window.stride_w, window.dilation_h, window.dilation_w, window.pad_top,
                     window.pad_left, window.pad_bottom, window.pad_right);
}

std::shared_ptr<const PlannedConvolution> Convolutions::find(Context& context,
                                                             const ConvolutionProblem& problem) {
  const auto [at, is_new] = planned_.try_emplace(problem.to_string(), nullptr);
  if (!is_new) return at->second;
  try {
    at->second = plan_convolution(context, problem);
  } catch (const Error& error) {
    // cuDNN also refuses a whole graph that none of its engines could run.
    if (error.kind() != ErrorKind::device) throw;
  }
  return at->second;
}

std::size_t Convolution::workspace_bytes() const { return with_slack(planned_->plan.workspace_bytes()); }

void Convolution::bind(std::byte* src, std::byte* weight, std::byte* dst, std::byte* workspace) {
  std::byte* const aligned = planned_->plan.workspace_bytes() == 0 ? nullptr : aligned_workspace(workspace);
  memory_ = ExecutionPlan::variant_pack({kSrc, kWeight, kDst}, {src, weight, dst}, aligned);
}

namespace {

device::PlainConvolution sizes_of(const ops::Conv2dAttrs& attrs, const Shape& src, const Shape& weight,
                                  const Shape& dst) {
  const ops::Window2d& window = attrs.window;
  return {.batch = src[0],
          .channels = src[1],
          .height = src[2],
          .width = src[3],
          .outputs = dst[1],
          .rows = dst[2],
          .columns = dst[3],
          .depth = weight[1],
          .group_outputs = dst[1] / attrs.groups,
          .kernel_h = window.kernel_h,
          .kernel_w = window.kernel_w,
          .stride_h = window.stride_h,
          .stride_w = window.stride_w,
          .dilation_h = window.dilation_h,
          .dilation_w = window.dilation_w,
          .pad_top = window.pad_top,
          .pad_left = window.pad_left};
}

}  // namespace

void conv2d_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dAttrs>();
  const auto sizes = sizes_of(attrs, at.node.input_shape(0), at.node.input_shape(1), at.node.output_shape(0));
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_plain(at.stream(), sizes, at.input<T>(0), at.input<T>(1),
                         at.node.inputs() == 3 ? at.input<float>(2) : nullptr, to_device(attrs.activation),
                         at.output<T>(0));
  });
}

void conv2d_d_src_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dGradAttrs>();
  const auto sizes = sizes_of(attrs.conv, attrs.shape, at.node.input_shape(1), at.node.input_shape(0));
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_d_src_plain(at.stream(), sizes, at.input<T>(0), at.input<T>(1), at.output<T>(0));
  });
}

void conv2d_d_weight_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dGradAttrs>();
  const Shape& dst = at.node.input_shape(0);
  const auto sizes = sizes_of(attrs.conv, at.node.input_shape(1), attrs.shape, dst);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_d_weight_plain(at.stream(), sizes, at.input<T>(0), at.input<T>(1), at.output<T>(0));
    if (attrs.bias)
      device::channel_sum(at.stream(), at.input<T>(0), at.output<float>(1), dst.elements() / dst[1], dst[1]);
  });
}

// The convolution's output lies in the workspace.
void conv2d_max_pool_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dMaxPoolAttrs>();
  const Shape &src = at.node.input_shape(0), &weight = at.node.input_shape(1), &dst = at.node.output_shape(0);
  const Shape between = ops::convolved_shape(attrs, src, weight);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::conv2d_plain<T>(at.stream(), sizes_of(attrs.conv, src, weight, between), at.input<T>(0),
                            at.input<T>(1), at.node.inputs() == 3 ? at.input<float>(2) : nullptr,
                            to_device(attrs.conv.activation), at.workspace<T>());
    device::max_pool(at.stream(), make_pool(attrs.pool, between, dst), at.workspace<T>(), at.output<T>(0),
                     at.output<std::uint8_t>(1));
  });
}

// The gradient of the convolution's output lies in the workspace.
void conv2d_max_pool_d_weight_plain(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dMaxPoolGradAttrs>();
  const Shape &dst = at.node.input_shape(0), &src = at.node.input_shape(2);
  const Shape between = ops::convolved_shape(attrs.forward, src, attrs.weight);
  with_float_type(at.node.dtype(), [&]<typename T>() {
    device::max_pool_d_src(at.stream(), make_pool(attrs.forward.pool, between, dst), at.input<T>(0),
                           at.input<std::uint8_t>(1), attrs.mask_by_dst ? at.input<T>(3) : nullptr,
                           at.workspace<T>());
    device::conv2d_d_weight_plain(at.stream(), sizes_of(attrs.forward.conv, src, attrs.weight, between),
                                  at.workspace<T>(), at.input<T>(2), at.output<T>(0));
    if (attrs.bias)
      device::channel_sum(at.stream(), at.workspace<T>(), at.output<float>(1),
                          between.elements() / between[1], between[1]);
  });
}

}  // namespace trainyard::backend::cuda
