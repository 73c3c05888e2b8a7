#include "ops/sequence/graph_layers.h"

#include "backend/kernel.h"
#include "backend/onednn/backend.h"
#include "backend/onednn/recurrent_gates.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/row_product.h"
#include "backend/onednn/runtime/vector_math.h"
#include "base/parallel.h"

// As in gated_graph_conv.cpp, a thread takes a graph through all of its steps. W q* + U q is one product with
// M = [W's left half + U, W's right half], because the first half of q* is q.
namespace trainyard::backend::onednn {
namespace {

struct Sizes {
  std::int64_t rows, hidden, graphs, steps;
  // `src`: the input of that name.
  Sizes(const graph::NodeView& node, int src, std::int64_t most_steps)
      : rows(node.input_shape(src)[0]),
        hidden(node.input_shape(src)[1]),
        graphs(node.input_shape(src + 2)[0]),
        steps(most_steps) {}

  std::int64_t query() const { return 2 * hidden; }
  std::int64_t gates() const { return 4 * hidden; }
};

struct Graph {
  std::int64_t first, nodes, steps;
};

Graph graph_at(const Binding& memory, int src, std::int64_t g) {
  const auto integers = [&](int i) {
    return reinterpret_cast<const std::int32_t*>(memory.inputs[static_cast<std::size_t>(src + i)]);
  };
  const std::int64_t first = integers(1)[g];
  return {first, integers(1)[g + 1] - first, integers(2)[g]};
}

const float* input(const Binding& binding, int i) {
  return reinterpret_cast<const float*>(binding.inputs[static_cast<std::size_t>(i)]);
}
float* output(const Binding& binding, int i) {
  return reinterpret_cast<float*>(binding.outputs[static_cast<std::size_t>(i)]);
}

// M (4H, 2H)
void combine(const float* weight, const float* recurrent_weight, std::int64_t hidden, float* combined) {
  for (std::int64_t r = 0; r < 4 * hidden; ++r)
    for (std::int64_t c = 0; c < 2 * hidden; ++c)
      combined[r * 2 * hidden + c] =
          weight[r * 2 * hidden + c] + (c < hidden ? recurrent_weight[r * hidden + c] : 0.0f);
}

// scores[i] = x_i . vector
void dot_rows(const float* x, std::int64_t rows, std::int64_t width, const float* vector, float* scores) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < width; ++k) sum += x[i * width + k] * vector[k];
    scores[i] = sum;
  }
}

void softmax_here(float* scores, std::int64_t count) {
  if (count == 0) return;
  const float highest = *std::max_element(scores, scores + count);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += scores[i] = vector_exp(scores[i] - highest);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) scores[i] /= sum;
}

class Set2SetForward final : public Kernel {
 public:
  explicit Set2SetForward(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        training_(request.node.attrs<ops::Set2SetAttrs>().training),
        sizes_(request.node, 0, request.node.attrs<ops::Set2SetAttrs>().steps) {
    Workspace workspace;
    combined_ = workspace.add_floats(sizes_.gates() * sizes_.query());
    transposed_ = workspace.add_floats(sizes_.gates() * sizes_.query());
    Workspace scratch;
    query_ = scratch.add_floats(sizes_.query());
    gates_ = scratch.add_floats(sizes_.gates());
    cell_ = scratch.add_floats(sizes_.hidden);
    scores_ = scratch.add_floats(sizes_.rows);
    scratch_bytes_ = scratch.bytes();
    scratch_ = workspace.add(scratch_bytes_ * static_cast<std::size_t>(thread_count()));
    io_.workspace_bytes = workspace.bytes();
  }

  void bind(const Binding& binding) override { memory_ = binding; }

  void run(const StepContext&) override {
    combine(input(memory_, 3), input(memory_, 4), sizes_.hidden, part(combined_));
    transpose(part(combined_), sizes_.gates(), sizes_.query(), part(transposed_));
    parallel_items(sizes_.graphs, [this](std::int64_t g, int thread) { run_graph(g, thread); });
    if (!training_) return;
    const Graph last = graph_at(memory_, 0, sizes_.graphs - 1);
    for (std::int64_t t = 0; t < sizes_.steps; ++t)
      std::fill(output(memory_, 4) + t * sizes_.rows + last.first + last.nodes,
                output(memory_, 4) + (t + 1) * sizes_.rows, 0.0f);
  }

 private:
  void run_graph(std::int64_t g, int thread) const {
    const Graph graph = graph_at(memory_, 0, g);
    float *query = scratch(thread, query_), *cell = scratch(thread, cell_);
    std::fill_n(query, sizes_.query(), 0.0f);
    std::fill_n(cell, sizes_.hidden, 0.0f);
    for (std::int64_t t = 0; t < graph.steps; ++t) {
      run_step(graph, thread);
      if (training_) keep(g, t, graph, thread);
    }
    std::copy_n(query, sizes_.query(), output(memory_, 0) + g * sizes_.query());
    if (!training_) return;
    for (std::int64_t t = graph.steps; t < sizes_.steps; ++t) {
      const std::int64_t place = t * sizes_.graphs + g;
      std::fill_n(output(memory_, 1) + place * sizes_.query(), sizes_.query(), 0.0f);
      std::fill_n(output(memory_, 2) + place * sizes_.gates(), sizes_.gates(), 0.0f);
      std::fill_n(output(memory_, 3) + place * sizes_.hidden, sizes_.hidden, 0.0f);
      std::fill_n(output(memory_, 4) + t * sizes_.rows + graph.first, graph.nodes, 0.0f);
    }
  }

  void run_step(const Graph& graph, int thread) const {
    const std::int64_t h = sizes_.hidden, n = graph.nodes;
    float *query = scratch(thread, query_), *gates = scratch(thread, gates_), *cell = scratch(thread, cell_),
          *scores = scratch(thread, scores_);
    const float* nodes = input(memory_, 0) + graph.first * h;
    multiply_rows({1, sizes_.gates(), sizes_.query()}, rows_of(query, sizes_.query()), part(transposed_),
                  sizes_.gates(), gates, sizes_.gates(), StartRow::bias(input(memory_, 5)));
    run_gates_here(GatesForward{
        ops::RecurrentCell::lstm, 1, h, gates, {nullptr, 0}, {nullptr, 0}, {cell, 0}, cell, query});
    dot_rows(nodes, n, h, query, scores);
    softmax_here(scores, n);
    multiply_rows({1, h, n}, rows_of(scores, n), nodes, h, query + h, h, StartRow::zero());
  }

  void keep(std::int64_t g, std::int64_t t, const Graph& graph, int thread) const {
    const std::int64_t place = t * sizes_.graphs + g;
    std::copy_n(scratch(thread, query_), sizes_.query(), output(memory_, 1) + place * sizes_.query());
    std::copy_n(scratch(thread, gates_), sizes_.gates(), output(memory_, 2) + place * sizes_.gates());
    std::copy_n(scratch(thread, cell_), sizes_.hidden, output(memory_, 3) + place * sizes_.hidden);
    std::copy_n(scratch(thread, scores_), graph.nodes, output(memory_, 4) + t * sizes_.rows + graph.first);
  }

  float* part(std::size_t offset) const { return reinterpret_cast<float*>(memory_.workspace + offset); }
  float* scratch(int thread, std::size_t offset) const {
    return part(scratch_ + static_cast<std::size_t>(thread) * scratch_bytes_ + offset);
  }

  bool training_;
  Sizes sizes_;
  std::size_t combined_, transposed_, scratch_, scratch_bytes_;  // in the workspace
  std::size_t query_, gates_, cell_, scores_;                    // in a thread's scratch
  Binding memory_;
};

class Set2SetGrad final : public Kernel {
 public:
  explicit Set2SetGrad(const KernelRequest& request)
      : Kernel(plain_io(request.node)),
        d_src_(request.node.attrs<ops::Set2SetGradAttrs>().d_src),
        sizes_(request.node, 1, request.node.attrs<ops::Set2SetGradAttrs>().steps) {
    Workspace workspace;
    combined_ = workspace.add_floats(sizes_.gates() * sizes_.query());
    zeros_ = workspace.add_floats(sizes_.hidden);
    sums_ = workspace.add_floats(sizes_.graphs * sum_floats());
    Workspace scratch;
    d_query_ = scratch.add_floats(sizes_.query());
    d_cell_ = scratch.add_floats(sizes_.hidden);
    d_gates_ = scratch.add_floats(sizes_.steps * sizes_.gates());
    d_read_ = scratch.add_floats(sizes_.steps * sizes_.hidden);
    d_scores_ = scratch.add_floats(sizes_.steps * sizes_.rows);
    scratch_bytes_ = scratch.bytes();
    scratch_ = workspace.add(scratch_bytes_ * static_cast<std::size_t>(thread_count()));
    io_.workspace_bytes = workspace.bytes();
  }

  void bind(const Binding& binding) override { memory_ = binding; }

  void run(const StepContext&) override {
    combine(input(memory_, 4), input(memory_, 5), sizes_.hidden, part(combined_));
    std::fill_n(part(zeros_), sizes_.hidden, 0.0f);
    parallel_items(sizes_.graphs, [this](std::int64_t g, int thread) { run_graph(g, thread); });
    add_graphs();
    if (!d_src_) return;
    const Graph last = graph_at(memory_, 1, sizes_.graphs - 1);
    std::fill(output(memory_, 3) + (last.first + last.nodes) * sizes_.hidden,
              output(memory_, 3) + sizes_.rows * sizes_.hidden, 0.0f);
  }

 private:
  std::int64_t weight_floats() const { return sizes_.gates() * sizes_.query(); }
  std::int64_t sum_floats() const { return weight_floats() + sizes_.gates(); }
  float* sum(std::int64_t g) const { return part(sums_) + g * sum_floats(); }

  // Adds the sums in the order of the graphs, regardless of the thread that made them. U takes the first half
  // of what W takes.
  void add_graphs() const {
    parallel_chunks(sizes_.gates(), 32, [this](std::int64_t begin, std::int64_t end, int) {
      const std::int64_t width = sizes_.query(), h = sizes_.hidden;
      float *d_weight = output(memory_, 0), *d_recurrent = output(memory_, 1), *d_bias = output(memory_, 2);
      std::fill(d_weight + begin * width, d_weight + end * width, 0.0f);
      std::fill(d_bias + begin, d_bias + end, 0.0f);
      for (std::int64_t g = 0; g < sizes_.graphs; ++g) {
        const float* from = sum(g);
#pragma omp simd
        for (std::int64_t e = begin * width; e < end * width; ++e) d_weight[e] += from[e];
        for (std::int64_t r = begin; r < end; ++r) d_bias[r] += from[weight_floats() + r];
      }
      for (std::int64_t r = begin; r < end; ++r) std::copy_n(d_weight + r * width, h, d_recurrent + r * h);
    });
  }

  void run_graph(std::int64_t g, int thread) const {
    const Graph graph = graph_at(memory_, 1, g);
    const std::int64_t h = sizes_.hidden, width = sizes_.query(), step = sizes_.graphs * width;
    std::copy_n(input(memory_, 0) + g * width, width, scratch(thread, d_query_));
    std::fill_n(scratch(thread, d_cell_), h, 0.0f);
    for (std::int64_t t = graph.steps - 1; t >= 0; --t) run_step(g, t, graph, thread);
    const float* queries = input(memory_, 6) + g * width;
    const float* d_gates = scratch(thread, d_gates_);
    // Step 0 was given zeros.
    multiply_rows({sizes_.gates(), width, std::max<std::int64_t>(graph.steps - 1, 0)},
                  transposed(d_gates + sizes_.gates(), sizes_.gates()), queries, step, sum(g), width,
                  StartRow::zero());
    float* d_bias = sum(g) + weight_floats();
    std::fill_n(d_bias, sizes_.gates(), 0.0f);
    add_rows(d_gates, graph.steps, sizes_.gates(), d_bias);
    if (!d_src_) return;
    float* d_nodes = output(memory_, 3) + graph.first * h;
    multiply_rows({graph.nodes, h, graph.steps}, transposed(input(memory_, 9) + graph.first, sizes_.rows),
                  scratch(thread, d_read_), h, d_nodes, h, StartRow::zero());
    multiply_rows({graph.nodes, h, graph.steps}, transposed(scratch(thread, d_scores_), graph.nodes), queries,
                  step, d_nodes, h, StartRow::add());
  }

  // Turns the gradients of q* and of the cell after step t into those before it.
  void run_step(std::int64_t g, std::int64_t t, const Graph& graph, int thread) const {
    const std::int64_t h = sizes_.hidden, n = graph.nodes, place = t * sizes_.graphs + g;
    const float *nodes = input(memory_, 1) + graph.first * h,
                *attention = input(memory_, 9) + t * sizes_.rows + graph.first,
                *cell = input(memory_, 8) + place * h;
    float *d_query = scratch(thread, d_query_), *d_read = scratch(thread, d_read_) + t * h,
          *d_scores = scratch(thread, d_scores_) + t * n,
          *d_gates = scratch(thread, d_gates_) + t * sizes_.gates();
    std::copy_n(d_query + h, h, d_read);
    dot_rows(nodes, n, h, d_read, d_scores);
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (std::int64_t i = 0; i < n; ++i) mean += attention[i] * d_scores[i];
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) d_scores[i] = attention[i] * (d_scores[i] - mean);
    multiply_rows({1, h, n}, rows_of(d_scores, n), nodes, h, d_query, h, StartRow::add());
    run_gates_here(GatesBackward{ops::RecurrentCell::lstm,
                                 1,
                                 h,
                                 d_query,
                                 {part(zeros_), 0},
                                 input(memory_, 7) + place * sizes_.gates(),
                                 cell,
                                 nullptr,
                                 {nullptr, 0},
                                 {t == 0 ? part(zeros_) : cell - sizes_.graphs * h, 0},
                                 scratch(thread, d_cell_),
                                 d_gates,
                                 d_gates});
    multiply_rows({1, sizes_.query(), sizes_.gates()}, rows_of(d_gates, sizes_.gates()), part(combined_),
                  sizes_.query(), d_query, sizes_.query(), StartRow::zero());
  }

  float* part(std::size_t offset) const { return reinterpret_cast<float*>(memory_.workspace + offset); }
  float* scratch(int thread, std::size_t offset) const {
    return part(scratch_ + static_cast<std::size_t>(thread) * scratch_bytes_ + offset);
  }

  bool d_src_;
  Sizes sizes_;
  std::size_t combined_, zeros_, sums_, scratch_, scratch_bytes_;  // in the workspace
  std::size_t d_query_, d_cell_, d_gates_, d_read_, d_scores_;     // in a thread's scratch
  Binding memory_;
};

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

template <typename Made>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<Made>(request);
}

}  // namespace

std::vector<Candidate> set2set_candidates() {
  return {{&ops::set2set_op, "own:set2set", accept, make<Set2SetForward>},
          {&ops::set2set_grad_op, "own:set2set_grad", accept, make<Set2SetGrad>}};
}

}  // namespace trainyard::backend::onednn
