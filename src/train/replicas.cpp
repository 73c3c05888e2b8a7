#include "train/replicas.h"

#include <cmath>
#include <numeric>

namespace trainyard::train {
namespace {

using plan::Region;

bool exchanges(Strategy strategy) {
  return strategy != Strategy::single && strategy != Strategy::independent;
}

bool keeps_optimizer(Strategy strategy, int device) {
  return strategy != Strategy::towers_host && (strategy != Strategy::towers_device || device == 0);
}

// Flat copies and sums between devices mean the same tensors only if all plans agree on every offset.
void check_same_offsets(const plan::StepPlan& a, const plan::StepPlan& b) {
  TRAINYARD_CHECK(a.buffers.size() == b.buffers.size());
  for (std::size_t i = 0; i < a.buffers.size(); ++i) {
    const plan::Buffer &x = a.buffers[i], &y = b.buffers[i];
    TRAINYARD_CHECK(x.name == y.name && x.region == y.region && x.layout == y.layout);
    if (x.region != Region::slab) TRAINYARD_CHECK(x.offset == y.offset && x.bytes == y.bytes);
  }
}

std::unique_ptr<Exchange> make_exchange(Strategy strategy, const Devices& devices) {
  switch (strategy) {
    case Strategy::towers_device:
      return make_towers_on_device(devices);
    case Strategy::towers_host:
      return make_towers_on_host(devices);
    case Strategy::allreduce:
      return make_allreduce(devices);
    case Strategy::single:
    case Strategy::independent:
      break;
  }
  return nullptr;
}

}  // namespace

Replicas::Replicas(const SessionOptions& options, const Deployment& deployment)
    : deployment_(deployment),
      seed_(options.seed),
      threads_(deployment.devices),
      group_(deployment.devices),
      sessions_(static_cast<std::size_t>(deployment.devices)),
      images_(static_cast<std::size_t>(deployment.devices)),
      step_body_([this](int device) {
        try {
          images_[static_cast<std::size_t>(device)] = take_part(device, step_, *feed_);
        } catch (...) {
          group_.abort();
          throw;
        }
      }) {
  if (options.device != "cpu" && deployment.devices > 1)
    fail(ErrorKind::unsupported, "--devices {}: on '{}' a run has one device so far", deployment.devices,
         options.device);
  std::vector<std::vector<int>> cores{options.cores};
  if (options.cores.empty()) cores = share_cores(options.threads, size());
  TRAINYARD_CHECK(cores.size() == sessions_.size());
  run([&](int device) {
    SessionOptions own = options;
    own.cores = cores[static_cast<std::size_t>(device)];
    own.keep_gradients = exchanges(deployment_.strategy);
    own.optimizer_state = keeps_optimizer(deployment_.strategy, device);
    if (deployment_.strategy == Strategy::independent) own.seed = device_seed(options.seed, device);
    sessions_[static_cast<std::size_t>(device)] = std::make_unique<Session>(own);
  });
  Devices devices{{}, group_};
  for (const auto& each : sessions_) {
    check_same_offsets(each->executor().plan(), session(0).executor().plan());
    devices.sessions.push_back(each.get());
  }
  exchange_ = make_exchange(deployment_.strategy, devices);
}

RunFacts Replicas::facts() const {
  const Session& first = *sessions_.front();
  return {first.backend().name(), first.options().threads * size(), first.parameters(),
          first.flops_per_step() * size()};
}

void Replicas::spread_state() {
  run([this](int device) {
    if (&session(device) == &keeper()) return;
    for (const Region region : {Region::parameters, Region::optimizer_state, Region::statistics})
      if (region != Region::optimizer_state || session(device).options().optimizer_state)
        comm::collective::copy_floats(keeper().executor().floats(region),
                                      session(device).executor().floats(region));
  });
}

std::int64_t Replicas::step(std::int64_t step, const Feed& feed) {
  step_ = step;
  feed_ = &feed;
  run(step_body_);
  return std::accumulate(images_.begin(), images_.end(), std::int64_t{0});
}

std::int64_t Replicas::take_part(int device, std::int64_t step, const Feed& feed) {
  engine::Executor& executor = session(device).executor();
  const backend::StepContext context{device_seed(seed_, device), step};
  const std::int64_t images = feed(device);
  if (exchange_ == nullptr) {
    executor.run(context);
  } else {
    exchange_->fetch(device);
    executor.run_gradients(context);
    exchange_->update(device, context);
  }
  return images;
}

float Replicas::loss() const {
  const double sum = std::accumulate(sessions_.begin(), sessions_.end(), 0.0,
                                     [](double so_far, const auto& each) { return so_far + each->loss(); });
  return static_cast<float>(sum / size());
}

int Replicas::diverged_device() const {
  for (int device = 0; device < size(); ++device)
    if (!std::isfinite(sessions_[static_cast<std::size_t>(device)]->loss())) return device;
  return -1;
}

}  // namespace trainyard::train
