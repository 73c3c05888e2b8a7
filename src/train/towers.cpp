#include "engine/region_memory.h"
#include "train/exchange.h"

namespace trainyard::train {
namespace {

using comm::collective::copy_floats;
using plan::Region;

class TowersOnDevice final : public Exchange {
 public:
  explicit TowersOnDevice(const Devices& devices) : devices_(devices) {}

  void fetch(int device) override { devices_.group.broadcast(device, 0, floats(device, Region::parameters)); }

  void update(int device, const backend::StepContext& context) override {
    devices_.group.reduce_mean(device, 0, floats(device, Region::gradients));
    if (device == 0) keeper().executor().run_update(context);
  }

  Session& keeper() override { return *devices_.sessions.front(); }

 private:
  std::span<float> floats(int device, Region region) const {
    return devices_.sessions[static_cast<std::size_t>(device)]->executor().floats(region);
  }

  Devices devices_;
};

// The host is one more session, whose gradients nobody computes: its activations never become memory.
class TowersOnHost final : public Exchange {
 public:
  explicit TowersOnHost(const Devices& devices)
      : devices_(devices), host_(devices.sessions.front()->options()) {
    const std::size_t bytes = host_.executor().plan().bytes(Region::gradients);
    for (std::size_t device = 0; device < devices.sessions.size(); ++device) {
      memory_.emplace_back(bytes);
      received_.emplace_back(reinterpret_cast<float*>(memory_.back().data()), bytes / sizeof(float));
    }
  }

  // The update before was done when device 0's thread ended its step.
  void fetch(int device) override {
    copy_floats(host_.executor().floats(Region::parameters), floats(device, Region::parameters));
  }

  void update(int device, const backend::StepContext& context) override {
    copy_floats(floats(device, Region::gradients), received_[static_cast<std::size_t>(device)]);
    devices_.group.barrier();
    if (device != 0) return;
    comm::collective::mean_in_order(received_, host_.executor().floats(Region::gradients));
    host_.executor().run_update(context);
    // Running statistics are no parameters: they stay on the devices, and device 0's are the ones that count.
    copy_floats(floats(0, Region::statistics), host_.executor().floats(Region::statistics));
  }

  Session& keeper() override { return host_; }

 private:
  std::span<float> floats(int device, Region region) const {
    return devices_.sessions[static_cast<std::size_t>(device)]->executor().floats(region);
  }

  Devices devices_;
  Session host_;
  std::vector<engine::RegionMemory> memory_;
  std::vector<std::span<float>> received_;  // the gradients of each device
};

}  // namespace

std::unique_ptr<Exchange> make_towers_on_device(const Devices& devices) {
  return std::make_unique<TowersOnDevice>(devices);
}

std::unique_ptr<Exchange> make_towers_on_host(const Devices& devices) {
  return std::make_unique<TowersOnHost>(devices);
}

}  // namespace trainyard::train
