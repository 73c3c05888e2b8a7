#include "train/server_update.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::train {

ServerUpdate::ServerUpdate(const ops::UpdateAttrs& attrs, const std::vector<ps::Key>& keys, int server,
                           std::int64_t parameters)
    : attrs_(attrs), update_(attrs) {
  for (const ps::Key& key : keys)
    if (key.server == server)
      parameters_ += std::clamp<std::int64_t>(parameters - key.first, 0, key.elements);
}

void ServerUpdate::apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
                         int summed) {
  const auto elements = gradient.size();
  backend::FlatUpdate::Arrays arrays{.parameters = from.parameters.data(), .gradient = gradient.data()};
  arrays.new_parameters = to.parameters.data();
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots()); ++slot) {
    arrays.slots[slot] = from.slots.data() + slot * elements;
    arrays.new_slots[slot] = to.slots.data() + slot * elements;
  }
  update_.apply(arrays, 0, parameters_, step);
  const auto first = static_cast<std::size_t>(parameters_);
  for (std::size_t i = first; i < elements; ++i) to.parameters[i] = gradient[i] / static_cast<float>(summed);
  // What the optimizer has for statistics means nothing, but must be the same whoever looks.
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots()); ++slot)
    std::fill_n(to.slots.data() + slot * elements + first, elements - first, 0.0f);
}

float ServerUpdate::rate(std::int64_t step) const { return static_cast<float>(attrs_.schedule.at(step)); }

}  // namespace trainyard::train
