#include "train/deployment.h"

#include <array>

#include "base/cores.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "train/thread_limit.h"

namespace trainyard::train {
namespace {

constexpr std::array kStrategies{Strategy::single, Strategy::towers_device, Strategy::towers_host,
                                 Strategy::allreduce, Strategy::independent};

}  // namespace

const char* name(Strategy strategy) {
  switch (strategy) {
    case Strategy::single:
      return "single";
    case Strategy::towers_device:
      return "towers-device";
    case Strategy::towers_host:
      return "towers-host";
    case Strategy::allreduce:
      return "allreduce";
    case Strategy::independent:
      return "independent";
    case Strategy::servers:
      return "servers";
  }
  return "?";
}

const char* name(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Strategy strategy : kStrategies) names.emplace_back(name(strategy));
  return names;
}

std::optional<Strategy> find_strategy(const std::string& wanted) {
  for (const Strategy strategy : kStrategies)
    if (wanted == name(strategy)) return strategy;
  return std::nullopt;
}

std::optional<Scaling> find_scaling(const std::string& wanted) {
  for (const Scaling scaling : {Scaling::weak, Scaling::strong})
    if (wanted == name(scaling)) return scaling;
  return std::nullopt;
}

std::int64_t Deployment::batch_per_device(std::int64_t batch) const {
  TRAINYARD_CHECK(scaling == Scaling::weak || batch % devices == 0);
  return scaling == Scaling::weak ? batch : batch / devices;
}

std::int64_t Deployment::global_batch(std::int64_t batch) const { return batch_per_device(batch) * devices; }

std::vector<std::vector<int>> share_cores(int threads, int devices) {
  const auto most = static_cast<int>(process_cores().size());
  if (devices > most)
    fail(ErrorKind::usage, "--devices {}: each wants a core of its own, this process may use {}", devices,
         most);
  if (threads % devices != 0)
    fail(ErrorKind::usage, "--threads {}: cannot be shared equally by {} devices", threads, devices);
  const int each = threads == 0 ? pool_limit(most / devices) : threads / devices;
  if (threads > most || threads < 0) cores_for(threads);  // refuses
  if (each > pool_limit(most)) fail(ErrorKind::usage, "--threads {}: built without OpenMP", threads);
  std::vector<std::vector<int>> shares;
  for (int device = 0; device < devices; ++device) {
    const auto first = process_cores().begin() + device * each;
    shares.emplace_back(first, first + each);
  }
  return shares;
}

std::uint64_t device_seed(std::uint64_t seed, int device) {
  return device == 0 ? seed : mix_streams(seed, static_cast<std::uint64_t>(device));
}

}  // namespace trainyard::train
