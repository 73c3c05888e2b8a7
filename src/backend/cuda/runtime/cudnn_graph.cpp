#include "backend/cuda/runtime/cudnn_graph.h"

#include <charconv>

#include "backend/cuda/runtime/launch_kernel.h"

namespace trainyard::backend::cuda {
namespace {

constexpr std::size_t kMostWorkspaceBytes = std::size_t{1} << 30;

cudnnDataType_t cudnn_type(DType dtype) {
  TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::bf16);
  return dtype == DType::f32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

// Returns the value that a descriptor holds under one name; nothing when cuDNN does not tell.
template <typename T>
std::optional<T> get_one(const CudnnDescriptor& from, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type) {
  T value{};
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(from.get(), name, type, 1, &count, &value) != CUDNN_STATUS_SUCCESS ||
      count < 1)
    return std::nullopt;
  return value;
}

// The descriptors that another one holds; they are made first and filled by cuDNN.
std::vector<CudnnDescriptor> get_descriptors(const CudnnDescriptor& from, cudnnBackendAttributeName_t name,
                                             cudnnBackendDescriptorType_t type, std::int64_t most) {
  std::int64_t count = 0;
  std::vector<CudnnDescriptor> made;
  std::vector<cudnnBackendDescriptor_t> raw;
  // As many as there may be: asked for their number beforehand, cuDNN says that a config has no knobs.
  for (std::int64_t i = 0; i < most; ++i) {
    made.emplace_back(type);
    raw.push_back(made.back().get());
  }
  if (made.empty() || cudnnBackendGetAttribute(from.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                               static_cast<std::int64_t>(raw.size()), &count,
                                               raw.data()) != CUDNN_STATUS_SUCCESS)
    return {};
  if (static_cast<std::size_t>(count) < made.size()) made.erase(made.begin() + count, made.end());
  return made;
}

// The engine of a config; a descriptor that cuDNN fills.
std::optional<CudnnDescriptor> engine_of(const CudnnDescriptor& config) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &count, &raw) != CUDNN_STATUS_SUCCESS)
    return std::nullopt;
  return engine;
}

std::optional<EngineChoice> choice_of(const CudnnDescriptor& config, const CudnnDescriptor& engine) {
  const auto index = get_one<std::int64_t>(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64);
  if (!index) return std::nullopt;
  EngineChoice choice{*index, {}};
  for (const CudnnDescriptor& knob :
       get_descriptors(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                       CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type =
        get_one<cudnnBackendKnobType_t>(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    const auto value = get_one<std::int64_t>(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64);
    if (type && value) choice.knobs.emplace_back(static_cast<std::int64_t>(*type), *value);
  }
  return choice;
}

bool exact_enough(const CudnnDescriptor& engine, Precision precision) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()) != CUDNN_STATUS_SUCCESS)
    return false;
  return std::none_of(notes.begin(), notes.begin() + count, [precision](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return precision == Precision::f32;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return true;
      default:
        return false;
    }
  });
}

std::optional<ExecutionPlan> plan_of(Context& context, CudnnDescriptor config, EngineChoice choice) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  cudnnHandle_t handle = context.cudnn();
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (!plan.try_finalize()) return std::nullopt;
  const auto bytes = get_one<std::int64_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
  if (!bytes || *bytes < 0 || static_cast<std::size_t>(*bytes) > kMostWorkspaceBytes) return std::nullopt;
  return ExecutionPlan(std::move(config), std::move(plan), std::move(choice),
                       static_cast<std::size_t>(*bytes));
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  TRAINYARD_CUDA(cudnnBackendCreateDescriptor(type, &descriptor_));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::int64_t count, const void* values) {
  TRAINYARD_CUDA(cudnnBackendSetAttribute(descriptor_, name, type, count, values));
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, float value) {
  set(name, CUDNN_TYPE_FLOAT, 1, &value);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const std::vector<CudnnDescriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  raw.reserve(values.size());
  for (const CudnnDescriptor& value : values) raw.push_back(value.get());
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}

void CudnnDescriptor::finalize() { TRAINYARD_CUDA(cudnnBackendFinalize(descriptor_)); }

bool CudnnDescriptor::try_finalize() { return cudnnBackendFinalize(descriptor_) == CUDNN_STATUS_SUCCESS; }

CudnnDescriptor tensor_descriptor(std::int64_t uid, const Shape& shape, const Layout& layout, DType dtype) {
  const LayoutIndex index(layout, shape);
  std::vector<std::int64_t> dimensions, strides;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    dimensions.push_back(shape[axis]);
    strides.push_back(index.outer_stride(axis));
  }
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, cudnn_type(dtype));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
  tensor.finalize();
  return tensor;
}

std::string EngineChoice::to_string() const {
  std::string text = fmt::format("{}", engine);
  for (const auto& [type, value] : knobs) text += fmt::format(" {}={}", type, value);
  return text;
}

std::optional<EngineChoice> EngineChoice::parse(std::string_view text) {
  const char *at = text.data(), *end = text.data() + text.size();
  const auto number = [&](std::int64_t& to) {
    const auto [next, error] = std::from_chars(at, end, to);
    at = next;
    return error == std::errc{};
  };
  EngineChoice choice;
  if (!number(choice.engine)) return std::nullopt;
  while (at != end) {
    std::pair<std::int64_t, std::int64_t> knob;
    if (*at++ != ' ' || !number(knob.first) || at == end || *at++ != '=' || !number(knob.second))
      return std::nullopt;
    choice.knobs.push_back(knob);
  }
  return choice;
}

OperationGraph::OperationGraph(Context& context, const CudnnDescriptor& operation)
    : context_(context), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  cudnnHandle_t handle = context.cudnn();
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph_.finalize();
}

OperationGraph::OperationGraph(Context& context, const std::vector<CudnnDescriptor>& operations)
    : context_(context), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  cudnnHandle_t handle = context.cudnn();
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  graph_.finalize();
}

std::vector<CudnnDescriptor> OperationGraph::heuristic_configs(cudnnBackendHeurMode_t mode) const {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (!heuristics.try_finalize()) return {};
  constexpr std::int64_t kMost = 64;
  return get_descriptors(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                         kMost);
}

std::vector<ExecutionPlan> OperationGraph::plans(std::size_t most) const {
  std::vector<ExecutionPlan> plans;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& config : heuristic_configs(mode)) {
      if (plans.size() == most) return plans;
      const std::optional<CudnnDescriptor> engine = engine_of(config);
      if (!engine || !exact_enough(*engine, context_.precision())) continue;
      std::optional<EngineChoice> choice = choice_of(config, *engine);
      if (!choice) continue;
      const std::string text = choice->to_string();
      if (std::any_of(plans.begin(), plans.end(),
                      [&](const ExecutionPlan& other) { return other.choice().to_string() == text; }))
        continue;
      if (auto plan = plan_of(context_, std::move(config), std::move(*choice)))
        plans.push_back(std::move(*plan));
    }
  }
  return plans;
}

std::optional<ExecutionPlan> OperationGraph::plan(const EngineChoice& choice) const {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, choice.engine);
  if (!engine.try_finalize()) return std::nullopt;
  std::vector<CudnnDescriptor> knobs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const auto& [type, value] : choice.knobs) {
    CudnnDescriptor knob(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    const auto knob_type = static_cast<cudnnBackendKnobType_t>(type);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &knob_type);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
    if (!knob.try_finalize()) return std::nullopt;
    raw.push_back(knob.get());
    knobs.push_back(std::move(knob));
  }
  CudnnDescriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!raw.empty())
    config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               static_cast<std::int64_t>(raw.size()), raw.data());
  if (!config.try_finalize()) return std::nullopt;
  return plan_of(context_, std::move(config), choice);
}

CudnnDescriptor ExecutionPlan::variant_pack(const std::vector<std::int64_t>& uids,
                                            const std::vector<void*>& pointers, void* workspace) {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<std::int64_t>(pointers.size()), pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  return pack;
}

void ExecutionPlan::run(Context& context, const CudnnDescriptor& variant_pack) const {
  TRAINYARD_CUDA(cudnnBackendExecute(context.cudnn(), plan_.get(), variant_pack.get()));
}

}  // namespace trainyard::backend::cuda
