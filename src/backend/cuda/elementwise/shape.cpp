#include "backend/cuda/elementwise/shape.h"

#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/chunk_table.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "backend/cuda/runtime/padded_rows.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace trainyard::backend::cuda {

std::vector<int> axis_order(const Layout& layout, int rank) {
  if (!layout.order().empty()) return layout.order();
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

device::Walk make_walk(const Layout& order, const Shape& box, const Layout& lies, const Shape& whole) {
  TRAINYARD_CHECK(order.blocks().empty() && lies.blocks().empty());
  TRAINYARD_CHECK(box.elements() < std::int64_t{1} << 31);
  const LayoutIndex index(lies, whole);
  device::Walk walk;
  for (const int axis : axis_order(order, box.rank())) walk.append(box[axis], index.outer_stride(axis));
  return walk;
}

namespace {

class Reorder final : public Kernel {
 public:
  Reorder(Context& context, const graph::TensorType& type, const Layout& from, const Layout& to)
      : Kernel({.inputs = {from}, .outputs = {to}, .workspace_bytes = 0, .in_place = {}}),
        context_(context),
        copy_{.from = make_walk(to, type.shape, from, type.shape),
              .first = 0,
              .elements = type.shape.elements(),
              .element_bytes = static_cast<int>(size_of(type.dtype))} {}
  void bind(const Binding& binding) override {
    src_ = binding.inputs[0];
    dst_ = binding.outputs[0];
  }
  void run(const StepContext&) override { device::strided_copy(context_.stream(), copy_, src_, dst_); }

 private:
  Context& context_;
  device::StridedCopy copy_;
  const std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
};

// Between plain and padded rows of a matrix.
class ReorderRows final : public Kernel {
 public:
  ReorderRows(Context& context, const graph::TensorType& type, const Layout& from, const Layout& to)
      : Kernel({.inputs = {from}, .outputs = {to}, .workspace_bytes = 0, .in_place = {}}),
        context_(context),
        rows_(static_cast<std::size_t>(type.shape[0])) {
    for (const Layout& layout : {from, to}) TRAINYARD_CHECK(layout.is_plain() || layout == padded_rows());
    const auto bytes = [&](std::int64_t numbers) {
      return static_cast<std::size_t>(numbers) * size_of(type.dtype);
    };
    row_bytes_ = bytes(type.shape[1]);
    src_stride_ = bytes(row_stride(from, type.shape));
    dst_stride_ = bytes(row_stride(to, type.shape));
  }
  void bind(const Binding& binding) override {
    src_ = binding.inputs[0];
    dst_ = binding.outputs[0];
  }
  void run(const StepContext&) override {
    TRAINYARD_CUDA(cudaMemcpy2DAsync(dst_, dst_stride_, src_, src_stride_, row_bytes_, rows_,
                                     cudaMemcpyDeviceToDevice, context_.stream()));
    if (dst_stride_ > row_bytes_)
      TRAINYARD_CUDA(cudaMemset2DAsync(dst_ + row_bytes_, dst_stride_, 0, dst_stride_ - row_bytes_, rows_,
                                       context_.stream()));
  }

 private:
  Context& context_;
  std::size_t rows_, row_bytes_ = 0, src_stride_ = 0, dst_stride_ = 0;
  const std::byte* src_ = nullptr;
  std::byte* dst_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_reorder(Context& context, const graph::TensorType& type, const Layout& from,
                                     const Layout& to) {
  if (!from.blocks().empty() || !to.blocks().empty())
    return std::make_unique<ReorderRows>(context, type, from, to);
  return std::make_unique<Reorder>(context, type, from, to);
}

namespace {

class CastKernel final : public Kernel {
 public:
  CastKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)) {}

  void bind(const Binding& binding) override {
    std::vector<device::CastTensor> tensors;
    for (int i = 0; i < node_.inputs(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      const Shape& shape = node_.input_shape(i);
      device::CastTensor tensor{.src = binding.inputs[index],
                                .dst = binding.outputs[index],
                                .elements = shape.elements(),
                                .first_chunk = 0,
                                .from_bf16 = node_.input(i).type.dtype == DType::bf16,
                                .to_bf16 = node_.output(i).type.dtype == DType::bf16,
                                .walk = {}};
      if (!Layout::same_placement(io_.inputs[index], io_.outputs[index], shape))
        tensor.walk = make_walk(io_.outputs[index], shape, io_.inputs[index], shape);
      tensors.push_back(tensor);
    }
    table_.fill(device_, std::move(tensors));
  }

  void run(const StepContext&) override { device::cast(device_.stream(), table_.chunks()); }

 private:
  graph::NodeView node_;
  Context& device_;
  ChunkTable<device::CastTensor> table_;
};

Decision accept_cast(const KernelRequest& request) {
  const auto is_float = [](DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; };
  for (int i = 0; i < request.node.inputs(); ++i)
    if (!is_float(request.node.input(i).type.dtype) || !is_float(request.node.output(i).type.dtype))
      return Decision::no("casts between f32 and bf16 only");
  return Decision::yes();
}

// Images become channels last on the way, wherever they come from.
std::unique_ptr<Kernel> make_cast(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = present_or_natural_layout(request, i);
  return std::make_unique<CastKernel>(request, std::move(io));
}

// Returns the bytes from one place of the joined axis on: the rest of a line.
std::int64_t line_bytes(const graph::TensorType& type, const Layout& layout, int axis) {
  const std::vector<int> order = axis_order(layout, type.shape.rank());
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (auto inner = std::find(order.begin(), order.end(), axis); inner != order.end(); ++inner)
    bytes *= type.shape[*inner];
  return bytes;
}

void concat(const Launch& launch) {
  const int axis = launch.node.attrs<ops::ConcatAttrs>().axis;
  const graph::TensorType& type = launch.node.output(0).type;
  device::ConcatParts parts;
  parts.line_bytes = line_bytes(type, launch.io.outputs[0], axis);
  parts.lines = type.bytes() / parts.line_bytes;
  std::int64_t offset = 0;
  for (int i = 0; i < launch.node.inputs(); ++i) {
    const std::int64_t bytes =
        line_bytes(launch.node.input(i).type, launch.io.inputs[static_cast<std::size_t>(i)], axis);
    parts.parts[parts.count++] = {launch.input<std::byte>(i), bytes, offset};
    offset += bytes;
    if (parts.count < device::ConcatParts::kMax && i + 1 < launch.node.inputs()) continue;
    device::concat(launch.stream(), parts, launch.output<std::byte>(0));
    parts.count = 0;
  }
}

std::unique_ptr<Kernel> make_concat(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), concat);
}

void fill(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::FillAttrs>();
  if (attrs.type.dtype == DType::i32)
    return device::fill(launch.stream(), static_cast<std::int32_t>(attrs.value),
                        launch.output<std::int32_t>(0), attrs.type.shape.elements());
  with_float_type(attrs.type.dtype, [&]<typename T>() {
    device::fill(launch.stream(), static_cast<float>(attrs.value), launch.output<T>(0),
                 attrs.type.shape.elements());
  });
}

Decision accept_fill(const KernelRequest& request) {
  const DType dtype = request.node.output(0).type.dtype;
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::i32
             ? Decision::yes()
             : Decision::no("fills f32, bf16 and i32 only");
}

std::unique_ptr<Kernel> make_fill(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), fill);
}

void pad(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::PadAttrs>();
  const Shape &src = launch.node.input_shape(0), &dst = launch.node.output_shape(0);
  device::Padding padding;
  padding.element_bytes = static_cast<int>(size_of(launch.node.dtype()));
  for (const int axis : axis_order(launch.io.inputs[0], src.rank()))
    padding.append({attrs.before[axis], src[axis], dst[axis]});
  device::pad(launch.stream(), padding, launch.input<std::byte>(0), launch.output<std::byte>(0));
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), pad);
}

// In logical order, so one of the two sides is plain and the shape of the other one tells the axes.
void reshape(const Launch& launch) {
  if (launch.input<std::byte>(0) == launch.output<std::byte>(0)) return;
  const Shape &src = launch.node.input_shape(0), &dst = launch.node.output_shape(0);
  const Layout &from = launch.io.inputs[0], &to = launch.io.outputs[0];
  device::strided_copy(launch.stream(),
                       {.from = to.is_plain() ? make_walk({}, src, from, src) : make_walk(to, dst, {}, dst),
                        .first = 0,
                        .elements = dst.elements(),
                        .element_bytes = static_cast<int>(size_of(launch.node.dtype()))},
                       launch.input<std::byte>(0), launch.output<std::byte>(0));
}

std::unique_ptr<Kernel> make_reshape(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  if (!io.outputs[0].is_plain()) io.inputs[0] = {};
  io.in_place = in_place_of_row(request.node, io);
  return std::make_unique<LaunchKernel>(request, std::move(io), reshape);
}

// Goes through dst as it lies: an axis of it lies in src as the axis that it was.
void permute(const Launch& launch) {
  const std::vector<int>& order = launch.node.attrs<ops::PermuteAttrs>().order;
  const Shape &src = launch.node.input_shape(0), &dst = launch.node.output_shape(0);
  const LayoutIndex index(launch.io.inputs[0], src);
  device::StridedCopy copy{.from = {},
                           .first = 0,
                           .elements = dst.elements(),
                           .element_bytes = static_cast<int>(size_of(launch.node.dtype()))};
  for (const int axis : axis_order(launch.io.outputs[0], dst.rank()))
    copy.from.append(dst[axis], index.outer_stride(order[static_cast<std::size_t>(axis)]));
  device::strided_copy(launch.stream(), copy, launch.input<std::byte>(0), launch.output<std::byte>(0));
}

Decision accept_permute(const KernelRequest& request) {
  if (request.node.output_shape(0).rank() > device::Walk::kMaxRank)
    return Decision::no("takes at most 6 dimensions");
  return want_countable_elements(request);
}

// It takes src as it lies; the products behind it want their matrices plain.
std::unique_ptr<Kernel> make_permute(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.inputs[0] = present_or_natural_layout(request, 0);
  return std::make_unique<LaunchKernel>(request, std::move(io), permute);
}

void slice(const Launch& launch) {
  const auto& attrs = launch.node.attrs<ops::SliceAttrs>();
  const Shape& whole = launch.node.input_shape(0);
  const Layout& layout = launch.io.inputs[0];
  const LayoutIndex index(layout, whole);
  device::strided_copy(launch.stream(),
                       {.from = make_walk(layout, attrs.size, layout, whole),
                        .first = index.offset_of(attrs.begin.begin()),
                        .elements = attrs.size.elements(),
                        .element_bytes = static_cast<int>(size_of(launch.node.dtype()))},
                       launch.input<std::byte>(0), launch.output<std::byte>(0));
}

std::unique_ptr<Kernel> make_slice(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), slice);
}

}  // namespace

std::vector<Candidate> shape_candidates() {
  return {{&ops::cast_op, "own:cast", accept_cast, make_cast},
          {&ops::concat_op, "own:concat", want_countable_elements, make_concat},
          {&ops::fill_op, "own:fill", accept_fill, make_fill},
          {&ops::pad_op, "own:pad", want_countable_elements, make_pad},
          {&ops::permute_op, "own:permute", accept_permute, make_permute},
          {&ops::reshape_op, "own:reshape", want_countable_elements, make_reshape},
          {&ops::slice_op, "own:slice", want_countable_elements, make_slice}};
}

}  // namespace trainyard::backend::cuda
