#include "ps/server/replica.h"

namespace trainyard::ps {

namespace {

// There is room for every worker twice: one that was removed may still be sent something while it joins
// again.
int most_workers(const ServerOptions& options) { return 2 * options.workers + 8; }

constexpr int kMostQueued = 16;  // gradients of a lazy server
constexpr int kMostAppliers = 16;

int appliers_of(const ServerOptions& options) {
  const Sharing sharing = options.mode.row->sharing;
  if (sharing == Sharing::one_thread) return 0;
  return sharing == Sharing::racing ? std::min(options.workers, kMostAppliers) : 1;
}

}  // namespace

Replica::Replica(comm::transport::Loop& loop, const ServerOptions& options, const std::vector<Key>& keys,
                 Updater& updater, std::function<void(int)> released)
    : options_(options),
      memory_(std::make_shared<StateMemory>(
          options.state, StateMemory::Sizes{.elements = Shard::elements_of(keys, options.server),
                                            .slots = updater.slots(),
                                            .versions = 2 * most_workers(options) + 4,
                                            .gradients = 2 * most_workers(options) + kMostQueued,
                                            .run = options.run})),
      gradients_(memory_->gradients(), memory_,
                 [memory = memory_.get()](int number) { memory->drop_gradient(number); }),
      shard_(std::make_unique<Shard>(keys, options.server, memory_, options.mode.row->sharing)),
      updater_(updater),
      released_(std::move(released)),
      sum_(static_cast<std::size_t>(shard_->elements())),
      mode_(make_mode(options.mode, *this, shard_->elements())) {
  for (int i = 0; i < appliers_of(options); ++i)
    appliers_.push_back(std::make_unique<Applier>(loop, *shard_, updater));
  if (has_begun()) apply_since(shard_->updates());
}

void Replica::begin(std::span<const float> parameters, std::span<const float> slots,
                    const LedgerStart& start) {
  shard_->begin(parameters, slots, start.updates);
  Ledger ledger;
  ledger.begin(start.updates, start.next_batch, start.loose);
  memory_->set_ledger(ledger);
  memory_->mark_begun();
}

void Replica::keep(const Buffer& gradient, int worker, std::uint64_t clock) {
  memory_->keep_gradient(gradient.number, static_cast<std::uint32_t>(worker), clock);
}

void Replica::take_history(const std::vector<Counted>& gradients) {
  finish_appliers();
  const std::int64_t before = ledger().updates();
  for (auto next = gradients.begin(); next != gradients.end();) {
    const auto end = std::find_if(next, gradients.end(),
                                  [&](const Counted& other) { return other.update != next->update; });
    TRAINYARD_CHECK(next->update == ledger().updates());
    std::vector<Counted> of_one(next, end);
    Ledger longer = ledger();
    longer.add_update(of_one);
    memory_->set_ledger(longer);
    next = end;
  }
  apply_since(before);
  // It may have been the last update: nothing else would look at who waits for it.
  take_snapshots();
}

// Applies the updates that the ledger has and the shard lacks.
void Replica::apply_since(std::int64_t update) {
  const std::vector<Counted> gradients = ledger().since(update);
  for (auto next = gradients.begin(); next != gradients.end();) {
    const auto end = std::find_if(next, gradients.end(),
                                  [&](const Counted& other) { return other.update != next->update; });
    apply_counted({next, end});
    next = end;
  }
}

void Replica::apply_counted(std::span<const Counted> gradients) {
  std::map<int, std::span<const float>> kept;
  for (const Counted& one : gradients) {
    kept[static_cast<int>(one.worker)] = memory_->kept_gradient(one.worker, one.clock);
    if (kept[static_cast<int>(one.worker)].empty())
      fail(ErrorKind::internal, "server {}: the gradient of step {} of worker {} counts, but is not kept",
           options_.server, one.clock, one.worker);
  }
  const bool mean = !options_.mode.row->sums;
  add_in_order(kept, mean, sum_);
  shard_->apply(updater_, sum_, mean ? 1 : static_cast<int>(kept.size()));
}

void Replica::restart() {
  finish_appliers();
  ++generation_;
  committed_.clear();
  mode_ = make_mode(options_.mode, *this, shard_->elements());
  memory_->drop_all_gradients();
}

void Replica::finish_appliers() {
  for (const auto& applier : appliers_) applier->finish();
}

void Replica::commit(int worker, std::uint64_t clock, std::int64_t batch, Mode::Gradient gradient) {
  committed_.push_back({.batch = batch, .clock = clock, .worker = static_cast<std::uint32_t>(worker)});
  mode_->commit(worker, std::move(gradient));
}

void Replica::add_to_ledger() {
  Ledger longer = ledger();
  longer.add_update(committed_);
  memory_->set_ledger(longer);
  committed_.clear();
}

void Replica::apply(std::span<const float> gradient, int summed) {
  add_to_ledger();
  const double began = now_seconds();
  shard_->apply(updater_, gradient, summed);
  apply_seconds_ += now_seconds() - began;
  take_snapshots();
}

void Replica::apply_beside(int worker, Mode::Gradient gradient, std::function<void()> done) {
  add_to_ledger();
  Applier& applier = *appliers_[static_cast<std::size_t>(worker) % appliers_.size()];
  applier.apply(std::move(gradient), [this, generation = generation_, done = std::move(done)] {
    take_snapshots();
    if (generation == generation_) done();
  });
}

void Replica::snapshot(std::int64_t updates, OnSnapshot on_snapshot) {
  wanted_.push_back({updates, std::move(on_snapshot)});
  take_snapshots();
}

void Replica::take_snapshots() {
  const auto due = [this](const Wanted& wanted) { return ledger().updates() >= wanted.updates; };
  if (std::none_of(wanted_.begin(), wanted_.end(), due)) return;
  // Otherwise batches would count that are not in the parameters.
  finish_appliers();
  const auto first_due = std::stable_partition(wanted_.begin(), wanted_.end(), std::not_fn(due));
  std::vector<Wanted> served(std::make_move_iterator(first_due), std::make_move_iterator(wanted_.end()));
  wanted_.erase(first_due, wanted_.end());
  for (const Wanted& wanted : served) wanted.on_snapshot(shard_->copy(), start_of(ledger()));
}

}  // namespace trainyard::ps
