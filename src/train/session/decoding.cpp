#include "train/session/decoding.h"

#include "base/philox.h"
#include "engine/canonical.h"
#include "engine/checkpoint.h"
#include "plan/compile.h"
#include "train/session/device_threads.h"

namespace trainyard::train {

// The network for so many steps at once. That for the prompt owns parameters and caches, and the other
// borrows them.
struct Decoding::Part {
  Part(const networks::DecoderOptions& options, const backend::Backend& backend, backend::Precision precision,
       const engine::Executor* owner)
      : decoder(networks::build_decoder(options)),
        executor(
            plan::compile(decoder.graph, backend,
                          {.precision = precision,
                           .pinned_layouts = owner == nullptr ? std::map<std::string, Layout>{}
                                                              : plan::persistent_layouts(owner->plan())}),
            borrowed_from(owner)),
        ids({options.steps, options.batch}, DType::i32),
        places({options.steps, options.batch}, DType::i32),
        first({1}, DType::i32),
        logits(decoder.graph.shape(decoder.logits), DType::f32) {}

  static engine::Executor::Regions borrowed_from(const engine::Executor* owner) {
    engine::Executor::Regions regions{};
    if (owner != nullptr)
      for (const plan::Region region : {plan::Region::parameters, plan::Region::statistics})
        regions[static_cast<std::size_t>(region)] = owner->region(region);
    return regions;
  }

  networks::Decoder decoder;
  engine::Executor executor;
  HostTensor ids, places, first, logits;
};

Decoding::Decoding(const DecodingOptions& options) {
  limit_to(cores_for(options.threads));
  backend_ =
      backend::make_backend(options.backend, options.device, options.precision, backend::Effort::quick);
  prompt_ = std::make_unique<Part>(options.decoder, *backend_, options.precision, nullptr);
  engine::initialise_state(prompt_->executor, 1);
  networks::DecoderOptions one = options.decoder;
  one.steps = 1;
  token_ = std::make_unique<Part>(one, *backend_, options.precision, &prompt_->executor);
  const networks::NetworkInfo info = networks::find_network(one.network, one.parameters);
  room_ = info.input[0];
  vocabulary_ = info.classes;
}

Decoding::~Decoding() = default;

void Decoding::load(const std::filesystem::path& checkpoint) {
  engine::load_parameters(checkpoint, prompt_->executor);
  token_->executor.parameters_changed();
}

std::span<const float> Decoding::read_prompt(std::span<const std::int32_t> ids) {
  place_ = 0;
  return run(*prompt_, ids);
}

std::span<const float> Decoding::read_token(std::span<const std::int32_t> ids) {
  TRAINYARD_CHECK(place_ < room_);
  return run(*token_, ids);
}

std::span<const float> Decoding::run(Part& part, std::span<const std::int32_t> ids) {
  const std::span<std::int32_t> to = part.ids.as<std::int32_t>(), places = part.places.as<std::int32_t>();
  TRAINYARD_CHECK(ids.size() == to.size());
  std::copy(ids.begin(), ids.end(), to.begin());
  const std::int64_t steps = part.ids.shape()[0], batch = part.ids.shape()[1];
  for (std::int64_t i = 0; i < steps * batch; ++i)
    places[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(place_ + i / batch);
  part.first.as<std::int32_t>()[0] = static_cast<std::int32_t>(place_);
  part.executor.write("ids", part.ids);
  part.executor.write("places", part.places);
  part.executor.write("first", part.first);
  part.executor.run({});
  part.executor.read_plain(Session::kLogits, part.logits);
  place_ += steps;
  return part.logits.as<float>();
}

std::int32_t draw_token(std::span<const float> logits, const Drawing& drawing, std::uint64_t number) {
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto more_likely = [&](std::int32_t a, std::int32_t b) {
    const float of_a = logits[static_cast<std::size_t>(a)], of_b = logits[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  if (drawing.temperature == 0) return *std::min_element(tokens.begin(), tokens.end(), more_likely);
  if (drawing.among > 0 && drawing.among < static_cast<std::int64_t>(tokens.size())) {
    std::nth_element(tokens.begin(), tokens.begin() + drawing.among, tokens.end(), more_likely);
    tokens.resize(static_cast<std::size_t>(drawing.among));
    std::sort(tokens.begin(), tokens.end());  // so that the draw does not depend on how they were found
  }
  double highest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const std::int32_t token : tokens)
    highest = std::max(highest, static_cast<double>(logits[static_cast<std::size_t>(token)]));
  std::vector<double> sums;
  for (const std::int32_t token : tokens)
    sums.push_back(sum += std::exp((static_cast<double>(logits[static_cast<std::size_t>(token)]) - highest) /
                                   drawing.temperature));
  const double at =
      static_cast<double>(to_unit_float(Philox(drawing.seed, stream_of("draw")).word(number))) * sum;
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), at);
  return tokens[static_cast<std::size_t>(std::min(drawn, sums.end() - 1) - sums.begin())];
}

}  // namespace trainyard::train
