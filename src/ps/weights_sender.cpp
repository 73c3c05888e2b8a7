#include "ps/weights_sender.h"

#include <utility>

#include "ps/wire_numbers.h"

namespace trainyard::ps {

void WeightsSender::send_newest(Member& member) {
  const Shard::Version newest = shard_.newest();
  member.released(newest.updates);
  if (bf16_) {
    const auto values = rounded(newest);
    send<BFloat16>(member, *values, newest.updates, [values] {});
  } else {
    send<float>(member, newest.values->values, newest.updates, [values = newest.values] {});
  }
}

template <typename Number>
void WeightsSender::send(Member& member, std::span<const Number> values, std::int64_t updates,
                         std::function<void()> keep) {
  for (const std::uint32_t key : shard_.keys()) {
    const bool last = key == shard_.keys().back();
    member.connection().send({.kind = wire(Kind::weights),
                              .flags = static_cast<std::uint16_t>((bf16_ ? kBf16 : 0) | (last ? kLast : 0)),
                              .epoch = member.epoch(),
                              .key = key,
                              .clock = static_cast<std::uint64_t>(updates)},
                             std::as_bytes(shard_.slice(values, key)),
                             last ? std::move(keep) : std::function<void()>());  // until all of it is sent
  }
}

std::shared_ptr<const std::vector<BFloat16>> WeightsSender::rounded(const Shard::Version& version) {
  if (rounded_ == nullptr || rounded_updates_ != version.updates) {
    auto made = std::make_shared<std::vector<BFloat16>>(version.values->values.size());
    round_numbers(version.values->values, *made);
    rounded_ = std::move(made);
    rounded_updates_ = version.updates;
  }
  return rounded_;
}

}  // namespace trainyard::ps
