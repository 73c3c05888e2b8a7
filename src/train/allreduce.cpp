#include "train/exchange.h"

namespace trainyard::train {
namespace {

class AllReduce final : public Exchange {
 public:
  explicit AllReduce(const Devices& devices) : devices_(devices) {}

  void fetch(int) override {}

  void update(int device, const backend::StepContext& context) override {
    engine::Executor& executor = devices_.sessions[static_cast<std::size_t>(device)]->executor();
    devices_.group.all_reduce_mean(device, executor.floats(plan::Region::gradients));
    executor.run_update(context);
  }

  Session& keeper() override { return *devices_.sessions.front(); }

 private:
  Devices devices_;
};

}  // namespace

std::unique_ptr<Exchange> make_allreduce(const Devices& devices) {
  return std::make_unique<AllReduce>(devices);
}

}  // namespace trainyard::train
