#include "backend/cuda/attention/cudnn_attention.h"

#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

enum Uid : std::int64_t { kQueries = 1, kKeys, kValues, kDst, kLogSums, kScale, kLowest, kFirstVirtual };

constexpr std::size_t kMostEngines = 12, kMostQuickEngines = 3;

struct TensorPlace {
  std::vector<std::int64_t> dimensions, strides;
};

enum class Kind { memory, inside, by_value };

CudnnDescriptor describe(std::int64_t uid, const TensorPlace& place, cudnnDataType_t type, Kind kind) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const bool is_virtual = kind == Kind::inside, by_value = kind == Kind::by_value;
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, place.dimensions);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, place.strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  tensor.finalize();
  return tensor;
}

// Builds the operations of attention one behind the other, in the pattern that cuDNN's fused engines know:
// a product, its scores pointwise, a softmax made of reductions, and a product. Nothing between the two
// products lies in memory.
class AttentionGraph {
 public:
  explicit AttentionGraph(const AttentionProblem& problem) : problem_(problem) {
    const std::int64_t steps = problem.steps, heads = problem.heads;
    scores_ = {{problem.sequences, heads, steps, steps}, {heads * steps * steps, steps * steps, steps, 1}};
    rows_ = {{problem.sequences, heads, steps, 1}, {heads * steps, steps, 1, 1}};
  }

  std::vector<CudnnDescriptor> build() {
    const CudnnDescriptor scale = describe(kScale, scalar(), CUDNN_DATA_FLOAT, Kind::by_value),
                          products = inside(scores_);
    multiply(describe(kQueries, vectors(problem_.heads, problem_.width()), CUDNN_DATA_BFLOAT16, Kind::memory),
             describe(kKeys, transposed(vectors(problem_.kv_heads, problem_.width())), CUDNN_DATA_BFLOAT16,
                      Kind::memory),
             products);
    CudnnDescriptor scores = inside(scores_);
    pointwise(CUDNN_POINTWISE_MUL, products, &scale, scores);
    if (problem_.causal) scores = masked(scores);
    const CudnnDescriptor probabilities = inside(scores_, CUDNN_DATA_BFLOAT16);
    soften(scores, probabilities);
    multiply(
        probabilities,
        describe(kValues, vectors(problem_.kv_heads, problem_.width()), CUDNN_DATA_BFLOAT16, Kind::memory),
        describe(kDst, vectors(problem_.heads, problem_.heads * problem_.head_size), CUDNN_DATA_BFLOAT16,
                 Kind::memory));
    return std::move(operations_);
  }

 private:
  static TensorPlace scalar() { return {{1, 1, 1, 1}, {1, 1, 1, 1}}; }
  static TensorPlace transposed(TensorPlace place) {
    std::swap(place.dimensions[2], place.dimensions[3]);
    std::swap(place.strides[2], place.strides[3]);
    return place;
  }
  // (sequence, head, step, number) in rows of `width`
  TensorPlace vectors(std::int64_t heads, std::int64_t width) const {
    const std::int64_t of_sequence = problem_.batch_first ? problem_.steps : 1,
                       of_step = problem_.batch_first ? 1 : problem_.sequences;
    return {{problem_.sequences, heads, problem_.steps, problem_.head_size},
            {of_sequence * width, problem_.head_size, of_step * width, 1}};
  }
  CudnnDescriptor inside(const TensorPlace& place, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return describe(next_uid_++, place, type, Kind::inside);
  }

  void multiply(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& dst) {
    CudnnDescriptor matmul(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    matmul.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    matmul.finalize();
    CudnnDescriptor made(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, dst);
    made.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul);
    add(std::move(made));
  }

  struct Extra {
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    std::int64_t axis = -1;                 // of an index
    const CudnnDescriptor* mask = nullptr;  // of a selection
  };
  // `b` may be null.
  void pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& a, const CudnnDescriptor* b,
                 const CudnnDescriptor& dst, const Extra& extra) {
    CudnnDescriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, extra.precision);
    if (extra.axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, extra.axis);
    how.finalize();
    CudnnDescriptor made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
    if (b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (extra.mask != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *extra.mask);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, dst);
    add(std::move(made));
  }
  void pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& a, const CudnnDescriptor* b,
                 const CudnnDescriptor& dst) {
    pointwise(mode, a, b, dst, {});
  }

  void reduce(cudnnReduceTensorOp_t mode, const CudnnDescriptor& src, const CudnnDescriptor& dst) {
    CudnnDescriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    how.finalize();
    CudnnDescriptor made(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, src);
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, dst);
    made.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    add(std::move(made));
  }

  // The lowest number stands where the key comes after the query.
  CudnnDescriptor masked(const CudnnDescriptor& scores) {
    const CudnnDescriptor queries = inside(scores_, CUDNN_DATA_INT32),
                          keys = inside(scores_, CUDNN_DATA_INT32),
                          sees = inside(scores_, CUDNN_DATA_BOOLEAN),
                          lowest = describe(kLowest, scalar(), CUDNN_DATA_FLOAT, Kind::by_value);
    CudnnDescriptor made = inside(scores_);
    pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, queries,
              {.precision = CUDNN_DATA_INT32, .axis = 2});
    pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, keys, {.precision = CUDNN_DATA_INT32, .axis = 3});
    pointwise(CUDNN_POINTWISE_CMP_GE, queries, &keys, sees, {.precision = CUDNN_DATA_BOOLEAN});
    pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, &lowest, made, {.mask = &sees});
    return made;
  }

  void soften(const CudnnDescriptor& scores, const CudnnDescriptor& probabilities) {
    const CudnnDescriptor highest = inside(rows_), below = inside(scores_), powers = inside(scores_),
                          sum = inside(rows_), log = inside(rows_),
                          log_sums = describe(kLogSums, rows_, CUDNN_DATA_FLOAT, Kind::memory);
    reduce(CUDNN_REDUCE_TENSOR_MAX, scores, highest);
    pointwise(CUDNN_POINTWISE_SUB, scores, &highest, below);
    pointwise(CUDNN_POINTWISE_EXP, below, nullptr, powers);
    reduce(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, log);
    pointwise(CUDNN_POINTWISE_ADD, highest, &log, log_sums);
    pointwise(CUDNN_POINTWISE_DIV, powers, &sum, probabilities);
  }

  void add(CudnnDescriptor operation) {
    operation.finalize();
    operations_.push_back(std::move(operation));
  }

  const AttentionProblem& problem_;
  TensorPlace scores_, rows_;
  std::int64_t next_uid_ = kFirstVirtual;
  std::vector<CudnnDescriptor> operations_;
};

Contest measure_plans(Context& context, const AttentionProblem& problem,
                      const std::vector<ExecutionPlan>& plans) {
  std::vector<Way> ways;
  std::size_t workspace_bytes = 0;
  for (const ExecutionPlan& plan : plans) {
    const std::string text = plan.choice().to_string();
    ways.push_back({"engine " + text, text});
    workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes());
  }
  try {
    const std::int64_t rows = problem.sequences * problem.steps;
    const ScratchMemory qkv = random_memory(context, rows * problem.width(), DType::bf16),
                        dst = random_memory(context, rows * problem.heads * problem.head_size, DType::bf16),
                        log_sums = random_memory(context, rows * problem.heads, DType::f32),
                        workspace = scratch_memory(context, workspace_bytes);
    AttentionConstants constants{.scale = 0.1f};
    const CudnnDescriptor memory =
        attention_memory(problem, constants, qkv.get(), dst.get(), log_sums.get(), workspace.get());
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

std::shared_ptr<const PlannedAttention> plan_attention(Context& context, const AttentionProblem& problem) {
  const OperationGraph graph(context, AttentionGraph(problem).build());
  const std::string key = fmt::format("cudnn {} {}", name(context.precision()), problem.to_string());
  if (const Tuned* known = context.tuning().find(key))
    if (const auto choice = EngineChoice::parse(known->choice))
      if (auto plan = graph.plan(*choice))
        return std::make_shared<const PlannedAttention>(PlannedAttention{problem, std::move(*plan), *known});
  std::vector<ExecutionPlan> plans =
      graph.plans(context.tuning().effort() == Effort::full ? kMostEngines : kMostQuickEngines);
  if (plans.empty()) return nullptr;
  Contest contest = measure_plans(context, problem, plans);
  if (contest.winner < 0) return nullptr;
  if (contest.tuned.seconds > 0) context.tuning().put(key, contest.tuned);
  return std::make_shared<const PlannedAttention>(PlannedAttention{
      problem, std::move(plans[static_cast<std::size_t>(contest.winner)]), std::move(contest.tuned)});
}

}  // namespace

std::string AttentionProblem::to_string() const {
  return fmt::format("attention {} sequences of {} steps {} heads {} kv heads of {}{}{}", sequences, steps,
                     heads, kv_heads, head_size, causal ? " causal" : "", batch_first ? " batch first" : "");
}

std::shared_ptr<const PlannedAttention> Attentions::find(Context& context, const AttentionProblem& problem) {
  const auto [at, is_new] = planned_.try_emplace(problem.to_string(), nullptr);
  if (!is_new) return at->second;
  try {
    at->second = plan_attention(context, problem);
  } catch (const Error& error) {
    // cuDNN also refuses a whole graph that none of its engines could run.
    if (error.kind() != ErrorKind::device) throw;
  }
  return at->second;
}

CudnnDescriptor attention_memory(const AttentionProblem& problem, AttentionConstants& constants,
                                 std::byte* qkv, std::byte* dst, std::byte* log_sums, std::byte* workspace) {
  const std::int64_t of_keys =
                         problem.heads * problem.head_size * static_cast<std::int64_t>(size_of(DType::bf16)),
                     of_values = of_keys + problem.kv_heads * problem.head_size *
                                               static_cast<std::int64_t>(size_of(DType::bf16));
  std::vector<std::int64_t> uids{kQueries, kKeys, kValues, kDst, kLogSums, kScale};
  std::vector<void*> pointers{qkv, qkv + of_keys, qkv + of_values, dst, log_sums, &constants.scale};
  if (problem.causal) {
    uids.push_back(kLowest);
    pointers.push_back(&constants.lowest);
  }
  return ExecutionPlan::variant_pack(uids, pointers, workspace);
}

namespace {

AttentionProblem problem_of(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::AttentionAttrs>();
  const Shape& qkv = node.input_shape(0);
  return {.sequences = attrs.rows.sequences(qkv[0]),
          .steps = attrs.rows.steps,
          .heads = attrs.heads,
          .kv_heads = attrs.kv_heads,
          .head_size = attrs.head_size(qkv[1]),
          .batch_first = attrs.rows.batch_first,
          .causal = attrs.causal};
}

std::shared_ptr<const PlannedAttention> plan(const KernelRequest& request) {
  Context& context = context_of(request);
  return context.attentions().find(context, problem_of(request.node));
}

Decision accept(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  if (node.dtype() != DType::bf16) return Decision::no("multiplies bf16");
  if (node.inputs() > 1) return Decision::no("sequences are padded");
  if (node.attrs<ops::AttentionAttrs>().dropout.rate > 0)
    return Decision::no("cuDNN draws other random numbers than the reference");
  if (problem_of(node).head_size % 8 != 0) return Decision::no("loads 8 numbers of a head at once");
  return plan(request) == nullptr ? Decision::no("cuDNN has no engine for it") : Decision::yes();
}

class CudnnAttention final : public Kernel {
 public:
  explicit CudnnAttention(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        context_(context_of(request)),
        planned_(plan(request)),
        constants_{.scale = static_cast<float>(
                       request.node.attrs<ops::AttentionAttrs>().scale(planned_->problem.head_size))} {
    io_.workspace_bytes = with_slack(planned_->plan.workspace_bytes());
  }
  std::string choice() const override { return planned_->tuned.to_string(); }
  std::vector<Alternative> alternatives() const override { return planned_->tuned.slower; }
  void bind(const Binding& binding) override {
    std::byte* const workspace =
        planned_->plan.workspace_bytes() == 0 ? nullptr : aligned_workspace(binding.workspace);
    memory_ = attention_memory(planned_->problem, constants_, binding.inputs[0], binding.outputs[0],
                               binding.outputs[1], workspace);
  }
  void run(const StepContext&) override { planned_->plan.run(context_, *memory_); }

 private:
  Context& context_;
  std::shared_ptr<const PlannedAttention> planned_;
  AttentionConstants constants_;
  std::optional<CudnnDescriptor> memory_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<CudnnAttention>(request);
}

}  // namespace

std::vector<Candidate> cudnn_attention_candidates() {
  return {{&ops::attention_op, "cudnn:attention", accept, make}};
}

}  // namespace trainyard::backend::cuda
