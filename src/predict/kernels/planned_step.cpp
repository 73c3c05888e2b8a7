#include "predict/kernels/planned_step.h"

#include "base/parallel.h"
#include "ops/conv2d.h"
#include "ops/registry/registry.h"
#include "plan/compile.h"
#include "predict/kernels/measured_run.h"

namespace trainyard::predict {

namespace {

using backend::KernelIo;
using backend::KernelRequest;

[[noreturn]] void refuse_to_work() {
  fail(ErrorKind::unsupported, "a stand-in of a GPU plans only; it has no memory and runs nothing");
}

class StandInDevice final : public backend::Device {
 public:
  StandInDevice(StandInKernels kernels, double memory_bytes)
      : asked(std::move(kernels)), memory_bytes_(memory_bytes) {}

  std::string name() const override { return "stand-in"; }
  std::size_t free_bytes() const override { return static_cast<std::size_t>(memory_bytes_); }
  int lanes() const override { return 2; }  // a plan's memory is the same with more

  std::byte* allocate(std::size_t) override { refuse_to_work(); }
  void release(std::byte*, std::size_t) noexcept override {}
  void write(std::byte*, const void*, std::size_t) override { refuse_to_work(); }
  void read(const std::byte*, void*, std::size_t) override { refuse_to_work(); }
  void wait() override {}
  void fill_random(std::byte*, std::size_t, DType) override { refuse_to_work(); }
  double time(const std::function<void()>&) override { refuse_to_work(); }

  const StandInKernels asked;

 private:
  double memory_bytes_;
};

class StandInKernel final : public backend::Kernel {
 public:
  using Kernel::Kernel;
  void bind(const backend::Binding&) override { refuse_to_work(); }
  void run(const backend::StepContext&) override { refuse_to_work(); }
};

Layout natural_layout(const Shape& shape) { return shape.rank() == 4 ? Layout::channels_last(4) : Layout{}; }

std::unique_ptr<backend::Kernel> make_kernel(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  KernelIo io;
  for (int i = 0; i < node.inputs(); ++i) {
    const std::optional<Layout>& present = request.inputs[static_cast<std::size_t>(i)];
    io.inputs.push_back(present && node.node().op->any_layout ? *present
                                                              : natural_layout(node.input_shape(i)));
  }
  for (int o = 0; o < node.outputs(); ++o) io.outputs.push_back(natural_layout(node.output_shape(o)));
  io.in_place = backend::in_place_of_row(node, io);
  const auto& device = static_cast<const StandInDevice&>(*request.device);
  io.workspace_bytes = static_cast<std::size_t>(std::llround(device.asked.workspace_bytes(node)));
  return std::make_unique<StandInKernel>(std::move(io));
}

backend::Decision accept_likely(const KernelRequest& request) {
  if (request.node.node().op == &ops::conv2d_max_pool_op &&
      request.node.dtype() != request.node.input(1).type.dtype)
    return backend::Decision::no("libraries take images and weights of one type");
  const auto& device = static_cast<const StandInDevice&>(*request.device);
  return device.asked.takes(request.node) ? backend::Decision::yes()
                                          : backend::Decision::no("kernels like it were not taken");
}

class GpuStandIn final : public backend::Backend {
 public:
  explicit GpuStandIn(std::shared_ptr<StandInDevice> device) : device_(std::move(device)) {
    for (const graph::OpDef* op : ops::all_ops()) {
      candidates_.push_back({op, "stand-in", accept_likely, make_kernel});
      // The name tells the fusion passes that this kernel is no reason to fuse.
      candidates_.push_back(
          {op, "stand-in_plain", [](const KernelRequest&) { return backend::Decision::yes(); }, make_kernel});
    }
  }
  std::string name() const override { return "stand-in"; }
  std::shared_ptr<backend::Device> device() const override { return device_; }
  const std::vector<backend::Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<backend::Kernel> make_reorder(const graph::TensorType&, const Layout& from,
                                                const Layout& to) const override {
    return std::make_unique<StandInKernel>(KernelIo{{from}, {to}, 0, {}});
  }
  bool executes() const override { return false; }

 private:
  std::shared_ptr<StandInDevice> device_;
  std::vector<backend::Candidate> candidates_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_gpu_stand_in(StandInKernels kernels, double memory_bytes) {
  return std::make_unique<GpuStandIn>(std::make_shared<StandInDevice>(std::move(kernels), memory_bytes));
}

namespace {

// ThreadsForNow makes plans for so many threads, however many this machine has.
class ThreadsForNow {
 public:
  explicit ThreadsForNow(int threads) : before_(thread_count()) {
    if (threads > 0) set_thread_count(threads);
  }
  ~ThreadsForNow() { set_thread_count(before_); }
  ThreadsForNow(const ThreadsForNow&) = delete;
  ThreadsForNow& operator=(const ThreadsForNow&) = delete;

 private:
  int before_;
};

// A build without oneDNN uses its plain loops.
std::unique_ptr<backend::Backend> host_backend(const std::string& name) {
  if (name != "reference")
    if (auto made = backend::make_onednn_backend(); made != nullptr) return made;
  return backend::make_reference_backend();
}

MemoryNeed need_of(const plan::StepPlan& plan) {
  using plan::Region;
  const auto bytes = [&](Region region) { return static_cast<double>(plan.bytes(region)); };
  double workspace = 0;
  for (const plan::Buffer& buffer : plan.buffers)
    if (buffer.workspace) workspace += static_cast<double>(buffer.bytes);
  const auto apart = static_cast<double>(plan.unshared_slab_bytes());
  // Workspace shares the slab with activations, so it counts by its part of it.
  const double slab = bytes(Region::slab), its_part = apart > 0 ? slab * workspace / apart : 0;
  return {.weights = bytes(Region::parameters) + bytes(Region::statistics) + bytes(Region::copies),
          .gradients = bytes(Region::gradients),
          .optimizer = bytes(Region::optimizer_state),
          .activations = bytes(Region::inputs) + bytes(Region::outputs) + slab - its_part,
          .workspace = its_part};
}

// Equal nodes have the same habits, so each is asked once.
class RememberedHabits {
 public:
  RememberedHabits(const KernelHabits& habits, OperandsByName operands)
      : habits_(habits), operands_(std::move(operands)) {}

  bool takes(const graph::NodeView& node) const {
    const auto at = operands_.find(node.node().name);
    return at == operands_.end() || habits_.takes(node.node().op->name, at->second);
  }
  double workspace_bytes(const graph::NodeView& node) {
    const auto at = operands_.find(node.node().name);
    if (at == operands_.end()) return 0;
    const NodeOperands& its = at->second;
    const auto [known, fresh] =
        known_.try_emplace({node.node().op->name, its.place, its.src_bytes, its.dst_bytes, its.weight_bytes});
    if (fresh) known->second = habits_.workspace_bytes(node.node().op->name, its);
    return known->second;
  }

 private:
  const KernelHabits& habits_;
  OperandsByName operands_;
  std::map<std::tuple<std::string, ShapePlace, double, double, double>, double> known_;
};

plan::CompiledStep compile_with_stand_in(const graph::Graph& graph, const JobDescription& job,
                                         const StandInKernels& kernels) {
  const plan::CompileOptions options{.precision = job.precision};
  try {
    return plan::compile(graph, *make_gpu_stand_in(kernels, job.device.memory_bytes), options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
  }
  // A single node alone does not fit, but the size of the need is still of interest.
  return plan::compile(graph, *make_gpu_stand_in(kernels, 0), options);
}

void count_steps(const plan::StepPlan& plan, PlannedStep& planned) {
  std::set<std::string> ops;
  for (const plan::Step& step : plan.steps) {
    if (step.phase == graph::Phase::prepare) continue;
    planned.kernels += 1;
    ops.insert(step.op);
    if (step.category == graph::Category::conv) planned.convolution = 1;
  }
  planned.ops = static_cast<double>(ops.size());
}

}  // namespace

plan::StepPlan plan_all_fused(const graph::Graph& graph, backend::Precision precision) {
  const StandInKernels all{[](const graph::NodeView&) { return true; },
                           [](const graph::NodeView&) { return 0.0; }};
  return plan::compile(graph, *make_gpu_stand_in(all, 0), {.precision = precision}).plan;
}

PlannedStep plan_step(const JobDescription& job, const Planner& planner) {
  const networks::Model model = training_model(work_options(job));
  PlannedStep planned;
  std::set<std::pair<std::string, ShapePlace>> different;
  for (const KernelShape& shape : step_shapes(model.graph, job.precision).shapes)
    different.insert({shape.kind, shape.place});
  planned.shapes = static_cast<double>(different.size());
  plan::StepPlan plan;
  if (planner.on_host()) {
    const ThreadsForNow threads(planner.threads);
    plan = plan::compile(model.graph, *host_backend(planner.backend), {.precision = job.precision}).plan;
  } else {
    RememberedHabits habits(planner.habits, operands_by_name(model.graph, job.precision));
    plan = compile_with_stand_in(model.graph, job,
                                 {[&](const graph::NodeView& node) { return habits.takes(node); },
                                  [&](const graph::NodeView& node) { return habits.workspace_bytes(node); }})
               .plan;
  }
  planned.need = need_of(plan);
  count_steps(plan, planned);
  return planned;
}

}  // namespace trainyard::predict
