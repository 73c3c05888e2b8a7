#include "backend/flat_update.h"

#include "backend/kernel_level.h"

namespace trainyard::backend {

FlatUpdate::Rates FlatUpdate::rates_at(std::int64_t step, const Share& share) const {
  const double t = static_cast<double>(step + 1);
  const double rate = attrs_.schedule.at(step), weight_decay = share.decays ? attrs_.weight_decay : 0;
  return {static_cast<float>(rate),
          static_cast<float>(attrs_.momentum),
          static_cast<float>(attrs_.decay),
          static_cast<float>(attrs_.beta1),
          static_cast<float>(attrs_.beta2),
          static_cast<float>(attrs_.epsilon),
          static_cast<float>(attrs_.decoupled_decay ? 0 : weight_decay),
          static_cast<float>(attrs_.decoupled_decay ? rate * weight_decay : 0),
          static_cast<float>(1 / (1 - std::pow(attrs_.beta1, t))),
          static_cast<float>(1 / (1 - std::pow(attrs_.beta2, t))),
          static_cast<float>(attrs_.ema_decay_at(step)),
          share.gradient_factor};
}

FlatUpdate::FlatUpdate(const ops::UpdateAttrs& attrs)
    : attrs_(attrs), slots_(attrs.slots()), loop_(usable_level().flat_update(attrs)) {}

FlatUpdate::Arrays FlatUpdate::in_place(float* parameters, const float* gradient,
                                        const std::array<float*, kMaxSlots>& slots) {
  return {parameters, gradient, {slots[0], slots[1], slots[2]}, parameters, slots};
}

void FlatUpdate::apply(const Arrays& arrays, std::int64_t begin, std::int64_t end, std::int64_t step,
                       const Share& share) const {
  loop_(arrays, rates_at(step, share), begin, end);
}

}  // namespace trainyard::backend
