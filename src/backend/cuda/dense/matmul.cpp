#include "backend/cuda/dense/matmul.h"

#include "backend/cuda/runtime/launch_kernel.h"

namespace trainyard::backend::cuda {
namespace {

constexpr std::size_t kMostWorkspaceBytes = std::size_t{64} << 20;
constexpr int kMostAlgorithms = 16, kMostQuickAlgorithms = 4;

cudaDataType_t cublas_type(DType dtype) {
  TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::bf16);
  return dtype == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

cublasLtEpilogue_t cublas_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case Epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::relu_bias:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Epilogue::sum_of_a:  // our a is cuBLASLt's B
      return CUBLASLT_EPILOGUE_BGRADB;
    case Epilogue::none:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool has_bias(Epilogue epilogue) { return epilogue != Epilogue::none && epilogue != Epilogue::relu; }

template <typename T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, T value) {
  TRAINYARD_CUDA(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
}

template <typename T>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
  TRAINYARD_CUDA(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value));
}

struct Preference {
  Preference() {
    TRAINYARD_CUDA(cublasLtMatmulPreferenceCreate(&handle));
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kMostWorkspaceBytes});
    // Sums of parts are added in f32, in one order.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, std::uint32_t{64});
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(handle); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  template <typename T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    TRAINYARD_CUDA(cublasLtMatmulPreferenceSetAttribute(handle, attribute, &value, sizeof value));
  }
  cublasLtMatmulPreference_t handle = nullptr;
};

std::string to_hex(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const std::uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<cublasLtMatmulAlgo_t> from_hex(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm{};
  if (text.size() != 16 * std::size(algorithm.data) ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  for (std::size_t i = 0; i < std::size(algorithm.data); ++i)
    algorithm.data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return algorithm;
}

std::string describe(const cublasLtMatmulAlgo_t& algorithm) {
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    std::int32_t value = 0;
    std::size_t written = 0;
    return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written) ==
                   CUBLAS_STATUS_SUCCESS
               ? value
               : -1;
  };
  return fmt::format("algorithm {} tile {} stages {} split {}", get(CUBLASLT_ALGO_CONFIG_ID),
                     get(CUBLASLT_ALGO_CONFIG_TILE_ID), get(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

std::vector<cublasLtMatmulHeuristicResult_t> algorithms(Context& context,
                                                        const MatmulDescription& description) {
  const Preference preference;
  const int most = context.tuning().effort() == Effort::full ? kMostAlgorithms : kMostQuickAlgorithms;
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int count = 0;
  // "Not supported" is a normal answer.
  if (cublasLtMatmulAlgoGetHeuristic(context.cublas_lt(), description.operation, description.first,
                                     description.second, description.dst, description.dst, preference.handle,
                                     most, results.data(), &count) != CUBLAS_STATUS_SUCCESS)
    return {};
  results.resize(static_cast<std::size_t>(count));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

void multiply(Context& context, const MatmulDescription& description, const cublasLtMatmulAlgo_t& algorithm,
              const std::byte* a, const std::byte* b, std::byte* dst, std::byte* workspace,
              std::size_t workspace_bytes) {
  const float one = 1, zero = 0;
  TRAINYARD_CUDA(cublasLtMatmul(context.cublas_lt(), description.operation, &one, b, description.first, a,
                                description.second, &zero, dst, description.dst, dst, description.dst,
                                &algorithm, workspace, workspace_bytes, context.stream()));
}

Contest measure_algorithms(Context& context, const MatmulProblem& problem, MatmulDescription& description,
                           const std::vector<cublasLtMatmulHeuristicResult_t>& results) {
  std::vector<Way> ways;
  std::size_t workspace_bytes = 0;
  for (const auto& result : results) {
    ways.push_back({describe(result.algo), to_hex(result.algo)});
    workspace_bytes = std::max(workspace_bytes, result.workspaceSize);
  }
  try {
    const ScratchMemory a = random_memory(context, problem.a_elements(), problem.dtype),
                        b = random_memory(context, problem.batch * problem.k * problem.n, problem.dtype),
                        dst = random_memory(context, problem.dst_elements(), problem.dtype),
                        bias = random_memory(context, std::max(problem.m, problem.n), DType::f32),
                        workspace = scratch_memory(context, workspace_bytes);
    if (has_bias(problem.epilogue)) description.set_bias(bias.get());
    const auto launch = [&](std::size_t i) {
      multiply(context, description, results[i].algo, a.get(), b.get(), dst.get(), workspace.get(),
               results[i].workspaceSize);
    };
    const Contest contest = find_fastest(context, ways, launch, context.tuning().effort());
    context.wait();
    return contest;
  } catch (const Error& error) {
    // Too little memory to measure: what the heuristics put first.
    if (error.kind() != ErrorKind::device) throw;
    return {0, {ways[0].name, ways[0].choice, 0, {}}};
  }
}

std::shared_ptr<const PlannedMatmul> plan_matmul(Context& context, const MatmulProblem& problem) {
  MatmulDescription description(problem);
  const std::string key = "cublaslt " + problem.to_string();
  if (const Tuned* known = context.tuning().find(key)) {
    cublasLtMatmulHeuristicResult_t result{};
    const auto algorithm = from_hex(known->choice);
    if (algorithm && cublasLtMatmulAlgoCheck(context.cublas_lt(), description.operation, description.first,
                                             description.second, description.dst, description.dst,
                                             &*algorithm, &result) == CUBLAS_STATUS_SUCCESS)
      return std::make_shared<const PlannedMatmul>(
          PlannedMatmul{problem, *algorithm, result.workspaceSize, *known});
  }
  const auto results = algorithms(context, description);
  if (results.empty()) return nullptr;
  Contest contest = measure_algorithms(context, problem, description, results);
  if (contest.winner < 0) return nullptr;
  if (contest.tuned.seconds > 0) context.tuning().put(key, contest.tuned);
  const auto& winner = results[static_cast<std::size_t>(contest.winner)];
  return std::make_shared<const PlannedMatmul>(
      PlannedMatmul{problem, winner.algo, winner.workspaceSize, std::move(contest.tuned)});
}

const char* name(Epilogue epilogue) {
  constexpr std::array<const char*, 5> kNames{"none", "relu", "bias", "relu_bias", "sum_of_a"};
  return kNames[static_cast<std::size_t>(epilogue)];
}

}  // namespace

std::int64_t MatmulProblem::a_elements() const {
  return batch * (a_stride == 0 ? m * k : (a_transposed ? k : m) * a_stride);
}

std::int64_t MatmulProblem::dst_elements() const { return batch * m * (dst_stride == 0 ? n : dst_stride); }

std::string MatmulProblem::to_string() const {
  return fmt::format("matmul {} {} {}x{}{} by {}{} epilogue {} {}{}{}{}", backend::name(precision),
                     trainyard::name(dtype), m, k, a_transposed ? "^T" : "", n, b_transposed ? "^T" : "",
                     name(epilogue), trainyard::name(bias_type),
                     batch > 1 ? fmt::format(" batch {}", batch) : "",
                     a_stride > 0 ? fmt::format(" from rows of {}", a_stride) : "",
                     dst_stride > 0 ? fmt::format(" to rows of {}", dst_stride) : "");
}

MatmulDescription::MatmulDescription(const MatmulProblem& problem) {
  const bool tf32 = problem.dtype == DType::f32 && problem.precision == Precision::tf32;
  TRAINYARD_CUDA(cublasLtMatmulDescCreate(
      &operation, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, problem.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, problem.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, cublas_epilogue(problem.epilogue));
  if (has_bias(problem.epilogue))
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
        static_cast<std::int32_t>(cublas_type(problem.bias_type)));
  const cudaDataType_t type = cublas_type(problem.dtype);
  // Rows of ours are columns there, so the leading dimension is the length of our rows.
  const auto layout = [&](cublasLtMatrixLayout_t& made, std::int64_t rows, std::int64_t columns,
                          std::int64_t stride) {
    TRAINYARD_CUDA(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(columns),
                                              static_cast<std::uint64_t>(rows),
                                              stride == 0 ? columns : stride));
    if (problem.batch == 1) return;
    set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(problem.batch));
    set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, rows * columns);
  };
  layout(first, problem.b_transposed ? problem.n : problem.k, problem.b_transposed ? problem.k : problem.n,
         0);
  layout(second, problem.a_transposed ? problem.k : problem.m, problem.a_transposed ? problem.m : problem.k,
         problem.a_stride);
  layout(dst, problem.m, problem.n, problem.dst_stride);
}

MatmulDescription::~MatmulDescription() {
  for (cublasLtMatrixLayout_t layout : {first, second, dst})
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
}

void MatmulDescription::set_bias(const void* bias) {
  set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
}

std::shared_ptr<const PlannedMatmul> Matmuls::find(Context& context, const MatmulProblem& problem) {
  const auto [at, is_new] = planned_.try_emplace(problem.to_string(), nullptr);
  if (is_new) at->second = plan_matmul(context, problem);
  return at->second;
}

Matmul::Matmul(Context& context, std::shared_ptr<const PlannedMatmul> planned)
    : context_(context), planned_(std::move(planned)), description_(planned_->problem) {}

std::size_t Matmul::workspace_bytes() const { return with_slack(planned_->workspace_bytes); }

void Matmul::bind(const std::byte* a, const std::byte* b, std::byte* dst, std::byte* bias,
                  std::byte* workspace) {
  a_ = a;
  b_ = b;
  dst_ = dst;
  if (has_bias(planned_->problem.epilogue)) description_.set_bias(bias);
  workspace_ = planned_->workspace_bytes == 0 ? nullptr : aligned_workspace(workspace);
}

void Matmul::run() const {
  multiply(context_, description_, planned_->algorithm, a_, b_, dst_, workspace_, planned_->workspace_bytes);
}

}  // namespace trainyard::backend::cuda
