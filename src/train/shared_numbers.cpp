#include "train/shared_numbers.h"

#include <algorithm>

#include "base/crc32c.h"
#include "ops/update.h"

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

WireLayout layout_for(const Session& session, bool all_alike) {
  const engine::Executor& executor = session.executor();
  const bool plain_memory = executor.on_host() && executor.plan().bytes(Region::statistics) == 0;
  return all_alike && plain_memory ? WireLayout::native : WireLayout::canonical;
}

SharedNumbers::SharedNumbers(Session& session, WireLayout layout)
    : session_(session),
      layout_(layout),
      parameters_(CanonicalArray::parameters(session.executor())),
      statistics_(CanonicalArray::statistics(session.executor())),
      gradients_(CanonicalArray::gradients(session.executor())),
      fingerprint_(fingerprint_of(session.executor().plan(), layout)) {
  if (layout == WireLayout::native) {
    TRAINYARD_CHECK(layout_for(session, true) == WireLayout::native);
    parameters_count_ = static_cast<std::int64_t>(executor().floats(Region::parameters).size());
    return;
  }
  parameters_count_ = parameters_.elements();
  statistics_count_ = statistics_.elements();
  weights_.resize(static_cast<std::size_t>(elements()));
  gradients_copy_.resize(static_cast<std::size_t>(elements()));
}

std::span<float> SharedNumbers::weights() {
  return layout_ == WireLayout::native ? executor().floats(Region::parameters) : std::span(weights_);
}

std::span<float> SharedNumbers::gradients() {
  return layout_ == WireLayout::native ? executor().floats(Region::gradients) : std::span(gradients_copy_);
}

void SharedNumbers::take_weights() {
  if (layout_ == WireLayout::native) return executor().parameters_changed();
  const auto split = static_cast<std::size_t>(parameters_count_);
  parameters_.scatter(std::span<const float>(weights_).first(split));
  if (statistics_count_ > 0) statistics_.scatter(std::span<const float>(weights_).subspan(split));
}

void SharedNumbers::run_gradients(const backend::StepContext& context, const engine::Executor::Ready& ready) {
  if (layout_ == WireLayout::native) return executor().run_gradients(context, ready);
  const auto split = static_cast<std::size_t>(parameters_count_);
  engine::run_gradients(executor(), context, gradients_, std::span(gradients_copy_).first(split), ready);
  if (statistics_count_ == 0) return;
  statistics_.gather(std::span(gradients_copy_).subspan(split));
  ready(parameters_count_, statistics_count_);
}

ps::State SharedNumbers::read_state() {
  ps::State state;
  const int slots = session_.options().update.slots();
  if (layout_ == WireLayout::native) {
    const std::span<float> all = executor().floats(Region::parameters),
                           kept = executor().floats(Region::optimizer_state);
    state.arrays.emplace_back(all.begin(), all.end());
    for (std::size_t slot = 0; slot < static_cast<std::size_t>(slots); ++slot) {
      const std::span<float> one = kept.subspan(slot * all.size(), all.size());
      state.arrays.emplace_back(one.begin(), one.end());
    }
    return state;
  }
  const auto split = static_cast<std::size_t>(parameters_count_);
  state.arrays.assign(static_cast<std::size_t>(slots) + 1,
                      std::vector<float>(static_cast<std::size_t>(elements())));
  parameters_.gather(std::span(state.arrays[0]).first(split));
  if (statistics_count_ > 0) statistics_.gather(std::span(state.arrays[0]).subspan(split));
  for (int slot = 0; slot < slots; ++slot)
    CanonicalArray::slot(executor(), slot)
        .gather(std::span(state.arrays[static_cast<std::size_t>(slot) + 1]).first(split));
  return state;
}

void SharedNumbers::write_state(const ps::State& state) {
  const int slots = session_.options().update.slots();
  TRAINYARD_CHECK(static_cast<int>(state.arrays.size()) == slots + 1);
  if (layout_ == WireLayout::native) {
    const std::span<float> all = executor().floats(Region::parameters),
                           kept = executor().floats(Region::optimizer_state);
    std::copy(state.arrays[0].begin(), state.arrays[0].end(), all.begin());
    for (std::size_t slot = 1; slot < state.arrays.size(); ++slot)
      std::copy(state.arrays[slot].begin(), state.arrays[slot].end(),
                kept.begin() + static_cast<std::ptrdiff_t>((slot - 1) * all.size()));
    return executor().parameters_changed();
  }
  const auto split = static_cast<std::size_t>(parameters_count_);
  parameters_.scatter(std::span(state.arrays[0]).first(split));
  if (statistics_count_ > 0) statistics_.scatter(std::span(state.arrays[0]).subspan(split));
  for (int slot = 0; slot < slots; ++slot)
    CanonicalArray::slot(executor(), slot)
        .scatter(std::span(state.arrays[static_cast<std::size_t>(slot) + 1]).first(split));
}

}  // namespace trainyard::train
