#pragma once

#include "backend/flat_update.h"
#include "ps/shard.h"

namespace trainyard::train {

// How a server moves its shard: parameters by the optimizer, as every other run does, bit for bit; running
// statistics, which lie behind the parameters, become what the workers say.
class ServerUpdate final : public ps::Updater {
 public:
  // `parameters`: how many of all elements are parameters; the rest are statistics.
  ServerUpdate(const ops::UpdateAttrs& attrs, const std::vector<ps::Key>& keys, int server,
               std::int64_t parameters);

  void apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
             int summed) override;
  float rate(std::int64_t step) const override;
  int slots() const override { return update_.slots(); }

 private:
  ops::UpdateAttrs attrs_;
  backend::FlatUpdate update_;
  std::int64_t parameters_ = 0;  // of the shard
};

}  // namespace trainyard::train
