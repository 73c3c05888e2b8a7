#include "train/exchange/exchange.h"

namespace trainyard::train {

namespace {

using comm::collective::copy_floats;
using plan::Region;

class TowersOnDevice final : public Exchange {
 public:
  explicit TowersOnDevice(const Devices& devices) : devices_(devices) {}

  std::optional<std::int64_t> fetch(int device, std::int64_t step) override {
    devices_.group.broadcast(device, 0, floats(device, Region::parameters));
    return step;
  }

  void gradients(int device, const backend::StepContext& context) override {
    devices_.sessions[static_cast<std::size_t>(device)]->executor().run_gradients(context);
  }

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

SessionOptions with_optimizer(SessionOptions options) {
  options.optimizer_state = true;
  options.limit_bytes = 0;
  return options;
}

// The host is one more session, whose gradients nobody computes: its activations never become memory.
class TowersOnHost final : public Exchange {
 public:
  explicit TowersOnHost(const Devices& devices)
      : devices_(devices), host_(with_optimizer(devices.sessions.front()->options())) {
    const std::size_t count = devices.sessions.size(), length = host_gradients().size();
    for (std::size_t part = 0; part < count; ++part) {
      const std::size_t begin = length * part / count, end = length * (part + 1) / count;
      parts_.push_back({host_gradients().subspan(begin, end - begin), {}});
      for (Session* session : devices.sessions)
        parts_.back().sent.push_back(
            session->executor().floats(Region::gradients).subspan(begin, end - begin));
    }
  }

  // The update before was done when device 0's thread ended its step.
  std::optional<std::int64_t> fetch(int device, std::int64_t step) override {
    copy_floats(host_.executor().floats(Region::parameters), floats(device, Region::parameters));
    return step;
  }

  void gradients(int device, const backend::StepContext& context) override {
    devices_.sessions[static_cast<std::size_t>(device)]->executor().run_gradients(context);
  }

  void update(int device, const backend::StepContext& context) override {
    const Part& part = parts_[static_cast<std::size_t>(device)];
    devices_.group.barrier();
    comm::collective::mean_in_order(part.sent, part.mean);
    devices_.group.barrier();
    if (device != 0) return;
    host_.executor().run_update(context);
    // Running statistics are no parameters: they stay on the devices, and device 0's are the ones that count.
    copy_floats(floats(0, Region::statistics), host_.executor().floats(Region::statistics));
  }

  Session& keeper() override { return host_; }

 private:
  // A Part is a slice of the gradients, which one device's cores average for the host: they are the host's
  // cores, too.
  struct Part {
    std::span<float> mean;               // in the host's memory
    std::vector<std::span<float>> sent;  // on each device
  };

  std::span<float> host_gradients() { return host_.executor().floats(Region::gradients); }
  std::span<float> floats(int device, Region region) const {
    return devices_.sessions[static_cast<std::size_t>(device)]->executor().floats(region);
  }

  Devices devices_;
  Session host_;
  std::vector<Part> parts_;  // one a device
};

}  // namespace

std::unique_ptr<Exchange> make_towers_on_device(const Devices& devices) {
  return std::make_unique<TowersOnDevice>(devices);
}

std::unique_ptr<Exchange> make_towers_on_host(const Devices& devices) {
  return std::make_unique<TowersOnHost>(devices);
}

}  // namespace trainyard::train
