#include "backend/onednn/runtime/dnnl_kernel.h"

#include "backend/onednn/runtime/isa_check.h"

namespace trainyard::backend::onednn {

namespace {

dnnl::stream& cpu_stream() {
  static dnnl::stream stream(cpu_engine());
  return stream;
}

}  // namespace

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine = [] {
    limit_to_usable_isa();
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

dnnl::memory::dims to_dims(const Shape& shape) { return {shape.begin(), shape.end()}; }

dnnl::memory::desc any_desc(const Shape& shape) {
  return {to_dims(shape), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

dnnl::memory::desc to_desc(const Shape& shape, const Layout& layout) {
  // There is no constructor for inner blocks: begin with a plain descriptor and complete it.
  const LayoutIndex plain_index(Layout{}, shape), index(layout, shape);
  dnnl::memory::dims strides;
  for (int axis = 0; axis < shape.rank(); ++axis) strides.push_back(plain_index.outer_stride(axis));
  dnnl::memory::desc desc(to_dims(shape), dnnl::memory::data_type::f32, strides);
  const Shape padded = layout.padded(shape);
  auto& blocking = desc.data.format_desc.blocking;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    desc.data.padded_dims[axis] = padded[axis];
    blocking.strides[axis] = index.outer_stride(axis);
  }
  blocking.inner_nblks = static_cast<int>(layout.blocks().size());
  for (std::size_t i = 0; i < layout.blocks().size(); ++i) {
    blocking.inner_blks[i] = layout.blocks()[i].size;
    blocking.inner_idxs[i] = layout.blocks()[i].axis;
  }
  return desc;
}

Layout to_layout(const dnnl::memory::desc& desc) {
  TRAINYARD_CHECK(desc.data.format_kind == dnnl_blocked);
  const auto& blocking = desc.data.format_desc.blocking;
  std::vector<Layout::Block> blocks;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    blocks.push_back({static_cast<int>(blocking.inner_idxs[i]), blocking.inner_blks[i]});
  std::vector<int> order(static_cast<std::size_t>(desc.data.ndims));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
  return {order, blocks};
}

dnnl::primitive_attr planned_attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::primitive_attr planned_attr(const ops::ActivationAttrs& activation) {
  dnnl::primitive_attr attr = planned_attr();
  dnnl::post_ops after;
  switch (activation.kind) {
    case ops::Activation::none:
      return attr;
    case ops::Activation::relu:
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      break;
    case ops::Activation::relu6:
      after.append_eltwise(1, dnnl::algorithm::eltwise_clip, 0, 6);
      break;
    case ops::Activation::leaky_relu:
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, static_cast<float>(activation.slope), 0);
      break;
    case ops::Activation::sigmoid:
      after.append_eltwise(1, dnnl::algorithm::eltwise_logistic, 0, 0);
      break;
    case ops::Activation::tanh:
      after.append_eltwise(1, dnnl::algorithm::eltwise_tanh, 0, 0);
      break;
  }
  attr.set_post_ops(after);
  return attr;
}

dnnl::memory::dims window_strides(const ops::Window2d& window) { return {window.stride_h, window.stride_w}; }
dnnl::memory::dims window_dilations(const ops::Window2d& window) {
  return {window.dilation_h - 1, window.dilation_w - 1};
}
dnnl::memory::dims padding_before(const ops::Window2d& window) { return {window.pad_top, window.pad_left}; }
dnnl::memory::dims padding_after(const ops::Window2d& window) {
  return {window.pad_bottom, window.pad_right};
}

bool has_matrix_convolutions() {
  static const bool has = [] {
    using dnnl::memory;
    const memory::desc image({1, 32, 8, 8}, memory::data_type::f32, memory::format_tag::nhwc);
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_training,
                                               dnnl::algorithm::convolution_direct, image,
                                               any_desc({32, 32, 3, 3}), image, {1, 1}, {1, 1}, {1, 1});
    const dnnl::convolution_forward::primitive_desc pd(desc, cpu_engine());
    return std::string(pd.impl_info_str()).starts_with("brgconv");
  }();
  return has;
}

Decision wants_f32(const graph::NodeView& node) {
  if (node.dtype() == DType::f32) return Decision::yes();
  return Decision::no(fmt::format("{} is not f32", trainyard::name(node.dtype())));
}

void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments) {
  const dnnl_status_t status = dnnl_primitive_execute(primitive.get(), cpu_stream().get(),
                                                      static_cast<int>(arguments.size()), arguments.data());
  if (status != dnnl_success)
    fail(ErrorKind::device, "oneDNN: dnnl_primitive_execute failed with status {}", static_cast<int>(status));
}

DnnlKernel::DnnlKernel(KernelIo io, dnnl::primitive primitive, std::vector<Argument> arguments)
    : Kernel(std::move(io)), primitive_(std::move(primitive)), arguments_(std::move(arguments)) {}

void DnnlKernel::bind(const Binding& binding) {
  memories_.clear();
  bound_.clear();
  for (const Argument& argument : arguments_) {
    const auto index = static_cast<std::size_t>(argument.index);
    std::byte* data = argument.place == Place::input    ? binding.inputs[index]
                      : argument.place == Place::output ? binding.outputs[index]
                                                        : binding.workspace + argument.index;
    memories_.emplace_back(argument.desc, cpu_engine(), data);
    bound_.push_back({argument.id, memories_.back().get()});
  }
}

void DnnlKernel::run(const StepContext&) { execute(primitive_, bound_); }

std::unique_ptr<Kernel> make_dnnl_kernel(const graph::NodeView& node, const dnnl::primitive& primitive,
                                         const dnnl::memory::desc& scratchpad,
                                         std::vector<DnnlKernel::Argument> arguments,
                                         std::vector<std::pair<int, int>> in_place) {
  KernelIo io;
  io.inputs.resize(static_cast<std::size_t>(node.inputs()));
  io.outputs.resize(static_cast<std::size_t>(node.outputs()));
  io.in_place = std::move(in_place);
  for (const auto& argument : arguments) {
    const bool input = argument.place == DnnlKernel::Place::input;
    const Layout layout = argument.layout ? *argument.layout : to_layout(argument.desc);
    const Shape& shape = input ? node.input_shape(argument.index) : node.output_shape(argument.index);
    // The planner sizes buffers by our layout, the primitive goes by its own descriptor.
    TRAINYARD_CHECK(static_cast<std::size_t>(layout.elements(shape)) * sizeof(float) ==
                    argument.desc.get_size());
    (input ? io.inputs : io.outputs)[static_cast<std::size_t>(argument.index)] = layout;
  }
  io.workspace_bytes = scratchpad.get_size();
  if (io.workspace_bytes > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, DnnlKernel::Place::workspace, 0, scratchpad});
  return std::make_unique<DnnlKernel>(std::move(io), primitive, std::move(arguments));
}

namespace {

const Layout& channels_last() {
  static const Layout layout = Layout::channels_last(4);
  return layout;
}

int widest_lanes(std::int64_t channels) {
  return channels % 16 == 0 ? 16 : channels % 8 == 0 ? 8 : channels % 4 == 0 ? 4 : 1;
}

}  // namespace

ImageView::ImageView(const Layout& layout, const Shape& shape)
    : images(shape[0]), channels(shape[1]), height(shape[2]), width(shape[3]) {
  TRAINYARD_CHECK(is_vector_layout(layout));
  const bool last = layout == channels_last();
  lanes = last ? widest_lanes(channels) : static_cast<int>(layout.block_of(1));
  blocks = (channels + lanes - 1) / lanes;
  pixel_stride = last ? channels : lanes;
  block_stride = last ? lanes : pixels() * lanes;
  image_stride = pixels() * blocks * lanes;
}

bool is_vector_layout(const Layout& layout) {
  static const Layout sixteen = Layout::parse("aBcd16b"), eight = Layout::parse("aBcd8b");
  return layout == channels_last() || layout == sixteen || layout == eight;
}

const Layout& preferred_image_layout() {
  static const Layout blocked = Layout::parse(has_matrix_convolutions() ? "acdb"
#ifdef __AVX512F__
                                                                        : "aBcd16b"
#else
                                                                        : "aBcd8b"
#endif
  );
  return blocked;
}

Layout image_layout(const KernelRequest& request, int input) {
  const Layout& layout = request.input_or_plain(input);
  return is_vector_layout(layout) ? layout : preferred_image_layout();
}

Decision wants_image(const graph::NodeView& node) {
  if (node.input_shape(0).rank() != 4) return Decision::no("wants an image of 4 dimensions");
  return wants_f32(node);
}

}  // namespace trainyard::backend::onednn
