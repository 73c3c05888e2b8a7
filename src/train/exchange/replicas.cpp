#include "train/exchange/replicas.h"

#include "base/cores.h"
#include "process/stop_request.h"

namespace trainyard::train {
namespace {

using comm::collective::Collective;
using plan::Region;

bool exchanges(Strategy strategy) {
  return strategy != Strategy::single && strategy != Strategy::independent;
}

bool keeps_optimizer(Strategy strategy, int device) {
  switch (strategy) {
    case Strategy::towers_device:
      return device == 0;
    case Strategy::towers_host:
    case Strategy::servers:
      return false;
    default:
      return true;
  }
}

// Flat copies and sums between devices mean the same tensors only if all plans agree on every offset.
// Slabs may differ: with a limit, a device that keeps no optimizer state computes less again.
void check_same_offsets(const plan::StepPlan& a, const plan::StepPlan& b) {
  const auto lasting = [](const plan::StepPlan& plan) {
    std::vector<plan::Buffer> buffers = plan.buffers;
    std::erase_if(buffers, [](const plan::Buffer& buffer) { return buffer.region == Region::slab; });
    return buffers;
  };
  const std::vector<plan::Buffer> of_a = lasting(a), of_b = lasting(b);
  TRAINYARD_CHECK(of_a.size() == of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const plan::Buffer &x = of_a[i], &y = of_b[i];
    TRAINYARD_CHECK(x.name == y.name && x.region == y.region && x.layout == y.layout);
    TRAINYARD_CHECK(x.offset == y.offset && x.bytes == y.bytes);
  }
}

std::unique_ptr<Exchange> make_exchange(Strategy strategy, const Devices& devices,
                                        const std::vector<Collective*>& ranks) {
  switch (strategy) {
    case Strategy::towers_device:
      return make_towers_on_device(devices);
    case Strategy::towers_host:
      return make_towers_on_host(devices);
    case Strategy::allreduce:
      return make_allreduce(devices.sessions, ranks);
    case Strategy::single:
    case Strategy::independent:
    case Strategy::servers:
      break;
  }
  return nullptr;
}

}  // namespace

Replicas::Replicas(const SessionOptions& options, const Deployment& deployment, Collective* ranks)
    : deployment_(deployment),
      seed_(options.seed),
      ranks_(ranks),
      threads_(ranks == nullptr ? deployment.devices : 1),
      group_(here()),
      sessions_(static_cast<std::size_t>(here())),
      images_(static_cast<std::size_t>(here())),
      mean_losses_(static_cast<std::size_t>(here())),
      step_body_([this](int device) {
        try {
          images_[static_cast<std::size_t>(device)] = take_part(device, step_, *feed_);
        } catch (...) {
          group_.abort();
          throw;
        }
      }) {
  if (options.device.is_gpu() && here() > 1)
    fail(ErrorKind::unsupported, "{} {}: on '{}' a process has one device so far", Setting{"devices"},
         deployment.devices, options.device.to_string());
  TRAINYARD_CHECK(ranks == nullptr ||
                  (ranks->size() == deployment.devices && deployment.strategy == Strategy::allreduce));
  SessionOptions wanted = options;
  std::vector<std::vector<int>> cores{options.cores};
  if (ranks != nullptr) {
    const RankPlace place = find_place(*ranks, options.threads);
    cores = {place.cores};
    nodes_ = place.nodes;
    pin_all_threads(place.cores);  // MPI's own came before we knew
    wanted.device = options.device.of_rank(place.on_machine);
  } else if (options.cores.empty()) {
    cores = share_cores(options.threads, size());
  }
  TRAINYARD_CHECK(cores.size() == sessions_.size());
  run([&](int device) {
    SessionOptions own = wanted;
    own.cores = cores[static_cast<std::size_t>(device)];
    own.sessions = here();
    own.keep_gradients = exchanges(deployment_.strategy) || deployment_.micro_batches > 1;
    own.micro_batches = deployment_.micro_batches;
    own.optimizer_state = keeps_optimizer(deployment_.strategy, device);
    if (deployment_.strategy == Strategy::independent) own.seed = device_seed(options.seed, device);
    sessions_[static_cast<std::size_t>(device)] = std::make_unique<Session>(own);
  });
  connect();
}

Replicas::~Replicas() = default;

void Replicas::connect() {
  Devices devices{{}, group_};
  std::vector<Collective*> members;
  for (int device = 0; device < here(); ++device) {
    check_same_offsets(session(device).executor().plan(), session(0).executor().plan());
    devices.sessions.push_back(&session(device));
    members_.push_back(std::make_unique<comm::collective::LocalRank>(group_, device));
    members.push_back(members_.back().get());
  }
  if (ranks_ != nullptr) {
    state_ranks_ = ranks_;
    if (const backend::Device& device = session(0).executor().device(); !device.is_host()) {
      members_.front() = comm::collective::join_nccl(*ranks_, session(0).options().device.gpu());
      state_ranks_ = members_.front().get();
    }
    members = {state_ranks_};
    collective_ = state_ranks_->name();
  }
  exchange_ = make_exchange(deployment_.strategy, devices, members);
}

RunFacts Replicas::facts() const {
  const Session& first = *sessions_.front();
  return {first.backend().name(),
          first.options().threads * size(),
          first.parameters(),
          first.work_per_step().flops * size(),
          first.work_per_step().bytes_moved * size(),
          static_cast<std::int64_t>(first.plan_bytes()),
          first.device_bytes(),
          deployment_.strategy == Strategy::allreduce ? collective_ : "",
          ranks_ == nullptr ? 1 : ranks_->size(),
          nodes_,
          static_cast<std::int64_t>(first.executor().plan().limit_bytes),
          static_cast<std::int64_t>(first.executor().plan().unlimited_bytes),
          first.recomputed_per_step().flops * size(),
          first.recomputed_per_step().bytes_moved * size(),
          first.frozen_parameters()};
}

void Replicas::spread(std::span<std::byte> bytes) {
  if (ranks_ != nullptr) ranks_->broadcast(0, bytes);
}

void Replicas::spread_state() {
  if (ranks_ != nullptr) {
    session(0).executor().device().wait();
    for (const Region region : {Region::parameters, Region::optimizer_state, Region::statistics})
      state_ranks_->broadcast(0, session(0).numbers(region));
    return;
  }
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
  const bool plain = tracer_ != nullptr && tracer_->kind(step) == StepTracer::Kind::plain;
  const double began = plain ? now_seconds() : 0;
  run(step_body_);
  const std::int64_t images = std::accumulate(images_.begin(), images_.end(), std::int64_t{0});
  if (plain && images > 0) tracer_->note_plain(0, step, began, now_seconds());
  loss_ = local_loss();
  return ranks_ == nullptr ? images : agree(images);
}

// Gives every rank the same values at the end of a step. A rank that was asked to stop goes on until all
// know.
std::int64_t Replicas::agree(std::int64_t images) {
  std::array<float, 3> means{loss_, static_cast<float>(images), process::StopRequest::asked() ? 1.0f : 0.0f};
  ranks_->all_reduce_mean(means);
  loss_ = means[0];
  stop_agreed_ = means[2] > 0;
  return std::llround(means[1] * static_cast<float>(size()));
}

bool Replicas::stop_agreed() const {
  return ranks_ == nullptr ? process::StopRequest::asked() : stop_agreed_;
}

void Replicas::trace(StepTracer* tracer, const char* title, int first) {
  tracer_ = tracer;
  for (int device = 0; tracer != nullptr && device < here(); ++device)
    tracer->add_device(
        fmt::format("{} {} ({})", title, first + first_here() + device, session(0).backend().name()),
        session(device).executor());
}

namespace {

// While it lives, a watcher is told of an executor's kernels.
class Watched {
 public:
  Watched(engine::Executor& executor, const engine::Executor::Watch& watch) : executor_(executor) {
    if (executor_.on_host()) executor_.watch(&watch);
  }
  ~Watched() {
    if (executor_.on_host()) executor_.watch(nullptr);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  engine::Executor& executor_;
};

}  // namespace

std::int64_t Replicas::take_noted_part(int device, std::int64_t step, const Feed& feed) {
  engine::Executor& executor = session(device).executor();
  StepTracer::Notes& notes = tracer_->notes(device);
  const Watched watched(executor, notes.watch);
  // Its kernels are those of the devices' plans, and run in this thread.
  std::optional<Watched> keeper_watched;
  if (device == 0 && &keeper() != &session(0)) keeper_watched.emplace(keeper().executor(), notes.watch);
  const bool by_servers = deployment_.strategy == Strategy::servers;
  tracer_->begin(device, step);
  std::optional<std::int64_t> batch = step;
  if (exchange_ != nullptr) {
    batch = exchange_->fetch(device, step);
    if (!batch) return 0;
    notes.fetched = now_seconds();
    notes.from_servers = by_servers;
  }
  std::int64_t images = 0;
  if (runs_whole_steps()) {
    images = feed(device, *batch);
    notes.fed = now_seconds();
    executor.run(context_of(device, *batch));
  } else {
    bool first = true;
    images = make_gradients(device, *batch, [&](int fed_device, std::int64_t number) {
      const std::int64_t count = feed(fed_device, number);
      if (std::exchange(first, false)) notes.fed = now_seconds();
      return count;
    });
    executor.device().wait();
    // Servers get theirs beside the backward pass.
    if (exchange_ != nullptr && !by_servers) notes.exchanging_from = now_seconds();
    update(device, *batch);
  }
  executor.device().wait();
  notes.ended = now_seconds();
  tracer_->end(device);
  return images;
}

std::int64_t Replicas::take_part(int device, std::int64_t step, const Feed& feed) {
  if (tracer_ != nullptr && tracer_->kind(step) == StepTracer::Kind::traced)
    return take_noted_part(device, step, feed);
  if (runs_whole_steps()) {
    const std::int64_t images = feed(device, step);
    session(device).executor().run(context_of(device, step));
    return images;
  }
  const std::optional<std::int64_t> batch = exchange_ == nullptr ? step : exchange_->fetch(device, step);
  if (!batch) return 0;
  const std::int64_t images = make_gradients(device, *batch, feed);
  update(device, *batch);
  return images;
}

std::int64_t Replicas::make_gradients(int device, std::int64_t batch, const Feed& feed) {
  const int count = deployment_.micro_batches;
  std::int64_t images = 0;
  double losses = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t number = batch * count + i;
    images += feed(device, number);
    if (exchange_ != nullptr && i + 1 == count)
      exchange_->gradients(device, context_of(device, number));
    else
      session(device).executor().run_gradients(context_of(device, number));
    if (count > 1) losses += session(device).loss();
  }
  mean_losses_[static_cast<std::size_t>(device)] = static_cast<float>(losses / count);
  return images;
}

void Replicas::update(int device, std::int64_t step) {
  if (exchange_ != nullptr) return exchange_->update(device, context_of(device, step));
  session(device).executor().run_update(context_of(device, step));
}

float Replicas::loss_of(int device) const {
  const auto index = static_cast<std::size_t>(device);
  return deployment_.micro_batches > 1 ? mean_losses_[index] : sessions_[index]->loss();
}

float Replicas::local_loss() const {
  double sum = 0;
  for (int device = 0; device < here(); ++device) sum += loss_of(device);
  return static_cast<float>(sum / here());
}

int Replicas::diverged_device() const {
  if (ranks_ != nullptr) return std::isfinite(loss_) ? -1 : 0;
  for (int device = 0; device < here(); ++device)
    if (!std::isfinite(loss_of(device))) return device;
  return -1;
}

}  // namespace trainyard::train
