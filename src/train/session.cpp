#include "train/session.h"

#include <sched.h>

#include "base/parallel.h"
#include "engine/initialise.h"
#include "graph/analysis.h"
#include "plan/compile.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace trainyard::train {
namespace {

// Numbers too small for a normal f32 cost a hundred times more on most CPUs and mean nothing here.
void flush_denormals() {
#ifdef __SSE__
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  parallel_chunks(thread_count(), 1, [](std::int64_t, std::int64_t, int) {
    _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
  });
#endif
}

int cores_allowed() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

networks::Model training_model(const SessionOptions& options) {
  networks::Model model = networks::build_model(options.model);
  networks::add_training_step(model, options.update);
  return model;
}

}  // namespace

int limit_threads(int threads) {
  const int cores = cores_allowed();
  if (threads < 0 || threads > cores)
    fail(ErrorKind::usage, "--threads {}: this process may use 1 to {} cores", threads, cores);
  set_thread_count(threads == 0 ? cores : threads);
  flush_denormals();
  return thread_count();
}

plan::CompiledStep compile_training_step(const SessionOptions& options, const backend::Backend& backend) {
  return plan::compile(training_model(options).graph, backend, {.fuse = options.fuse, .pinned_layouts = {}});
}

Session::Session(const SessionOptions& options) : options_(options) {
  options_.threads = limit_threads(options.threads);
  backend_ = backend::make_backend(options_.backend);
  const networks::Model model = training_model(options_);
  parameters_ = graph::parameter_count(model.graph);
  loss_name_ = model.graph.value(model.loss).name;
  executor_ = std::make_unique<engine::Executor>(
      plan::compile(model.graph, *backend_, {.fuse = options_.fuse, .pinned_layouts = {}}));
  flops_per_step_ = graph::total_cost(executor_->graph()).flops;
  engine::initialise_state(*executor_, options_.seed);
}

std::unique_ptr<engine::Executor> Session::make_evaluator(std::int64_t batch, bool shadow_weights) const {
  networks::ModelOptions inference = options_.model;
  inference.batch = batch;
  inference.training = false;
  const networks::Model model = networks::build_model(inference);
  plan::CompiledStep step =
      plan::compile(model.graph, *backend_,
                    {.fuse = options_.fuse, .pinned_layouts = plan::persistent_layouts(executor_->plan())});
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
  if (shadow_weights) {
    // The last slot of the optimizer state has the same shape as the parameter arena.
    const std::size_t from = executor_->plan().bytes(plan::Region::optimizer_state) -
                             executor_->plan().bytes(plan::Region::parameters);
    borrowed[static_cast<std::size_t>(plan::Region::parameters)] =
        executor_->region(plan::Region::optimizer_state) + from;
  }
  return std::make_unique<engine::Executor>(std::move(step), borrowed);
}

}  // namespace trainyard::train
