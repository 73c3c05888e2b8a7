#include "ps/server/arbiter.h"

namespace trainyard::ps {

Batches::Batches(std::int64_t total, const Ledger& ledger)
    : total_(total), next_(ledger.next_batch()), free_(ledger.loose().begin(), ledger.loose().end()) {}

std::optional<std::int64_t> Batches::lend(int worker) {
  if (!any_free()) return std::nullopt;
  std::int64_t batch = 0;
  if (free_.empty()) {
    batch = next_++;
  } else {
    batch = *free_.begin();
    free_.erase(free_.begin());
  }
  lent_[worker].push_back(batch);
  return batch;
}

const std::deque<std::int64_t>& Batches::lent_to(int worker) const {
  static const std::deque<std::int64_t> none;
  const auto found = lent_.find(worker);
  return found == lent_.end() ? none : found->second;
}

std::int64_t Batches::use(int worker) {
  const auto found = lent_.find(worker);
  TRAINYARD_CHECK(found != lent_.end());
  const std::int64_t batch = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) lent_.erase(found);
  return batch;
}

void Batches::take_back(int worker) {
  const auto found = lent_.find(worker);
  if (found == lent_.end()) return;
  free_.insert(found->second.begin(), found->second.end());
  lent_.erase(found);
}

void Arbiter::begin(double now) {
  active_ = true;
  batches_.emplace(options_.batches, host_.ledger());
  began_ = now;
  short_since_ = now;
  // A leader that was started again: the run is not at its beginning.
  if (!started_once_ && host_.ledger().gradients() > 0) {
    started_once_ = true;
    were_in_ = options_.workers;
  }
  admit_who_waits();
}

void Arbiter::suspend(double now) {
  if (is_active() || suspended_ == 0) suspended_ = now;
  if (started_) were_in_ = live_workers();
  active_ = started_ = false;
  members_.clear();
  waiting_.clear();
  committed_.clear();
}

Arbiter::Member* Arbiter::find(int worker, std::uint32_t epoch) {
  const auto found = members_.find(worker);
  return found != members_.end() && found->second.epoch == epoch ? &found->second : nullptr;
}

void Arbiter::seen(int server, int worker) {
  waiting_[worker].insert(server);
  admit_when_seen(worker);
}

void Arbiter::admit_when_seen(int worker) {
  if (!is_active() || static_cast<int>(waiting_[worker].size()) < options_.servers) return;
  // A process that comes again is believed to have lost the old connection, known here or not.
  if (members_.contains(worker)) remove(worker, "another process joined in its place", false);
  // Its last gradient waits for others of its round: whether it counts is known when they are there.
  const auto last = committed_.find(worker);
  if (last != committed_.end() &&
      last->second > host_.ledger().next_clock(static_cast<std::uint32_t>(worker)))
    return;
  waiting_.erase(worker);
  admit(worker);
}

void Arbiter::admit_who_waits() {
  for (const auto& [worker, servers] : std::map(waiting_)) admit_when_seen(worker);
}

void Arbiter::admit(int worker) {
  const std::uint64_t clock = host_.ledger().next_clock(static_cast<std::uint32_t>(worker));
  members_[worker] = {.epoch = ++epochs_, .clock = clock};
  host_.happen({.kind = Event::Kind::admit,
                .worker = static_cast<std::uint32_t>(worker),
                .epoch = epochs_,
                .clock = clock});
  if (finished_) return host_.send_done(worker);
  start_when_enough(false);
}

// After a fault the leader waits for the workers that were in, but not for ever.
void Arbiter::start_when_enough(bool late) {
  if (started_) return;
  const int wanted = !started_once_ ? options_.workers : std::max(were_in_, 1);
  const bool enough = live_workers() >= wanted || (late && live_workers() >= options_.least_workers);
  if (!enough || live_workers() == 0) return;
  started_ = started_once_ = true;
  host_.happen({.kind = Event::Kind::start});
}

void Arbiter::lost(int server, int worker, std::uint32_t epoch, const std::string& reason, bool may_return) {
  if (epoch == 0) {
    const auto found = waiting_.find(worker);
    if (found != waiting_.end()) found->second.erase(server);
    return;
  }
  if (find(worker, epoch) != nullptr) remove(worker, reason, may_return);
}

void Arbiter::remove(int worker, const std::string& reason, bool may_return) {
  const std::uint32_t epoch = members_.at(worker).epoch;
  members_.erase(worker);
  batches_->take_back(worker);
  host_.happen({.kind = Event::Kind::remove,
                .worker = static_cast<std::uint32_t>(worker),
                .epoch = epoch,
                .may_return = may_return,
                .reason = reason});
}

void Arbiter::prepared(int server, int worker, std::uint32_t epoch, std::uint64_t clock,
                       std::optional<std::uint32_t> bad_key) {
  Member* member = find(worker, epoch);
  // A gradient that arrives after the end does not count: the number of those that do was already announced.
  if (member == nullptr || member->clock != clock || finished_) return;
  if (bad_key)
    return remove(worker,
                  fmt::format("its gradient of step {} is not finite, first in key {}", clock, *bad_key),
                  false);
  member->prepared.insert(server);
  if (static_cast<int>(member->prepared.size()) < options_.servers) return;
  member->prepared.clear();
  member->computing = false;
  committed_[worker] = ++member->clock;
  const std::int64_t batch = batches_->use(worker);
  host_.happen({.kind = Event::Kind::commit,
                .worker = static_cast<std::uint32_t>(worker),
                .epoch = epoch,
                .clock = clock,
                .batch = batch});
}

void Arbiter::release(int worker) {
  const auto found = members_.find(worker);
  if (found != members_.end()) found->second.parked = true;
}

void Arbiter::settle() {
  if (!is_active()) return;
  admit_who_waits();
  if (finished_) return;
  for (bool changed = started_ && !halted_; changed;) {
    changed = false;
    for (auto& [worker, member] : members_) changed = go_on(worker, member) || changed;
  }
  // A worker that the mode holds back may wait for one that is no longer released.
  const bool any_computes = std::any_of(members_.begin(), members_.end(),
                                        [](const auto& member) { return member.second.computing; });
  if ((halted_ && !any_computes) || batches_->all_used()) finish("");
}

// Returns whether something was done for the worker.
bool Arbiter::go_on(int worker, Member& member) {
  const Event about{.worker = static_cast<std::uint32_t>(worker), .epoch = member.epoch};
  if (member.resting) {
    if (!batches_->any_free()) return false;
    member.resting = false;
    Event event = about;
    event.kind = Event::Kind::resume;
    host_.happen(event);
    return true;
  }
  if (!member.parked) return false;
  member.parked = false;
  if (batches_->lent_to(worker).empty()) {
    const std::optional<std::int64_t> batch = batches_->lend(worker);
    if (!batch) {
      member.resting = true;
      Event event = about;
      event.kind = Event::Kind::rest;
      host_.happen(event);
      return true;
    }
    host_.lend(worker, *batch);
  }
  member.computing = true;
  host_.send_weights(worker);
  return true;
}

void Arbiter::lend_ahead() {
  if (!is_active() || finished_ || halted_ || !started_) return;
  for (const auto& [worker, member] : members_)
    while (member.computing && static_cast<int>(batches_->lent_to(worker).size()) < kAhead) {
      const std::optional<std::int64_t> batch = batches_->lend(worker);
      if (!batch) return;
      host_.lend(worker, *batch);
    }
}

void Arbiter::halt() { halted_ = true; }

void Arbiter::finish(const std::string& failure) {
  if (finished_) return;
  finished_ = true;
  for (const auto& [worker, member] : members_) host_.send_done(worker);
  host_.finished(failure);
}

void Arbiter::look_at_time(double now) {
  if (!is_active()) return give_up_on_servers(now);
  if (finished_) return;
  start_when_enough(started_once_ && now - began_ > options_.patience_seconds / 4);
  if (live_workers() >= options_.least_workers && started_) short_since_ = now;
  if (now - short_since_ < options_.patience_seconds) return;
  finish(fmt::format("{} of at least {} workers are there, for {:.0f} s", live_workers(),
                     started_once_ ? options_.least_workers : options_.workers, options_.patience_seconds));
}

// This applies also when all is done: every server must still be asked for its result.
void Arbiter::give_up_on_servers(double now) {
  if (suspended_ == 0 || now - suspended_ <= options_.patience_seconds || gave_up_) return;
  finished_ = gave_up_ = true;
  host_.finished(fmt::format("a server is missing, for {:.0f} s", options_.patience_seconds));
}

}  // namespace trainyard::ps
