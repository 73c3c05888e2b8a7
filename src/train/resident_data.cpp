#include "train/resident_data.h"

namespace trainyard::train {
namespace {

backend::DeviceMemory copy_of(const HostTensor& content, const std::shared_ptr<backend::Device>& device) {
  backend::DeviceMemory memory(device, content.bytes());
  device->write(memory.data(), content.data(), content.bytes());
  return memory;
}

backend::InputBatch describe(const data::Dataset& dataset, const data::BatchStreamOptions& options) {
  const data::Augment augment(options.preprocess, dataset.image_shape);
  const Shape &in = augment.input(), &out = augment.output();
  return {.order = SampleOrder(options.seed, dataset.size(options.split)),
          .recipe = augment.recipe(),
          .channels = in[0],
          .image = {in[1], in[2]},
          .output = {out[1], out[2]},
          .batch = options.batch,
          .worker = options.worker,
          .workers = options.workers};
}

}  // namespace

bool feed_from_device(Session& session, const data::Dataset& dataset,
                      const data::BatchStreamOptions& options) {
  engine::Executor& executor = session.executor();
  const data::SplitData& split = dataset.split(options.split);
  if (executor.on_host() || split.files != nullptr || options.pass != data::Pass::training) return false;
  auto kernel = session.backend().make_input_batch(describe(dataset, options));
  if (kernel == nullptr) return false;
  const std::shared_ptr<backend::Device> device = session.backend().device();
  std::vector<backend::DeviceMemory> kept;
  kept.push_back(copy_of(split.images, device));
  kept.push_back(copy_of(split.labels, device));
  const auto input = [&](const char* name) { return executor.data(executor.plan().find_buffer(name)); };
  backend::Binding binding{.inputs = {kept[0].data(), kept[1].data()},
                           .outputs = {input(Session::kImages), input(Session::kLabels)}};
  executor.set_prologue(std::move(kernel), std::move(binding), std::move(kept));
  return true;
}

}  // namespace trainyard::train
