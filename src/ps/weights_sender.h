#pragma once

#include "ps/member.h"
#include "ps/shard.h"

namespace trainyard::ps {

// Sends the newest weights of a shard to workers, straight from the version that is the newest.
class WeightsSender {
 public:
  // `bf16`: in 16 bits.
  WeightsSender(const Shard& shard, bool bf16) : shard_(shard), bf16_(bf16) {}

  // From now on the worker may push.
  void send_newest(Member& member);

 private:
  template <typename Number>
  void send(Member& member, std::span<const Number> values, std::int64_t updates, std::function<void()> keep);
  std::shared_ptr<const std::vector<BFloat16>> rounded(const Shard::Version& version);

  const Shard& shard_;
  bool bf16_;
  std::shared_ptr<const std::vector<BFloat16>> rounded_;  // made once for all who get it
  std::int64_t rounded_updates_ = -1;
};

}  // namespace trainyard::ps
