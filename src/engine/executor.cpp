#include "engine/executor.h"

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/parallel.h"

namespace trainyard::engine {

Executor::Executor(plan::CompiledStep step, const Regions& borrowed) : step_(std::move(step)) {
  for (std::size_t r = 0; r < plan::kRegions; ++r) {
    if (borrowed[r] == nullptr) owned_[r] = RegionMemory(step_.plan.region_bytes[r]);
    regions_[r] = borrowed[r] != nullptr ? borrowed[r] : owned_[r].data();
  }
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    const plan::Step& planned = step_.plan.steps[s];
    backend::Binding binding;
    for (const int id : planned.inputs) binding.inputs.push_back(data(id));
    for (const int id : planned.outputs) binding.outputs.push_back(data(id));
    if (planned.workspace >= 0) binding.workspace = data(planned.workspace);
    step_.kernels[s]->bind(binding);
    if (planned.phase != graph::Phase::update || planned.is_reorder()) continue;
    TRAINYARD_CHECK(update_step_ == kNoUpdate);
    update_step_ = s;
  }
}

std::span<float> Executor::floats(plan::Region region) const {
  return {reinterpret_cast<float*>(this->region(region)), step_.plan.bytes(region) / sizeof(float)};
}

std::byte* Executor::data(int buffer) const {
  const plan::Buffer& planned = step_.plan.buffers[static_cast<std::size_t>(buffer)];
  return region(planned.region) + planned.offset;
}

void Executor::run(const backend::StepContext& context) {
  TRAINYARD_CHECK(thread_count() == step_.plan.threads);
  for (const auto& kernel : step_.kernels) kernel->run(context);
}

void Executor::run_gradients(const backend::StepContext& context) {
  TRAINYARD_CHECK(thread_count() == step_.plan.threads && update_step_ != kNoUpdate);
  for (std::size_t s = 0; s < step_.kernels.size(); ++s)
    if (s != update_step_) step_.kernels[s]->run(context);
}

void Executor::run_update(const backend::StepContext& context) {
  TRAINYARD_CHECK(thread_count() == step_.plan.threads && update_step_ != kNoUpdate);
  step_.kernels[update_step_]->run(context);
}

void Executor::run_timed(const backend::StepContext& context, std::vector<double>& kernel_seconds) {
  kernel_seconds.resize(step_.kernels.size());
  double before = now_seconds();
  for (std::size_t s = 0; s < step_.kernels.size(); ++s) {
    step_.kernels[s]->run(context);
    const double after = now_seconds();
    kernel_seconds[s] += after - before;
    before = after;
  }
}

const plan::Buffer& Executor::persistent(const std::string& value_name) const {
  const int id = step_.plan.find_buffer(value_name);
  if (id < 0) fail(ErrorKind::internal, "the plan keeps no value '{}'", value_name);
  return step_.plan.buffers[static_cast<std::size_t>(id)];
}

namespace {

// Calls copy(logical element, physical element) for the whole tensor.
template <typename Copy>
void for_each_element(const plan::Buffer& buffer, const Copy& copy) {
  const LayoutIndex index(buffer.layout, buffer.type.shape);
  const std::int64_t count = buffer.type.shape.elements();
  for (std::int64_t i = 0; i < count; ++i) copy(i, index.offset_of(i));
}

}  // namespace

HostTensor Executor::read(const std::string& value_name) const {
  const plan::Buffer& buffer = persistent(value_name);
  HostTensor content(buffer.type.shape, buffer.type.dtype);
  const std::byte* from = region(buffer.region) + buffer.offset;
  const std::size_t size = size_of(buffer.type.dtype);
  if (buffer.layout.is_plain()) {
    std::memcpy(content.data(), from, content.bytes());
  } else {
    for_each_element(buffer, [&](std::int64_t logical, std::int64_t physical) {
      std::memcpy(content.data() + static_cast<std::size_t>(logical) * size,
                  from + static_cast<std::size_t>(physical) * size, size);
    });
  }
  return content;
}

void Executor::write(const std::string& value_name, const HostTensor& content) {
  const plan::Buffer& buffer = persistent(value_name);
  TRAINYARD_CHECK(content.shape() == buffer.type.shape && content.dtype() == buffer.type.dtype);
  std::byte* to = region(buffer.region) + buffer.offset;
  const std::size_t size = size_of(buffer.type.dtype);
  if (buffer.layout.is_plain()) {
    std::memcpy(to, content.data(), content.bytes());
  } else {
    for_each_element(buffer, [&](std::int64_t logical, std::int64_t physical) {
      std::memcpy(to + static_cast<std::size_t>(physical) * size,
                  content.data() + static_cast<std::size_t>(logical) * size, size);
    });
  }
}

}  // namespace trainyard::engine
