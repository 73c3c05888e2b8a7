#include "train/session/decoding.h"

#include "base/philox.h"
#include "engine/canonical.h"
#include "engine/checkpoint.h"
#include "graph/autodiff.h"
#include "ops/sequence/cached_attention.h"
#include "plan/compile.h"
#include "train/session/device_threads.h"
#include "train/session/job_check.h"

namespace trainyard::train {

// The network for so many steps at once. That for the prompt owns caches and, unless it shares those of
// another, parameters; that for a token borrows both.
struct Decoding::Part {
  struct Borrowed {
    const engine::Executor* from = nullptr;
    bool caches = false;
  };

  Part(const DecodingOptions& options, std::int64_t steps, const backend::Backend& backend,
       const Borrowed& borrowed)
      : decoder(networks::build_decoder(of_steps(options.decoder, steps))),
        executor(compile(options, decoder.graph, backend, borrowed), regions_of(borrowed)),
        ids({steps, options.decoder.batch}, DType::i32),
        places({steps, options.decoder.batch}, DType::i32),
        first({1}, DType::i32),
        logits(decoder.graph.shape(decoder.logits), DType::f32) {}

  graph::Cost cost(std::int64_t place) const {
    const graph::Graph& graph = executor.graph();
    graph::Cost sum;
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      const graph::Node& node = graph.nodes()[n];
      if (node.phase == graph::Phase::prepare) continue;  // no part of a step
      sum += node.op == &ops::cached_attention_op
                 ? ops::cached_attention_cost(graph::NodeView(graph, node), place)
                 : graph::cost_of(graph, static_cast<graph::NodeId>(n));
    }
    return sum;
  }

  networks::Decoder decoder;
  engine::Executor executor;
  HostTensor ids, places, first, logits;

 private:
  static networks::DecoderOptions of_steps(networks::DecoderOptions options, std::int64_t steps) {
    options.steps = steps;
    return options;
  }

  // Both plans keep what is borrowed in the same order and layouts, so they agree on every offset.
  static plan::CompiledStep compile(const DecodingOptions& options, const graph::Graph& graph,
                                    const backend::Backend& backend, const Borrowed& borrowed) {
    const SessionOptions asked{.model = {.network = options.decoder.network, .batch = options.decoder.batch},
                               .update = {}};
    if (borrowed.from == nullptr) check_memory(asked, graph, *backend.device());
    plan::CompiledStep step = plan::compile(
        graph, backend,
        {.fuse = options.fuse,
         .precision = options.precision,
         .pinned_layouts = borrowed.from == nullptr ? std::map<std::string, Layout>{}
                                                    : plan::persistent_layouts(borrowed.from->plan())});
    if (borrowed.from == nullptr) check_memory(asked, step.plan, *step.device);
    for (const plan::Buffer& buffer : step.plan.buffers) {
      if (borrowed.from == nullptr || buffer.region != plan::Region::parameters) continue;
      const plan::StepPlan& lender = borrowed.from->plan();
      const int lent = lender.find_buffer(buffer.name);
      TRAINYARD_CHECK(lent >= 0 && lender.buffers[static_cast<std::size_t>(lent)].offset == buffer.offset);
    }
    return step;
  }

  static engine::Executor::Regions regions_of(const Borrowed& borrowed) {
    engine::Executor::Regions regions{};
    const auto borrow = [&](plan::Region region) {
      regions[static_cast<std::size_t>(region)] = borrowed.from->region(region);
    };
    if (borrowed.from != nullptr) borrow(plan::Region::parameters);
    if (borrowed.caches) borrow(plan::Region::statistics);
    return regions;
  }
};

Decoding::Decoding(const DecodingOptions& options) : options_(options) {
  threads_ = limit_to(cores_for(options.threads));
  backend_ = options.sharing != nullptr
                 ? options.sharing->backend_
                 : backend::make_backend(options.backend, options.device, options.precision, options.tuning);
  free_before_ = static_cast<std::int64_t>(backend_->device()->free_bytes());
  Part::Borrowed lent;
  if (options.sharing != nullptr) lent.from = &options.sharing->prompt_->executor;
  prompt_ = std::make_unique<Part>(options, options.decoder.steps, *backend_, lent);
  // Shared parameters get what they have: their first content depends on seed and name alone.
  engine::initialise_state(prompt_->executor, options.seed);
  token_ = std::make_unique<Part>(options, 1, *backend_, Part::Borrowed{&prompt_->executor, true});
  const networks::NetworkInfo info =
      networks::find_network(options.decoder.network, options.decoder.parameters);
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

const engine::Executor& Decoding::executor() const { return prompt_->executor; }

std::int64_t Decoding::parameters() const { return graph::parameter_count(prompt_->decoder.graph); }

graph::Cost Decoding::prompt_cost() const { return prompt_->cost(0); }

graph::Cost Decoding::token_cost(std::int64_t place) const { return token_->cost(place); }

std::int64_t Decoding::cache_bytes() const {
  const graph::Graph& graph = prompt_->executor.graph();
  std::int64_t bytes = 0;
  for (const graph::Node& node : graph.nodes())
    if (node.op == &ops::cached_attention_op)
      bytes += graph.value(node.inputs[1]).type.bytes() + graph.value(node.inputs[2]).type.bytes();
  return bytes;
}

std::int64_t Decoding::plan_bytes() const {
  const plan::StepPlan &prompt = prompt_->executor.plan(), &token = token_->executor.plan();
  std::size_t bytes = prompt.total_bytes() + token.total_bytes() - token.bytes(plan::Region::parameters) -
                      token.bytes(plan::Region::statistics);
  if (options_.sharing != nullptr) bytes -= prompt.bytes(plan::Region::parameters);
  return static_cast<std::int64_t>(bytes);
}

std::int64_t Decoding::device_bytes() const {
  return free_before_ - static_cast<std::int64_t>(backend_->device()->free_bytes());
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
