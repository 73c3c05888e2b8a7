#include "engine/executor.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "engine/plain_order.h"

namespace trainyard::engine {

using backend::DeviceMemory;
using backend::StepContext;
using backend::StepMark;

struct Executor::Counter {
  explicit Counter(const std::shared_ptr<backend::Device>& device)
      : context_memory(device, 2 * sizeof(StepContext)), mark_memory(device, kMarks * sizeof(StepMark)) {}

  // Late steps have a counter of their own: the others may be in the next training step already.
  StepContext* context(bool late = false) const {
    return reinterpret_cast<StepContext*>(context_memory.data()) + (late ? 1 : 0);
  }
  StepMark* marks() const { return reinterpret_cast<StepMark*>(mark_memory.data()); }

  DeviceMemory context_memory, mark_memory;
  StepContext next{0, -1};  // what the device will do next if it is only started again
  const float* loss = nullptr;
  std::unique_ptr<backend::Recording> one, many, gradients;
  std::unique_ptr<backend::Timeline> watched;
  std::vector<std::size_t> watched_kernels;  // of the plan, in the order of the timeline
};

Executor::Executor(plan::CompiledStep step, const Regions& borrowed)
    : step_(std::move(step)), gradient_schedule_(step_) {
  if (!on_host()) counter_ = std::make_unique<Counter>(step_.device);
  for (std::size_t r = 0; r < plan::kRegions; ++r) {
    if (borrowed[r] == nullptr) owned_[r] = DeviceMemory(step_.device, step_.plan.region_bytes[r]);
    regions_[r] = borrowed[r] != nullptr ? borrowed[r] : owned_[r].data();
  }
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    bind(s);
    if (step_.plan.steps[s].is_update()) has_update_ = true;
  }
}

Executor::~Executor() {
  if (on_host()) return;
  try {
    step_.device->wait();  // nothing may still run in memory that is given back now
  } catch (...) {
    // The starter of the run learns of the error elsewhere; a destructor cannot report it.
  }
}

bool Executor::prepares(std::size_t s) const { return step_.plan.steps[s].phase == graph::Phase::prepare; }

// Computes the values that depend on parameters that were changed from outside.
void Executor::prepare(const StepContext& context) {
  for (std::size_t s = 0; s < step_.kernels.size(); ++s)
    if (stale_ && prepares(s)) step_.kernels[s]->run(context);
  stale_ = false;
}

void Executor::bind(std::size_t s) {
  const plan::Step& planned = step_.plan.steps[s];
  backend::Binding binding;
  for (const int id : planned.inputs) binding.inputs.push_back(data(id));
  for (const int id : planned.outputs) binding.outputs.push_back(data(id));
  if (planned.workspace >= 0) binding.workspace = data(planned.workspace);
  if (counter_ != nullptr) binding.context = counter_->context(planned.late);
  binding.late = planned.late;
  step_.kernels[s]->bind(binding);
}

void Executor::set_prologue(std::unique_ptr<backend::Kernel> kernel, backend::Binding binding,
                            std::vector<DeviceMemory> kept) {
  if (counter_ != nullptr) binding.context = counter_->context();
  kernel->bind(binding);
  prologue_ = std::move(kernel);
  prologue_memory_ = std::move(kept);
}

std::span<float> Executor::floats(plan::Region region) const {
  TRAINYARD_CHECK(on_host());
  return {reinterpret_cast<float*>(this->region(region)), step_.plan.bytes(region) / sizeof(float)};
}

std::byte* Executor::data(int buffer) const {
  return data(step_.plan.buffers[static_cast<std::size_t>(buffer)]);
}

void Executor::run(const StepContext& context) {
  TRAINYARD_CHECK(thread_count() == step_.plan.threads);
  if (!on_host()) return run_steps(context, 1);
  prepare(context);
  enqueue_step(context);
}

void Executor::enqueue_step(const StepContext& context) {
  if (prologue_ != nullptr) prologue_->run(context);
  for (std::size_t s = 0; s < step_.kernels.size(); ++s)
    if (!prepares(s)) run_kernel(s, context);
}

void Executor::run_kernel(std::size_t s, const StepContext& context) {
  if (watch_ == nullptr) return step_.kernels[s]->run(context);
  const double began = now_seconds();
  step_.kernels[s]->run(context);
  (*watch_)(s, began, now_seconds());
}

void Executor::watch(const Watch* watch) {
  TRAINYARD_CHECK(on_host());
  watch_ = watch;
}

void Executor::prepare_watched(const StepContext& context) {
  TRAINYARD_CHECK(counter_ != nullptr);
  set_counter(context);
  prepare(context);
  if (counter_->watched != nullptr) return;
  backend::Device::Works works;
  const auto add = [&](std::size_t number, std::function<void()> work) {
    counter_->watched_kernels.push_back(number);
    works.push_back(std::move(work));
  };
  if (prologue_ != nullptr) add(kPrologue, [this] { prologue_->run(counter_->next); });
  bool any_late = false;
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    if (prepares(s)) continue;
    add(s, [this, s] { step_.kernels[s]->run(counter_->next); });
    any_late = any_late || step_.plan.steps[s].late;
  }
  works.emplace_back([this, any_late] {
    if (any_late) step_.device->count_step(counter_->context(true));
    step_.device->mark_step(counter_->context(), counter_->loss, counter_->marks(), kMarks);
  });
  counter_->watched = step_.device->make_timeline(works);
}

void Executor::run_watched(const StepContext& context, const Watch& watch) {
  prepare_watched(context);
  const std::vector<double> moments = counter_->watched->run();
  ++counter_->next.step;
  for (std::size_t i = 0; i < counter_->watched_kernels.size(); ++i)
    watch(counter_->watched_kernels[i], moments[i], moments[i + 1]);
}

// Enqueues steps beside each other where the plan allows it; `marks` are those of the training step before,
// or none.
void Executor::enqueue_lanes(const StepContext& context, std::vector<int>& marks) {
  backend::Device& device = *step_.device;
  if (prologue_ != nullptr) prologue_->run(context);
  const int start = device.mark_lane();
  std::vector<bool> begun(static_cast<std::size_t>(device.lanes()), false);
  begun[0] = true;
  const std::vector<int> before = std::exchange(marks, std::vector<int>(step_.kernels.size()));
  bool any_late = false;
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    const plan::Step& planned = step_.plan.steps[s];
    if (prepares(s)) continue;
    const auto lane = static_cast<std::size_t>(planned.lane);
    device.use_lane(planned.lane);
    if (!begun[lane]) device.wait_for_mark(start);
    begun[lane] = true;
    for (const int other : planned.waits_for) device.wait_for_mark(marks[static_cast<std::size_t>(other)]);
    if (planned.waits_for_late >= 0 && !before.empty())
      device.wait_for_mark(before[static_cast<std::size_t>(planned.waits_for_late)]);
    step_.kernels[s]->run(context);
    marks[s] = device.mark_lane();
    any_late = any_late || planned.late;
  }
  if (any_late) {
    device.use_lane(device.lanes() - 1);
    device.count_step(counter_->context(true));
  }
  device.join_lanes(any_late ? device.lanes() - 1 : device.lanes());
}

void Executor::run_gradients(const StepContext& context, const Ready& ready) {
  TRAINYARD_CHECK(thread_count() == step_.plan.threads && has_update_ && gradient_schedule_.complete());
  TRAINYARD_CHECK(ready == nullptr || on_host());
  set_counter(context);
  prepare(context);
  backward_began_ = 0;
  if (on_host()) return enqueue_gradients(context, ready);
  std::unique_ptr<backend::Recording>& recording = counter_->gradients;
  if (recording == nullptr) recording = step_.device->record([&] { enqueue_gradients(context, nullptr); });
  recording != nullptr ? recording->launch() : enqueue_gradients(context, nullptr);
}

void Executor::enqueue_gradients(const StepContext& context, const Ready& ready) {
  if (prologue_ != nullptr) prologue_->run(context);
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    const plan::Step& planned = step_.plan.steps[s];
    if (planned.is_update() || prepares(s)) continue;
    if (planned.phase == graph::Phase::backward && backward_began_ == 0) backward_began_ = now_seconds();
    run_kernel(s, context);
    if (ready == nullptr) continue;
    for (const Stretch& stretch : gradient_schedule_.after(s)) ready(stretch.first, stretch.elements);
  }
}

void Executor::run_update(const StepContext& context) {
  TRAINYARD_CHECK(thread_count() == step_.plan.threads && has_update_);
  set_counter(context);
  for (std::size_t s = 0; s < step_.kernels.size(); ++s)
    if (step_.plan.steps[s].is_update()) run_kernel(s, context);
}

std::size_t Executor::run_timed(const StepContext& context, std::vector<double>& kernel_seconds,
                                const std::function<bool()>& stop) {
  kernel_seconds.resize(step_.kernels.size());
  set_counter(context);
  prepare(context);
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    if (stop != nullptr && stop()) return s;
    const auto run = [&] { step_.kernels[s]->run(context); };
    // A launch by the host takes longer than many a kernel.
    kernel_seconds[s] += on_host() ? step_.device->time(run) : backend::measure_seconds(*step_.device, run);
  }
  return step_.kernels.size();
}

void Executor::set_counter(const StepContext& context) {
  if (counter_ == nullptr) return;
  StepContext& next = counter_->next;
  if (next.seed != context.seed || next.step != context.step) {
    const std::array both{context, context};
    step_.device->write(counter_->context_memory.data(), both.data(), sizeof both);
    next = context;
  }
}

void Executor::enqueue_steps(std::int64_t steps) {
  std::vector<int> marks;
  for (std::int64_t i = 0; i < steps; ++i) {
    enqueue_lanes(counter_->next, marks);
    if (i + 1 == steps) step_.device->join_lanes(step_.device->lanes());
    step_.device->mark_step(counter_->context(), counter_->loss, counter_->marks(), kMarks);
  }
}

// Returns the recording of one step, or of kStepsPerLaunch; null when this device records nothing.
backend::Recording* Executor::recorded(std::int64_t steps) {
  std::unique_ptr<backend::Recording>& recording = steps == 1 ? counter_->one : counter_->many;
  if (recording == nullptr) recording = step_.device->record([&] { enqueue_steps(steps); });
  return recording.get();
}

// The device advances its own step count; `counter_` follows it.
void Executor::launch(std::int64_t steps) {
  if (backend::Recording* recording = recorded(steps); recording != nullptr)
    recording->launch();
  else
    enqueue_steps(steps);
  counter_->next.step += steps;
}

void Executor::prepare_steps(const StepContext& first, std::int64_t count) {
  TRAINYARD_CHECK(counter_ != nullptr);
  set_counter(first);
  prepare(first);
  if (count >= kStepsPerLaunch) recorded(kStepsPerLaunch);
  if (count % kStepsPerLaunch != 0) recorded(1);
}

void Executor::run_steps(const StepContext& first, std::int64_t count) {
  prepare_steps(first, count);
  while (count > 0) {
    const std::int64_t steps = count >= kStepsPerLaunch ? kStepsPerLaunch : 1;
    launch(steps);
    count -= steps;
  }
}

std::vector<StepMark> Executor::marks(std::int64_t count) {
  TRAINYARD_CHECK(counter_ != nullptr && count <= kMarks && count <= counter_->next.step);
  std::vector<StepMark> ring(static_cast<std::size_t>(kMarks)), found;
  step_.device->read(counter_->mark_memory.data(), ring.data(), ring.size() * sizeof(StepMark));
  for (std::int64_t step = counter_->next.step - count; step < counter_->next.step; ++step)
    found.push_back(ring[static_cast<std::size_t>(step % kMarks)]);
  return found;
}

void Executor::mark_loss(const std::string& value_name) {
  if (counter_ != nullptr) counter_->loss = reinterpret_cast<const float*>(data(persistent(value_name)));
}

const plan::Buffer& Executor::persistent(const std::string& value_name) const {
  const int id = step_.plan.find_buffer(value_name);
  if (id < 0) fail(ErrorKind::internal, "the plan keeps no value '{}'", value_name);
  return step_.plan.buffers[static_cast<std::size_t>(id)];
}

void Executor::look(const plan::Buffer& buffer, const std::function<void(const std::byte*)>& see) const {
  if (on_host()) return see(data(buffer));
  const AlignedBuffer copy(buffer.bytes);
  step_.device->read(data(buffer), copy.data(), buffer.bytes);
  see(copy.data());
}

void Executor::edit(const plan::Buffer& buffer, const std::function<void(std::byte*)>& change) {
  stale_ = true;
  if (on_host()) return change(data(buffer));
  const AlignedBuffer copy(buffer.bytes);
  step_.device->read(data(buffer), copy.data(), buffer.bytes);
  change(copy.data());
  step_.device->write(data(buffer), copy.data(), buffer.bytes);
}

void Executor::make(const plan::Buffer& buffer, const std::function<void(std::byte*)>& make,
                    AlignedBuffer& staging) {
  stale_ = true;
  if (on_host()) return make(data(buffer));
  if (staging.bytes() < buffer.bytes) staging = AlignedBuffer(buffer.bytes);
  // Blocked layouts have padding that belongs to no element.
  if (!buffer.layout.is_plain()) std::fill_n(staging.data(), buffer.bytes, std::byte{0});
  make(staging.data());
  step_.device->write(data(buffer), staging.data(), buffer.bytes);
}

void Executor::clear(const plan::Buffer& buffer) {
  stale_ = true;
  step_.device->clear(data(buffer), buffer.bytes);
}

HostTensor Executor::read(const std::string& value_name) const {
  const plan::Buffer& buffer = persistent(value_name);
  HostTensor content(buffer.type.shape, buffer.type.dtype);
  if (buffer.layout.is_plain()) {
    read_plain(value_name, content);
    return content;
  }
  const PlainOrder order(buffer.layout, buffer.type.shape, buffer.type.dtype);
  look(buffer, [&](const std::byte* bytes) { order.gather(bytes, 0, content.elements(), content.data()); });
  return content;
}

void Executor::read_plain(const std::string& value_name, HostTensor& content) const {
  const plan::Buffer& buffer = persistent(value_name);
  TRAINYARD_CHECK(buffer.layout.is_plain() && content.shape() == buffer.type.shape);
  if (content.dtype() == buffer.type.dtype)
    return step_.device->read(data(buffer), content.data(), content.bytes());
  TRAINYARD_CHECK(buffer.type.dtype == DType::bf16 && content.dtype() == DType::f32);
  look(buffer, [&](const std::byte* bytes) {
    const auto* rounded = reinterpret_cast<const BFloat16*>(bytes);
    std::transform(rounded, rounded + content.elements(), content.as<float>().data(),
                   [](BFloat16 number) { return static_cast<float>(number); });
  });
}

void Executor::write(const std::string& value_name, const HostTensor& content) {
  const plan::Buffer& buffer = persistent(value_name);
  TRAINYARD_CHECK(content.elements() == buffer.type.shape.elements() && content.dtype() == buffer.type.dtype);
  if (buffer.region == plan::Region::parameters) stale_ = true;
  if (buffer.layout.is_plain()) return step_.device->write(data(buffer), content.data(), content.bytes());
  const PlainOrder order(buffer.layout, buffer.type.shape, buffer.type.dtype);
  edit(buffer, [&](std::byte* bytes) { order.scatter(content.data(), 0, content.elements(), bytes); });
}

}  // namespace trainyard::engine
