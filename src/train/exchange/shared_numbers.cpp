#include "train/exchange/shared_numbers.h"

#include "base/crc32c.h"

namespace trainyard::train {
namespace {

using engine::CanonicalArray;
using plan::Region;

std::string describe(const plan::Buffer& buffer, WireLayout layout) {
  std::string text = buffer.name + buffer.type.to_string();
  if (layout == WireLayout::native)
    text += fmt::format(" {} {} {}", buffer.layout.to_string(), buffer.offset, buffer.bytes);
  return text;
}

std::uint32_t fingerprint_of(const plan::StepPlan& plan, WireLayout layout) {
  std::string text = name(layout);
  for (const Region region : {Region::parameters, Region::statistics})
    for (const plan::Buffer* buffer : engine::tensors_in(plan, region)) text += describe(*buffer, layout);
  return crc32c(text.data(), text.size(), 0);
}

}  // namespace

const char* name(WireLayout layout) { return layout == WireLayout::native ? "native" : "canonical"; }

bool can_be_native(const Session& session) {
  const plan::StepPlan& plan = session.executor().plan();
  const auto parameters = engine::tensors_in(plan, Region::parameters);
  const auto gradients = engine::tensors_in(plan, Region::gradients);
  return std::equal(parameters.begin(), parameters.end(), gradients.begin(), gradients.end(),
                    [](const plan::Buffer* parameter, const plan::Buffer* gradient) {
                      return gradient->type.dtype == DType::f32 && gradient->offset == parameter->offset &&
                             gradient->bytes == parameter->bytes && gradient->layout == parameter->layout;
                    });
}

SharedNumbers::SharedNumbers(Session& session, WireLayout layout)
    : session_(session),
      layout_(layout),
      direct_(layout == WireLayout::native && session.executor().on_host() &&
              session.executor().plan().bytes(Region::statistics) == 0),
      parameters_(CanonicalArray::parameters(session.executor())),
      statistics_(CanonicalArray::statistics(session.executor())),
      gradients_(CanonicalArray::gradients(session.executor())),
      fingerprint_(fingerprint_of(session.executor().plan(), layout)) {
  if (layout == WireLayout::native) {
    TRAINYARD_CHECK(can_be_native(session));
    parameters_count_ = static_cast<std::int64_t>(region_floats(Region::parameters));
    statistics_count_ = static_cast<std::int64_t>(region_floats(Region::statistics));
  } else {
    parameters_count_ = parameters_.elements();
    statistics_count_ = statistics_.elements();
  }
  make_room();
}

void SharedNumbers::make_room() {
  if (direct_) {
    weights_ = executor().floats(Region::parameters);
    gradients_here_ = executor().floats(Region::gradients);
    return;
  }
  const auto count = static_cast<std::size_t>(elements());
  if (!executor().on_host()) pinned_ = executor().device().make_copy_queue(1, 2 * count * sizeof(float));
  if (pinned_ != nullptr) {
    const std::span both(reinterpret_cast<float*>(pinned_->host()), 2 * count);
    weights_ = both.first(count);
    gradients_here_ = both.last(count);
    return;
  }
  weights_copy_.resize(count);
  gradients_copy_.resize(count);
  weights_ = weights_copy_;
  gradients_here_ = gradients_copy_;
}

std::size_t SharedNumbers::region_floats(Region region) const {
  return session_.executor().plan().bytes(region) / sizeof(float);
}

void SharedNumbers::read_region(Region region, std::size_t first, std::span<float> to) {
  if (!to.empty())
    executor().device().read(executor().region(region) + first * sizeof(float), to.data(), to.size_bytes());
}

void SharedNumbers::write_region(Region region, std::size_t first, std::span<const float> from) {
  if (!from.empty())
    executor().device().write(executor().region(region) + first * sizeof(float), from.data(),
                              from.size_bytes());
}

void SharedNumbers::take_weights() {
  const auto split = static_cast<std::size_t>(parameters_count_);
  if (direct_) return executor().parameters_changed();
  if (layout_ == WireLayout::native) {
    write_region(Region::parameters, 0, weights_.first(split));
    write_region(Region::statistics, 0, weights_.subspan(split));
    return executor().parameters_changed();
  }
  parameters_.scatter(weights_.first(split));
  if (statistics_count_ > 0) statistics_.scatter(weights_.subspan(split));
}

void SharedNumbers::run_gradients(const backend::StepContext& context, const engine::Executor::Ready& ready) {
  if (direct_) return executor().run_gradients(context, ready);
  const auto split = static_cast<std::size_t>(parameters_count_);
  if (layout_ == WireLayout::canonical) {
    engine::run_gradients(executor(), context, gradients_, gradients_here_.first(split), ready);
    if (statistics_count_ > 0) statistics_.gather(gradients_here_.subspan(split));
  } else if (executor().on_host()) {
    executor().run_gradients(context, [&](std::int64_t first, std::int64_t count) {
      const auto at = static_cast<std::size_t>(first), length = static_cast<std::size_t>(count);
      read_region(Region::gradients, at, gradients_here_.subspan(at, length));
      ready(first, count);
    });
    read_region(Region::statistics, 0, gradients_here_.subspan(split));
  } else {
    executor().run_gradients(context);
    read_region(Region::gradients, 0, gradients_here_.first(split));
    read_region(Region::statistics, 0, gradients_here_.subspan(split));
    ready(0, parameters_count_);
  }
  if (statistics_count_ > 0) ready(parameters_count_, statistics_count_);
}

ps::State SharedNumbers::read_state() {
  ps::State state;
  const auto slots = static_cast<std::size_t>(session_.options().update.slots());
  const auto split = static_cast<std::size_t>(parameters_count_);
  state.arrays.assign(slots + 1, std::vector<float>(static_cast<std::size_t>(elements())));
  const std::span<float> all = state.arrays[0];
  if (layout_ == WireLayout::native) {
    read_region(Region::parameters, 0, all.first(split));
    read_region(Region::statistics, 0, all.subspan(split));
    for (std::size_t slot = 0; slot < slots; ++slot)
      read_region(Region::optimizer_state, slot * split, std::span(state.arrays[slot + 1]).first(split));
    return state;
  }
  parameters_.gather(all.first(split));
  if (statistics_count_ > 0) statistics_.gather(all.subspan(split));
  for (std::size_t slot = 0; slot < slots; ++slot)
    CanonicalArray::slot(executor(), static_cast<int>(slot))
        .gather(std::span(state.arrays[slot + 1]).first(split));
  return state;
}

void SharedNumbers::write_state(const ps::State& state) {
  const auto slots = static_cast<std::size_t>(session_.options().update.slots());
  const auto split = static_cast<std::size_t>(parameters_count_);
  TRAINYARD_CHECK(state.arrays.size() == slots + 1);
  const std::span<const float> all = state.arrays[0];
  if (layout_ == WireLayout::native) {
    write_region(Region::parameters, 0, all.first(split));
    write_region(Region::statistics, 0, all.subspan(split));
    for (std::size_t slot = 0; slot < slots; ++slot)
      write_region(Region::optimizer_state, slot * split, std::span(state.arrays[slot + 1]).first(split));
    return executor().parameters_changed();
  }
  parameters_.scatter(all.first(split));
  if (statistics_count_ > 0) statistics_.scatter(all.subspan(split));
  for (std::size_t slot = 0; slot < slots; ++slot)
    CanonicalArray::slot(executor(), static_cast<int>(slot))
        .scatter(std::span(state.arrays[slot + 1]).first(split));
}

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
  // The optimizer's values for statistics mean nothing, but must be the same for every reader.
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots()); ++slot)
    std::fill_n(to.slots.data() + slot * elements + first, elements - first, 0.0f);
}

float ServerUpdate::rate(std::int64_t step) const { return static_cast<float>(attrs_.schedule.at(step)); }

}  // namespace trainyard::train
