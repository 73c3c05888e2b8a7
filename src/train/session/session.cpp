#include "train/session/session.h"

#include "engine/canonical.h"
#include "graph/autodiff.h"
#include "plan/compile.h"
#include "train/session/device_threads.h"
#include "train/session/job_check.h"

namespace trainyard::train {
namespace {

networks::Model step_model(const SessionOptions& options) {
  networks::Model model = networks::build_model(options.model);
  if (options.model.training) networks::add_training_step(model, options.update, options.micro_batches);
  return model;
}

graph::Cost work_of(const plan::StepPlan& plan, int micro_batches, bool recomputed) {
  graph::Cost work;
  for (const plan::Step& step : plan.steps) {
    if (step.is_reorder() || step.recomputed != recomputed) continue;
    for (int i = 0; i < (step.is_update() ? 1 : micro_batches); ++i) work += step.cost;
  }
  return work;
}

plan::CompileOptions compile_options(const SessionOptions& options) {
  return {.fuse = options.fuse,
          .precision = options.precision,
          .keep_gradients = options.keep_gradients,
          .limit_bytes = options.limit_bytes,
          .optimizer_state = options.optimizer_state,
          .pinned_layouts = {}};
}

}  // namespace

plan::CompiledStep compile_step(const SessionOptions& options, const backend::Backend& backend) {
  return plan::compile(step_model(options).graph, backend, compile_options(options));
}

std::size_t checked_plan_bytes(const SessionOptions& options, const backend::Backend& backend) {
  const networks::Model model = step_model(options);
  check_memory(options, model.graph, *backend.device());
  const plan::CompiledStep step = plan::compile(model.graph, backend, compile_options(options));
  check_memory(options, step.plan, *step.device);
  return step.plan.total_bytes();
}

Session::Session(const SessionOptions& options) : options_(options) {
  TRAINYARD_CHECK(options_.micro_batches == 1 || options_.keep_gradients);
  if (options_.cores.empty()) options_.cores = cores_for(options_.threads);
  options_.threads = limit_to(options_.cores);
  backend_ = backend::make_backend(options_.backend, options_.device, options_.precision, options_.tuning);
  free_before_ = static_cast<std::int64_t>(backend_->device()->free_bytes());
  const networks::Model model = step_model(options_);
  parameters_ = graph::parameter_count(model.graph);
  for (const graph::ValueId frozen : model.frozen) frozen_parameters_ += model.graph.shape(frozen).elements();
  input_names_ =
      model.tokens == graph::kNone ? InputNames{kImages, kLabels} : InputNames{"tokens", "lengths"};
  TRAINYARD_CHECK(!options_.model.loss || model.graph.value(model.loss).name == kLoss);
  check_memory(options_, model.graph, *backend_->device());
  plan::CompiledStep step = plan::compile(model.graph, *backend_, compile_options(options_));
  check_memory(options_, step.plan, *step.device);
  executor_ = std::make_unique<engine::Executor>(std::move(step));
  if (options_.model.loss) executor_->mark_loss(kLoss);
  work_per_step_ = work_of(executor_->plan(), options_.micro_batches, false);
  recomputed_per_step_ = work_of(executor_->plan(), options_.micro_batches, true);
  engine::initialise_state(*executor_, options_.seed);
  if (options_.optimizer_state && options_.model.training)
    engine::initialise_optimizer(*executor_, options_.seed);
}

std::size_t Session::plan_bytes() const {
  const plan::StepPlan& plan = executor_->plan();
  return plan.total_bytes() - (options_.optimizer_state ? 0 : plan.bytes(plan::Region::optimizer_state));
}

std::int64_t Session::device_bytes() const {
  return free_before_ - static_cast<std::int64_t>(executor_->device().free_bytes());
}

float Session::loss() const {
  if (!options_.model.loss) return std::numeric_limits<float>::quiet_NaN();
  float loss = 0;
  const plan::StepPlan& plan = executor_->plan();
  executor_->device().read(executor_->data(plan.find_buffer(kLoss)), &loss, sizeof loss);
  return loss;
}

std::span<float> Session::numbers(plan::Region region) const {
  return {reinterpret_cast<float*>(executor_->region(region)),
          executor_->plan().bytes(region) / sizeof(float)};
}

std::unique_ptr<engine::Executor> Session::make_evaluator(std::int64_t batch, bool shadow_weights) const {
  networks::ModelOptions inference = options_.model;
  inference.batch = batch;
  inference.training = false;
  const networks::Model model = networks::build_model(inference);
  plan::CompiledStep step = plan::compile(model.graph, *backend_,
                                          {.fuse = options_.fuse,
                                           .precision = options_.precision,
                                           .pinned_layouts = plan::persistent_layouts(executor_->plan())});
  engine::Executor::Regions borrowed{};
  const auto lend = [&](plan::Region region) {
    borrowed[static_cast<std::size_t>(region)] = executor_->region(region);
  };
  lend(plan::Region::parameters);
  lend(plan::Region::statistics);
  // Both plans keep parameters in the same order and layouts, so they agree on every offset.
  for (const plan::Buffer& buffer : step.plan.buffers) {
    if (buffer.region != plan::Region::parameters && buffer.region != plan::Region::statistics) continue;
    const int trained = executor_->plan().find_buffer(buffer.name);
    TRAINYARD_CHECK(trained >= 0);
    const plan::Buffer& other = executor_->plan().buffers[static_cast<std::size_t>(trained)];
    TRAINYARD_CHECK(other.offset == buffer.offset && other.layout == buffer.layout);
  }
  if (shadow_weights && frozen_parameters_ > 0) {
    borrowed[static_cast<std::size_t>(plan::Region::parameters)] = nullptr;
  } else if (shadow_weights) {
    // The last slot of the optimizer state has the same shape as the parameter arena.
    const std::size_t from = executor_->plan().bytes(plan::Region::optimizer_state) -
                             executor_->plan().bytes(plan::Region::parameters);
    borrowed[static_cast<std::size_t>(plan::Region::parameters)] =
        executor_->region(plan::Region::optimizer_state) + from;
  }
  return std::make_unique<engine::Executor>(std::move(step), borrowed);
}

void Session::renew_evaluator(engine::Executor& evaluator) const {
  if (evaluator.region(plan::Region::parameters) == executor_->region(plan::Region::parameters) ||
      frozen_parameters_ == 0 || options_.update.ema_decay == 0)
    return;
  AlignedBuffer staging;
  for (const plan::Buffer& buffer : evaluator.plan().buffers) {
    if (buffer.region != plan::Region::parameters) continue;
    const int shadow = executor_->plan().find_buffer(buffer.name + ":ema"),
              live = executor_->plan().find_buffer(buffer.name);
    const plan::Buffer& from =
        executor_->plan().buffers[static_cast<std::size_t>(shadow >= 0 ? shadow : live)];
    TRAINYARD_CHECK(from.layout == buffer.layout && from.bytes == buffer.bytes);
    executor_->look(from, [&](const std::byte* source) {
      evaluator.make(
          buffer, [&](std::byte* target) { std::memcpy(target, source, buffer.bytes); }, staging);
    });
  }
  evaluator.parameters_changed();
}

}  // namespace trainyard::train
