#include "run/served_network.h"

#include "engine/canonical.h"
#include "graph/autodiff.h"
#include "run/start_weights.h"
#include "train/session/session.h"

namespace trainyard::run {

namespace {

// Forward passes, each of whose inputs comes from the host and whose logits go there.
class ServedInference : public ServedNetwork {
 public:
  ServedInference(train::SessionOptions options, const std::vector<std::int64_t>& sizes)
      : session_(at_batch(std::move(options), sizes.back())) {
    for (const std::int64_t size : sizes) {
      Size& own = sizes_.emplace_back();
      if (size < sizes.back()) own.compiled = session_.make_evaluator(size, false);
      own.executor = own.compiled == nullptr ? &session_.executor() : own.compiled.get();
      engine::initialise_inputs(*own.executor, session_.options().seed);
      own.inputs = own.executor->read(session_.input_names().inputs);
      own.logits = own.executor->read(train::Session::kLogits);
    }
  }

  double answer(std::size_t size) override {
    Size& own = sizes_[size];
    own.executor->write(session_.input_names().inputs, own.inputs);
    own.executor->run({session_.options().seed, step_++});
    own.executor->read_plain(train::Session::kLogits, own.logits);
    return 0;
  }

  graph::Cost cost(std::size_t size) const override {
    return graph::total_cost(sizes_[size].executor->graph(), graph::Phase::forward);
  }

  train::RunFacts facts() const override {
    train::RunFacts facts{.backend = session_.backend().name(),
                          .threads = session_.options().threads,
                          .parameters = session_.parameters(),
                          .device_bytes = session_.device_bytes(),
                          .collective = ""};
    for (const Size& size : sizes_) {
      const plan::StepPlan& plan = size.executor->plan();
      facts.plan_bytes += static_cast<std::int64_t>(plan.total_bytes());
      if (size.compiled != nullptr)
        facts.plan_bytes -= static_cast<std::int64_t>(plan.bytes(plan::Region::parameters) +
                                                      plan.bytes(plan::Region::statistics));
    }
    return facts;
  }

  const engine::Executor& executor() const override { return session_.executor(); }
  void add_figures(record::RunRecord&, double) const override {}

 private:
  struct Size {
    std::unique_ptr<engine::Executor> compiled;  // null: the session's own
    engine::Executor* executor = nullptr;
    HostTensor inputs, logits;
  };

  static train::SessionOptions at_batch(train::SessionOptions options, std::int64_t batch) {
    options.model.batch = batch;
    return options;
  }

  train::Session session_;
  std::vector<Size> sizes_;
  std::int64_t step_ = 0;
};

// Rounds of making text. A request is a prompt, its answer all new tokens.
class ServedDecoding : public ServedNetwork {
 public:
  ServedDecoding(const RunOptions& options, const DecodeOptions& tokens,
                 const std::vector<std::int64_t>& sizes)
      : tokens_(tokens), rounds_(sizes.size()) {
    for (std::size_t i = sizes.size(); i-- > 0;) {
      train::DecodingOptions network = to_decoding(options, tokens, sizes[i]);
      if (rounds_.back() != nullptr) network.sharing = &rounds_.back()->decoding();
      rounds_[i] = std::make_unique<DecodeRounds>(network, tokens);
    }
  }

  // Frees those that borrow before the one that lends.
  ~ServedDecoding() override {
    for (auto& rounds : rounds_) rounds.reset();
  }
  ServedDecoding(const ServedDecoding&) = delete;
  ServedDecoding& operator=(const ServedDecoding&) = delete;

  double answer(std::size_t size) override { return rounds_[size]->run(times_); }
  graph::Cost cost(std::size_t size) const override { return rounds_[size]->round_cost(); }

  train::RunFacts facts() const override {
    const train::Decoding& largest = rounds_.back()->decoding();
    train::RunFacts facts{.backend = largest.backend().name(),
                          .threads = largest.threads(),
                          .parameters = largest.parameters(),
                          .device_bytes = largest.device_bytes(),
                          .collective = ""};
    for (const auto& rounds : rounds_) facts.plan_bytes += rounds->decoding().plan_bytes();
    return facts;
  }

  const engine::Executor& executor() const override { return rounds_.back()->decoding().executor(); }

  void add_figures(record::RunRecord& run, double mean_requests) const override {
    add_decode_figures(run, tokens_, *rounds_.back(), times_, mean_requests);
  }

  void forget_times() override { times_ = {}; }

 private:
  const DecodeOptions tokens_;
  std::vector<std::unique_ptr<DecodeRounds>> rounds_;  // by size; the last owns the parameters
  RoundTimes times_;
};

}  // namespace

std::vector<std::int64_t> batch_sizes(const std::string& policy, std::int64_t batch) {
  want_choice("bench", "batch_sizes", policy);
  std::vector<std::int64_t> sizes;
  if (policy == "doubling")
    for (std::int64_t size = 1; size < batch; size *= 2) sizes.push_back(size);
  sizes.push_back(batch);
  return sizes;
}

std::size_t size_for(const std::vector<std::int64_t>& sizes, std::int64_t requests) {
  const auto found = std::lower_bound(sizes.begin(), sizes.end(), requests);
  TRAINYARD_CHECK(found != sizes.end());
  return static_cast<std::size_t>(found - sizes.begin());
}

std::unique_ptr<ServedNetwork> make_served_network(const BenchOptions& options,
                                                   const std::vector<std::int64_t>& sizes) {
  if (options.run.mode == "decode")
    return std::make_unique<ServedDecoding>(options.run, options.decode, sizes);
  train::SessionOptions session = to_session(options.run);
  give_weights(options.run, session);
  return std::make_unique<ServedInference>(std::move(session), sizes);
}

}  // namespace trainyard::run
