#include "ops/sequence/grouped_dense.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "backend/onednn/runtime/row_product.h"
#include "base/parallel.h"

// oneDNN wants sizes before the step runs, and the rows of a group are known only then: these are products of
// our own. A thread takes a block of the result at a time; the second operand of a block is copied into
// panels that fit the first level of cache. All sums are made in an order that depends on the groups alone.
namespace trainyard::backend::onednn {
namespace {

constexpr std::int64_t kDepth = 256;           // of what is copied at once
constexpr std::int64_t kPanel = 32;            // columns of a panel: a copied row of them is two vectors
constexpr std::int64_t kColumns = 4 * kPanel;  // of a block
constexpr std::int64_t kOutputs = 128;         // of a block of the gradient of weights
constexpr std::int64_t kFewRows = 8;           // for which copies do not pay
constexpr std::int64_t kLeastRows = 64, kMostRows = 1024;  // of a block

std::int64_t blocks_of(std::int64_t count, std::int64_t block) { return (count + block - 1) / block; }

// Rows from `begin` to `end` belong to group e.
struct Rows {
  std::int64_t e, begin, end;
};

// Blocks lists the blocks of rows of all groups; no block has rows of two.
class Blocks {
 public:
  Blocks(const std::int32_t* offsets, std::int64_t groups, std::int64_t most_rows)
      : offsets_(offsets), groups_(groups), most_rows_(most_rows) {}

  std::int64_t count() const {
    std::int64_t count = 0;
    for (std::int64_t e = 0; e < groups_; ++e) count += of_group(e);
    return count;
  }
  Rows at(std::int64_t block) const {
    std::int64_t e = 0;
    for (; block >= of_group(e); ++e) block -= of_group(e);
    const std::int64_t begin = offsets_[e] + block * most_rows_;
    return {e, begin, std::min<std::int64_t>(begin + most_rows_, offsets_[e + 1])};
  }

 private:
  std::int64_t of_group(std::int64_t e) const { return blocks_of(offsets_[e + 1] - offsets_[e], most_rows_); }

  const std::int32_t* offsets_;
  std::int64_t groups_, most_rows_;
};

// Panel p of a block (depth, columns) begins at to + p * kDepth * kPanel, a row each kPanel numbers.
void copy_panels(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                 float* to) {
  for (std::int64_t first = 0; first < columns; first += kPanel, to += kDepth * kPanel)
    for (std::int64_t k = 0; k < depth; ++k)
      std::copy_n(from + k * stride + first, std::min(kPanel, columns - first), to + k * kPanel);
}

// The same of a matrix that lies transposed, (columns, depth).
void copy_turned_panels(const float* from, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                        float* to) {
  for (std::int64_t first = 0; first < columns; first += kPanel, to += kDepth * kPanel) {
    const std::int64_t width = std::min(kPanel, columns - first);
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t c = 0; c < width; ++c) to[k * kPanel + c] = from[(first + c) * stride + k];
  }
}

// dst (rows, columns) = start + a (rows, depth) panels
void multiply_panels(const ProductSizes& sizes, const StridedMatrix& a, const float* panels, float* dst,
                     std::int64_t dst_stride, const StartRow& start) {
  for (std::int64_t c = 0; c < sizes.columns; c += kPanel, panels += kDepth * kPanel)
    multiply_rows({sizes.rows, std::min(kPanel, sizes.columns - c), sizes.depth}, a, panels, kPanel, dst + c,
                  dst_stride, start.row == nullptr ? start : StartRow::bias(start.row + c));
}

// A product of rows with the weights of their groups.
struct RowsProduct {
  const float *src, *weight, *bias;  // bias: or null
  float* dst;
  std::int64_t inputs, outputs, depth, columns;  // of src and dst: one is inputs, the other outputs
  bool turned;                                   // the weight of a group lies as (columns, depth)

  // Few rows read the weights as they lie.
  void multiply_few(const Rows& rows, std::int64_t first, std::int64_t count) const {
    const float* of_group = weight + rows.e * inputs * outputs;
    if (!turned) {
      multiply_rows({rows.end - rows.begin, count, depth}, rows_of(src + rows.begin * depth, depth),
                    of_group + first, columns, dst + rows.begin * columns + first, columns, StartRow::zero());
      return;
    }
    for (std::int64_t c = first; c < first + count; ++c)
      for (std::int64_t r = rows.begin; r < rows.end; ++r)
        dst[r * columns + c] = (bias == nullptr ? 0 : bias[rows.e * columns + c]) +
                               dot(src + r * depth, of_group + c * depth, depth);
  }

  void multiply(const Rows& rows, std::int64_t first, std::int64_t count, float* panels) const {
    if (rows.end - rows.begin <= kFewRows) return multiply_few(rows, first, count);
    const float* of_group = weight + rows.e * inputs * outputs;
    for (std::int64_t k = 0; k < depth; k += kDepth) {
      const std::int64_t part = std::min(kDepth, depth - k);
      if (turned)
        copy_turned_panels(of_group + first * depth + k, depth, part, count, panels);
      else
        copy_panels(of_group + k * columns + first, columns, part, count, panels);
      const StartRow start = k > 0             ? StartRow::add()
                             : bias == nullptr ? StartRow::zero()
                                               : StartRow::bias(bias + rows.e * columns + first);
      multiply_panels({rows.end - rows.begin, count, part}, rows_of(src + rows.begin * depth + k, depth),
                      panels, dst + rows.begin * columns + first, columns, start);
    }
  }
};

// Large blocks copy less, and there should be some for every thread.
void multiply_groups(const Arguments& arguments, const RowsProduct& product) {
  const std::int64_t rows = arguments.node.input_shape(0)[0], groups = arguments.node.input_shape(1)[0];
  const std::int64_t in_row = blocks_of(product.columns, kColumns);
  const std::int64_t for_threads = rows * in_row / (4 * static_cast<std::int64_t>(thread_count()));
  const Blocks blocks(arguments.input<std::int32_t>(2), groups,
                      std::clamp(for_threads, kLeastRows, kMostRows));
  auto* workspace = reinterpret_cast<float*>(arguments.memory.workspace);
  parallel_items(blocks.count() * in_row, [&](std::int64_t item, int thread) {
    const std::int64_t first = item % in_row * kColumns;
    product.multiply(blocks.at(item / in_row), first, std::min(kColumns, product.columns - first),
                     workspace + thread * kDepth * kColumns);
  });
}

void run_forward(const Arguments& arguments) {
  const Shape& weight = arguments.node.input_shape(1);
  multiply_groups(arguments, {.src = arguments.input<float>(0),
                              .weight = arguments.input<float>(1),
                              .bias = arguments.node.inputs() == 4 ? arguments.input<float>(3) : nullptr,
                              .dst = arguments.output<float>(0),
                              .inputs = weight[2],
                              .outputs = weight[1],
                              .depth = weight[2],
                              .columns = weight[1],
                              .turned = true});
}

void run_d_src(const Arguments& arguments) {
  const Shape& weight = arguments.node.input_shape(1);
  multiply_groups(arguments, {.src = arguments.input<float>(0),
                              .weight = arguments.input<float>(1),
                              .bias = nullptr,
                              .dst = arguments.output<float>(0),
                              .inputs = weight[2],
                              .outputs = weight[1],
                              .depth = weight[1],
                              .columns = weight[2],
                              .turned = false});
}

// A block of the gradient of one group's weights: outputs from o, inputs from i.
void multiply_weights(const Arguments& arguments, const Rows& rows, std::int64_t o, std::int64_t i,
                      float* workspace) {
  const Shape& weight = arguments.node.output_shape(0);
  const std::int64_t outputs = weight[1], inputs = weight[2], height = std::min(kOutputs, outputs - o),
                     width = std::min(kColumns, inputs - i);
  float *turned = workspace, *panels = workspace + kDepth * kOutputs;
  float* dst = arguments.output<float>(0) + (rows.e * outputs + o) * inputs + i;
  if (rows.begin == rows.end)
    for (std::int64_t row = 0; row < height; ++row) std::fill_n(dst + row * inputs, width, 0.0f);
  for (std::int64_t r = rows.begin; r < rows.end; r += kDepth) {
    const std::int64_t part = std::min(kDepth, rows.end - r);
    for (std::int64_t k = 0; k < part; ++k)
      std::copy_n(arguments.input<float>(0) + (r + k) * outputs + o, height, turned + k * kOutputs);
    copy_panels(arguments.input<float>(1) + r * inputs + i, inputs, part, width, panels);
    multiply_panels({height, width, part}, transposed(turned, kOutputs), panels, dst, inputs,
                    r == rows.begin ? StartRow::zero() : StartRow::add());
  }
}

void sum_biases(const Arguments& arguments) {
  const Shape& weight = arguments.node.output_shape(0);
  const auto* offsets = arguments.input<std::int32_t>(2);
  const std::int64_t outputs = weight[1], in_row = blocks_of(outputs, kOutputs);
  parallel_items(weight[0] * in_row, [&](std::int64_t item, int) {
    const std::int64_t e = item / in_row, first = item % in_row * kOutputs,
                       count = std::min(kOutputs, outputs - first);
    float* d_bias = arguments.output<float>(1) + e * outputs + first;
    std::fill_n(d_bias, count, 0.0f);
    for (std::int64_t r = offsets[e]; r < offsets[e + 1]; ++r)
      add_rows(arguments.input<float>(0) + r * outputs + first, 1, count, d_bias);
  });
}

void run_d_weight(const Arguments& arguments) {
  const Shape& weight = arguments.node.output_shape(0);
  const auto* offsets = arguments.input<std::int32_t>(2);
  const std::int64_t down = blocks_of(weight[1], kOutputs), across = blocks_of(weight[2], kColumns);
  auto* workspace = reinterpret_cast<float*>(arguments.memory.workspace);
  parallel_items(weight[0] * down * across, [&](std::int64_t item, int thread) {
    const std::int64_t e = item / (down * across), block = item % (down * across);
    multiply_weights(arguments, {e, offsets[e], offsets[e + 1]}, block / across * kOutputs,
                     block % across * kColumns, workspace + thread * kDepth * (kOutputs + kColumns));
  });
  if (arguments.node.attrs<ops::GroupedDenseGradAttrs>().bias) sum_biases(arguments);
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

template <KernelFunction function, std::int64_t kCopied>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  Workspace workspace;
  workspace.add_floats(thread_count() * kDepth * kCopied);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), function);
}

}  // namespace

std::vector<Candidate> grouped_dense_candidates() {
  return {{&ops::grouped_dense_op, "own:grouped_dense", accept, make<run_forward, kColumns>},
          {&ops::grouped_dense_d_src_op, "own:grouped_dense_d_src", accept, make<run_d_src, kColumns>},
          {&ops::grouped_dense_d_weight_op, "own:grouped_dense_d_weight", accept,
           make<run_d_weight, kOutputs + kColumns>}};
}

}  // namespace trainyard::backend::onednn
