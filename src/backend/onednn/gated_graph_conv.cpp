#include "ops/sequence/graph_layers.h"

#include "backend/kernel.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/recurrent_gates.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/row_product.h"
#include "base/parallel.h"

// Graphs do not depend on each other, so each thread takes one through all of its rounds: its states and the
// weights stay in the cache of that core, no thread waits between rounds, and only existing nodes are
// computed. Gradients of weights are summed graph by graph and then over the graphs in their order: the same
// bits for any number of threads.
namespace trainyard::backend::onednn {
namespace {

constexpr int kMostLayers = 2;

struct Sizes {
  std::int64_t rows, inputs, hidden, graphs, gates;
  int layers;

  // `src`: the input of that name.
  Sizes(const graph::NodeView& node, int src, const ops::GatedGraphConvAttrs& attrs)
      : rows(node.input_shape(src)[0]),
        inputs(node.input_shape(src)[1]),
        hidden(node.input_shape(src + 5)[1]),
        graphs(node.input_shape(src + 2)[0]),
        gates(3 * hidden),
        layers(attrs.layers) {}

  std::int64_t layer_inputs(int layer) const { return layer == 0 ? inputs : hidden; }
};

// Graphs holds the graphs of the batch, as its integers say.
struct Graphs {
  const std::int32_t *segments, *rounds, *offsets, *neighbours;
  float* scale;  // (R): D^-1/2, or ones
  bool normalised;

  std::int64_t nodes(std::int64_t g) const { return segments[g + 1] - segments[g]; }

  void make_scale(std::int64_t g) const {
    for (std::int32_t row = segments[g]; row < segments[g + 1]; ++row)
      scale[row] =
          normalised ? 1 / std::sqrt(1.0f + static_cast<float>(offsets[row + 1] - offsets[row])) : 1.0f;
  }
  // to (n, width) = what the nodes of graph g take of `from`; rows of both are `stride` apart.
  void gather(std::int64_t g, const float* from, std::int64_t stride, std::int64_t width, float* to) const {
    const std::int32_t first = segments[g];
    for (std::int32_t row = first; row < segments[g + 1]; ++row) {
      float* sum = to + (row - first) * width;
      const auto take = [=, this](std::int32_t node, bool start) {
        const float* x = from + (node - first) * stride;
        const float weight = scale[row] * scale[node];
#pragma omp simd
        for (std::int64_t k = 0; k < width; ++k) sum[k] = (start ? 0 : sum[k]) + weight * x[k];
      };
      take(row, true);
      for (std::int32_t e = offsets[row]; e < offsets[row + 1]; ++e) take(neighbours[e], false);
    }
  }
  // The way back: adds to `to` what gather took.
  void scatter(std::int64_t g, const float* d_sum, std::int64_t width, float* to, std::int64_t stride) const {
    const std::int32_t first = segments[g];
    for (std::int32_t row = first; row < segments[g + 1]; ++row) {
      const float* d = d_sum + (row - first) * width;
      const auto give = [=, this](std::int32_t node) {
        float* d_x = to + (node - first) * stride;
        const float weight = scale[row] * scale[node];
#pragma omp simd
        for (std::int64_t k = 0; k < width; ++k) d_x[k] += weight * d[k];
      };
      give(row);
      for (std::int32_t e = offsets[row]; e < offsets[row + 1]; ++e) give(neighbours[e]);
    }
  }
};

Graphs graphs_of(const Binding& binding, int src, std::size_t scale, ops::Neighbours neighbours) {
  const auto integers = [&](int i) {
    return reinterpret_cast<const std::int32_t*>(binding.inputs[static_cast<std::size_t>(src + i)]);
  };
  return {integers(1),
          integers(2),
          integers(3),
          integers(4),
          reinterpret_cast<float*>(binding.workspace + scale),
          neighbours == ops::Neighbours::normalised};
}

const float* input(const Binding& binding, int i) {
  return reinterpret_cast<const float*>(binding.inputs[static_cast<std::size_t>(i)]);
}
float* output(const Binding& binding, int i) {
  return reinterpret_cast<float*>(binding.outputs[static_cast<std::size_t>(i)]);
}

// Zeros for what a graph of n nodes leaves out of a (count, R, columns) tensor: from `used` on.
void clear_unused(float* tensor, std::int64_t first, std::int64_t n, std::int64_t used, std::int64_t count,
                  std::int64_t rows, std::int64_t columns) {
  for (std::int64_t t = used; t < count; ++t)
    std::fill_n(tensor + (t * rows + first) * columns, n * columns, 0.0f);
}

class GraphConvForward final : public Kernel {
 public:
  explicit GraphConvForward(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        attrs_(request.node.attrs<ops::GatedGraphConvAttrs>()),
        sizes_(request.node, 0, attrs_) {
    Workspace workspace;
    scale_ = workspace.add_floats(sizes_.rows);
    weight_ = workspace.add_floats(sizes_.hidden * sizes_.gates);
    recurrent_ = workspace.add_floats(sizes_.hidden * sizes_.gates);
    for (int layer = 0; layer < sizes_.layers; ++layer)
      layers_[static_cast<std::size_t>(layer)] =
          workspace.add_floats(sizes_.hidden * sizes_.layer_inputs(layer));
    Workspace scratch;
    gathered_ = scratch.add_floats(sizes_.rows * sizes_.inputs);
    product_ = scratch.add_floats(sizes_.rows * sizes_.gates);
    if (!attrs_.training) {
      kept_states_ = scratch.add_floats(sizes_.rows * sizes_.hidden);
      kept_gates_ = scratch.add_floats(sizes_.rows * sizes_.gates);
      kept_hidden_ = scratch.add_floats(sizes_.layers * sizes_.rows * sizes_.hidden);
    }
    scratch_bytes_ = scratch.bytes();
    scratch_ = workspace.add(scratch_bytes_ * static_cast<std::size_t>(thread_count()));
    io_.workspace_bytes = workspace.bytes();
  }

  void bind(const Binding& binding) override {
    memory_ = binding;
    graphs_ = graphs_of(binding, 0, scale_, attrs_.neighbours);
  }

  void run(const StepContext&) override {
    transpose(input(memory_, 5), sizes_.gates, sizes_.hidden, part(weight_));
    transpose(input(memory_, 6), sizes_.gates, sizes_.hidden, part(recurrent_));
    for (int layer = 0; layer < sizes_.layers; ++layer)
      transpose(input(memory_, 9 + 2 * layer), sizes_.hidden, sizes_.layer_inputs(layer),
                part(layers_[static_cast<std::size_t>(layer)]));
    parallel_items(sizes_.graphs, [this](std::int64_t g, int thread) { run_graph(g, thread); });
    const std::int64_t end = graphs_.segments[sizes_.graphs];
    for (std::size_t i = 0; i < io_.outputs.size(); ++i) {
      const std::int64_t columns = i == 3 ? sizes_.gates : sizes_.hidden;
      const std::int64_t count = i == 0 ? 1 : i == 2 ? attrs_.rounds * sizes_.layers : attrs_.rounds;
      clear_unused(output(memory_, static_cast<int>(i)), end, sizes_.rows - end, 0, count, sizes_.rows,
                   columns);
    }
  }

 private:
  // Kept is the memory in which round t of a graph that begins at row `first` keeps its results.
  struct Kept {
    float *states, *hidden, *gates, *inner;
    std::int64_t hidden_stride;  // from layer to layer
  };
  Kept kept(std::int64_t t, std::int64_t first, int thread) const {
    const std::int64_t h = sizes_.hidden;
    if (!attrs_.training)
      return {scratch(thread, kept_states_), scratch(thread, kept_hidden_), scratch(thread, kept_gates_),
              nullptr, sizes_.rows * h};
    const std::int64_t row = t * sizes_.rows + first;
    return {output(memory_, 1) + row * h, output(memory_, 2) + (t * sizes_.layers * sizes_.rows + first) * h,
            output(memory_, 3) + row * sizes_.gates, output(memory_, 4) + row * h, sizes_.rows * h};
  }

  void run_graph(std::int64_t g, int thread) const {
    const std::int64_t first = graphs_.segments[g], n = graphs_.nodes(g), h = sizes_.hidden;
    const std::int64_t rounds = graphs_.rounds[g];
    graphs_.make_scale(g);
    const float* state = input(memory_, 0) + first * sizes_.inputs;
    std::int64_t width = sizes_.inputs;
    for (std::int64_t t = 0; t < rounds; ++t) {
      const Kept to = kept(t, first, thread);
      run_round(g, state, width, to, thread);
      state = to.states;
      width = h;
    }
    float* dst = output(memory_, 0) + first * h;
    for (std::int64_t i = 0; i < n; ++i)
      std::fill(std::copy_n(state + i * width, width, dst + i * h), dst + (i + 1) * h, 0.0f);
    if (!attrs_.training) return;
    clear_unused(output(memory_, 1), first, n, rounds, attrs_.rounds, sizes_.rows, h);
    clear_unused(output(memory_, 2), first, n, rounds * sizes_.layers, attrs_.rounds * sizes_.layers,
                 sizes_.rows, h);
    clear_unused(output(memory_, 3), first, n, rounds, attrs_.rounds, sizes_.rows, sizes_.gates);
    clear_unused(output(memory_, 4), first, n, rounds, attrs_.rounds, sizes_.rows, h);
  }

  void run_round(std::int64_t g, const float* state, std::int64_t width, const Kept& to, int thread) const {
    const std::int64_t n = graphs_.nodes(g), h = sizes_.hidden;
    float *gathered = scratch(thread, gathered_), *product = scratch(thread, product_);
    graphs_.gather(g, state, width, width, gathered);
    const float* x = gathered;
    std::int64_t x_width = width;
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      float* y = to.hidden + layer * to.hidden_stride;
      multiply_rows({n, h, x_width}, rows_of(x, x_width), part(layers_[static_cast<std::size_t>(layer)]), h,
                    y, h, StartRow::bias(input(memory_, 10 + 2 * layer)));
      const auto slope = static_cast<float>(attrs_.slope);
#pragma omp simd
      for (std::int64_t i = 0; i < n * h; ++i) y[i] = y[i] > 0 ? y[i] : slope * y[i];
      x = y;
      x_width = h;
    }
    multiply_rows({n, sizes_.gates, width}, rows_of(state, width), part(weight_), sizes_.gates, to.gates,
                  sizes_.gates, StartRow::bias(input(memory_, 7)));
    multiply_rows({n, sizes_.gates, h}, rows_of(x, h), part(recurrent_), sizes_.gates, product, sizes_.gates,
                  StartRow::bias(input(memory_, 8)));
    run_gates_here(GatesForward{ops::RecurrentCell::gru,
                                n,
                                h,
                                to.gates,
                                {product, sizes_.gates},
                                {x, h},
                                {nullptr, 0},
                                to.inner,
                                to.states});
  }

  float* part(std::size_t offset) const { return reinterpret_cast<float*>(memory_.workspace + offset); }
  float* scratch(int thread, std::size_t offset) const {
    return part(scratch_ + static_cast<std::size_t>(thread) * scratch_bytes_ + offset);
  }

  ops::GatedGraphConvAttrs attrs_;
  Sizes sizes_;
  std::size_t scale_, weight_, recurrent_, scratch_, scratch_bytes_;  // in the workspace; weights transposed
  std::array<std::size_t, kMostLayers> layers_{};
  std::size_t gathered_, product_, kept_states_ = 0, kept_gates_ = 0,
                                   kept_hidden_ = 0;  // in a thread's scratch
  Binding memory_;
  Graphs graphs_{};
};

class GraphConvGrad final : public Kernel {
 public:
  explicit GraphConvGrad(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        attrs_(request.node.attrs<ops::GatedGraphConvGradAttrs>()),
        sizes_(request.node, 1, attrs_.forward) {
    const std::int64_t h = sizes_.hidden;
    std::vector<std::int64_t> sums{sizes_.gates * h, sizes_.gates * h, sizes_.gates, sizes_.gates};
    for (int layer = 0; layer < sizes_.layers; ++layer) {
      sums.push_back(h * sizes_.layer_inputs(layer));
      sums.push_back(h);
    }
    Workspace workspace;
    scale_ = workspace.add_floats(sizes_.rows);
    zeros_ = workspace.add_floats(h);
    sums_ = workspace.bytes();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sum_floats_[i] = sums[i];
      sum_offsets_[i] = workspace.add_floats(sums[i]) - sums_;
    }
    sum_bytes_ = workspace.bytes() - sums_;
    workspace.add(sum_bytes_ * static_cast<std::size_t>(sizes_.graphs - 1));
    Workspace scratch;
    for (std::size_t* offset : {&d_state_, &d_before_, &d_value_, &d_given_})
      *offset = scratch.add_floats(sizes_.rows * h);
    for (std::size_t* offset : {&d_gates_, &d_u_gates_})
      *offset = scratch.add_floats(sizes_.rows * sizes_.gates);
    gathered_ = scratch.add_floats(sizes_.rows * h);
    scratch_bytes_ = scratch.bytes();
    scratch_ = workspace.add(scratch_bytes_ * static_cast<std::size_t>(thread_count()));
    io_.workspace_bytes = workspace.bytes();
  }

  void bind(const Binding& binding) override {
    memory_ = binding;
    graphs_ = graphs_of(binding, 1, scale_, attrs_.forward.neighbours);
  }

  void run(const StepContext&) override {
    std::fill_n(part(zeros_), sizes_.hidden, 0.0f);
    parallel_items(sizes_.graphs, [this](std::int64_t g, int thread) { run_graph(g, thread); });
    for (int i = 0; i < sums(); ++i) add_graphs(i);
    if (!attrs_.d_src) return;
    const std::int64_t end = graphs_.segments[sizes_.graphs];
    std::fill_n(output(memory_, sums()) + end * sizes_.inputs, (sizes_.rows - end) * sizes_.inputs, 0.0f);
  }

 private:
  // The inputs and results of a round: rows of the graph.
  struct Round {
    const float *before, *hidden, *gates, *inner;
    std::int64_t width;  // of before
    const float* layer(int l, const Sizes& sizes) const { return hidden + l * sizes.rows * sizes.hidden; }
  };

  int sums() const { return 4 + 2 * sizes_.layers; }
  float* sum(std::int64_t g, int i) const {
    return part(sums_ + static_cast<std::size_t>(g) * sum_bytes_ + sum_offsets_[static_cast<std::size_t>(i)]);
  }

  // Adds the sums in the order of the graphs, regardless of the thread that made them.
  void add_graphs(int i) const {
    float* to = output(memory_, i);
    parallel_chunks(sum_floats_[static_cast<std::size_t>(i)], 4096,
                    [=, this](std::int64_t begin, std::int64_t end, int) {
                      std::fill(to + begin, to + end, 0.0f);
                      for (std::int64_t g = 0; g < sizes_.graphs; ++g) {
                        const float* from = sum(g, i);
#pragma omp simd
                        for (std::int64_t e = begin; e < end; ++e) to[e] += from[e];
                      }
                    });
  }

  void run_graph(std::int64_t g, int thread) const {
    const std::int64_t first = graphs_.segments[g], n = graphs_.nodes(g), h = sizes_.hidden;
    std::fill_n(sum(g, 0), sum_bytes_ / sizeof(float), 0.0f);
    graphs_.make_scale(g);
    float *d_state = scratch(thread, d_state_), *d_before = scratch(thread, d_before_);
    std::copy_n(input(memory_, 0) + first * h, n * h, d_state);
    const int states = 8 + sizes_.layers;
    for (std::int64_t t = graphs_.rounds[g] - 1; t >= 0; --t) {
      const std::int64_t row = t * sizes_.rows + first;
      const Round round{t == 0 ? input(memory_, 1) + first * sizes_.inputs
                               : input(memory_, states) + (row - sizes_.rows) * h,
                        input(memory_, states + 1) + (t * sizes_.layers * sizes_.rows + first) * h,
                        input(memory_, states + 2) + row * sizes_.gates, input(memory_, states + 3) + row * h,
                        t == 0 ? sizes_.inputs : h};
      run_round(g, round, d_state, d_before, thread);
      std::swap(d_state, d_before);
    }
    if (!attrs_.d_src) return;
    float* d_src = output(memory_, sums()) + first * sizes_.inputs;
    for (std::int64_t i = 0; i < n; ++i)
      std::copy_n(d_state + i * h, sizes_.inputs, d_src + i * sizes_.inputs);
  }

  // Makes the first round.width columns of d_before (n, H).
  void run_round(std::int64_t g, const Round& round, const float* d_state, float* d_before,
                 int thread) const {
    const std::int64_t n = graphs_.nodes(g), h = sizes_.hidden, gates = sizes_.gates, width = round.width;
    const float* top = round.layer(sizes_.layers - 1, sizes_);
    float *d_value = scratch(thread, d_value_), *d_gates = scratch(thread, d_gates_),
          *d_u_gates = scratch(thread, d_u_gates_);
    std::fill_n(d_value, n * h, 0.0f);
    run_gates_here(GatesBackward{ops::RecurrentCell::gru,
                                 n,
                                 h,
                                 d_state,
                                 {part(zeros_), 0},
                                 round.gates,
                                 round.inner,
                                 nullptr,
                                 {top, h},
                                 {nullptr, 0},
                                 d_value,
                                 d_gates,
                                 d_u_gates});
    multiply_rows({n, width, gates}, rows_of(d_gates, gates), input(memory_, 6), h, d_before, h,
                  StartRow::zero());
    multiply_rows({n, h, gates}, rows_of(d_u_gates, gates), input(memory_, 7), h, d_value, h,
                  StartRow::add());
    multiply_rows({gates, width, n}, transposed(d_gates, gates), round.before, width, sum(g, 0), h,
                  StartRow::add());
    multiply_rows({gates, h, n}, transposed(d_u_gates, gates), top, h, sum(g, 1), h, StartRow::add());
    add_rows(d_gates, n, gates, sum(g, 2));
    add_rows(d_u_gates, n, gates, sum(g, 3));
    float* d_given = run_layers(g, round, thread);
    graphs_.scatter(g, d_given, width, d_before, h);
  }

  // Turns the gradient of the last layer into that of the input of the first: rows of round.width numbers.
  float* run_layers(std::int64_t g, const Round& round, int thread) const {
    const std::int64_t n = graphs_.nodes(g), h = sizes_.hidden;
    float *d_value = scratch(thread, d_value_), *d_given = scratch(thread, d_given_);
    graphs_.gather(g, round.before, round.width, round.width, scratch(thread, gathered_));
    for (int layer = sizes_.layers - 1; layer >= 0; --layer) {
      const float *made = round.layer(layer, sizes_), *given = scratch(thread, gathered_);
      if (layer > 0) given = round.layer(layer - 1, sizes_);
      const std::int64_t width = layer == 0 ? round.width : h;
      const auto slope = static_cast<float>(attrs_.forward.slope);
#pragma omp simd
      for (std::int64_t i = 0; i < n * h; ++i) d_value[i] *= made[i] > 0 ? 1.0f : slope;
      multiply_rows({h, width, n}, transposed(d_value, h), given, width, sum(g, 4 + 2 * layer), width,
                    StartRow::add());
      add_rows(d_value, n, h, sum(g, 5 + 2 * layer));
      multiply_rows({n, width, h}, rows_of(d_value, h), input(memory_, 8 + layer), width, d_given, width,
                    StartRow::zero());
      std::swap(d_value, d_given);
    }
    return d_value;
  }

  float* part(std::size_t offset) const { return reinterpret_cast<float*>(memory_.workspace + offset); }
  float* scratch(int thread, std::size_t offset) const {
    return part(scratch_ + static_cast<std::size_t>(thread) * scratch_bytes_ + offset);
  }

  static constexpr std::size_t kMostSums = 4 + 2 * kMostLayers;
  ops::GatedGraphConvGradAttrs attrs_;
  Sizes sizes_;
  std::size_t scale_, zeros_, sums_, sum_bytes_, scratch_, scratch_bytes_;  // in the workspace
  std::array<std::int64_t, kMostSums> sum_floats_{};
  std::array<std::size_t, kMostSums> sum_offsets_{};  // in the sums of one graph
  std::size_t d_state_, d_before_, d_value_, d_given_, d_gates_, d_u_gates_,
      gathered_;  // in a thread's scratch
  Binding memory_;
  Graphs graphs_{};
};

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

template <typename Made>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<Made>(request);
}

}  // namespace

std::vector<Candidate> gated_graph_conv_candidates() {
  return {{&ops::gated_graph_conv_op, "own:gated_graph_conv", accept, make<GraphConvForward>},
          {&ops::gated_graph_conv_grad_op, "own:gated_graph_conv_grad", accept, make<GraphConvGrad>}};
}

}  // namespace trainyard::backend::onednn
