#include "ps/server/member.h"

namespace trainyard::ps {

namespace {

constexpr std::uint32_t kMostNoteBytes = 1024;

}  // namespace

using comm::transport::Frame;

Member::Member(Owner& owner, const Shard& shard, BufferPool& buffers,
               std::unique_ptr<comm::transport::Connection> connection)
    : owner_(owner),
      shard_(shard),
      buffers_(buffers),
      connection_(std::move(connection)),
      worker_(static_cast<int>(connection_->peer().id)) {
  connection_->start(*this);
}

std::string Member::name() const { return fmt::format("worker {} ({})", worker_, connection_->address()); }

void Member::admit(std::uint32_t epoch, std::uint64_t clock) {
  epoch_ = epoch;
  clock_ = clock;
  expect_all_keys();
}

void Member::released(std::int64_t updates) {
  released_updates_ = updates;
  may_push_ = true;
  // The buffer is taken no earlier: that of the last gradient is free by now, and in the cache.
  if (gradient_ == nullptr) gradient_ = buffers_.take();
}

std::shared_ptr<const Buffer> Member::take_gradient() {
  ++clock_;
  may_push_ = false;
  expect_all_keys();
  return std::exchange(gradient_, nullptr);
}

void Member::expect_all_keys() {
  missing_ = {shard_.keys().begin(), shard_.keys().end()};
  bad_keys_.clear();
}

void Member::refuse(const std::string& reason, bool may_return) {
  if (refused_) return;
  refused_ = true;
  refusal_ = reason;
  const std::uint16_t flags = may_return ? kReturn : 0;
  connection_->send({.kind = wire(Kind::refusal), .flags = flags, .epoch = epoch_},
                    std::as_bytes(std::span(refusal_)));
  connection_->close(reason, true);
}

std::string Member::objection(const Frame& frame) const {
  const auto kind = static_cast<Kind>(frame.kind);
  if (kind == Kind::note && frame.payload_bytes > kMostNoteBytes)
    return fmt::format("a note of {} bytes", frame.payload_bytes);
  if (kind != Kind::push && kind != Kind::note && frame.payload_bytes != 0)
    return fmt::format("kind {} has no payload", frame.kind);
  if (kind == Kind::heartbeat) return "";
  if (kind == Kind::join) return wants_in_ ? "it has joined already" : "";
  if (!admitted()) return fmt::format("kind {} came before it joined", frame.kind);
  if (frame.epoch != epoch_) return fmt::format("epoch {} is over, this is epoch {}", frame.epoch, epoch_);
  if (kind == Kind::leave) return "";
  if (kind != Kind::push && kind != Kind::note) return fmt::format("kind {} is not known", frame.kind);
  if (!may_push_) return "it was not let go on";
  if (frame.clock != clock_) return fmt::format("clock {} came, {} is next", frame.clock, clock_);
  if (kind == Kind::note) return "";
  const std::span<const float> slice = shard_.slice(std::span<const float>(gradient_->values), frame.key);
  if (slice.empty()) return fmt::format("key {} is not of this server", frame.key);
  if (!missing_.contains(frame.key)) return fmt::format("key {} came twice", frame.key);
  const std::size_t bytes = slice.size() * ((frame.flags & kBf16) != 0 ? sizeof(BFloat16) : sizeof(float));
  if (frame.payload_bytes != bytes)
    return fmt::format("key {} came with {} bytes, it has {}", frame.key, frame.payload_bytes, bytes);
  return "";
}

std::span<std::byte> Member::room_for(const Frame& frame) {
  objection_ = refused_ ? "it was refused" : objection(frame);
  if (!objection_.empty() || frame.payload_bytes == 0) {
    ignored_.resize(frame.payload_bytes);
    return ignored_;
  }
  if (static_cast<Kind>(frame.kind) == Kind::note) {
    note_.resize(frame.payload_bytes);
    return note_;
  }
  const std::span<float> slice = shard_.slice(gradient_->values, frame.key);
  if ((frame.flags & kBf16) == 0) return std::as_writable_bytes(slice);
  rounded_.resize(slice.size());
  return std::as_writable_bytes(std::span(rounded_));
}

void Member::arrived(const Frame& frame, std::span<std::byte>) {
  if (refused_) return;  // since its first byte came
  if (!objection_.empty()) return refuse(objection_);
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::join:
      wants_in_ = true;
      return owner_.wants_to_join(*this);
    case Kind::push:
      return take_key(frame);
    case Kind::leave:
      refused_ = true;  // whatever else it says
      return connection_->close("it left");
    default:
      return;
  }
}

void Member::take_key(const Frame& frame) {
  const std::span<float> slice = shard_.slice(gradient_->values, frame.key);
  if ((frame.flags & kBf16) != 0) widen_numbers(rounded_, slice);
  // The check is done now, while the slice is still in the cache.
  if (!all_finite(slice)) bad_keys_.push_back(frame.key);
  missing_.erase(frame.key);
  if (missing_.empty()) owner_.gradient_is_here(*this);
}

void Member::closed(const std::string& reason) {
  closed_ = true;
  owner_.gone(*this, reason, !refused_);
}

void Member::add_traffic(ServerCounts& counts) const {
  counts.bytes_received += connection_->traffic().bytes_received;
  counts.bytes_sent += connection_->traffic().bytes_sent;
}

void Roster::forget_departed(ServerCounts& counts) {
  std::erase_if(met_, [&](const std::unique_ptr<Member>& member) {
    if (is_in(*member) || !member->is_closed()) return false;
    member->add_traffic(counts);
    return true;
  });
}

void Roster::arrive(Member& member) {
  if (const auto old = arriving_.find(member.worker()); old != arriving_.end() && old->second != &member)
    old->second->refuse("another process joined in its place");
  arriving_[member.worker()] = &member;
}

bool Roster::stop_arriving(const Member& member) {
  const auto found = arriving_.find(member.worker());
  if (found == arriving_.end() || found->second != &member) return false;
  arriving_.erase(found);
  return true;
}

std::vector<int> Roster::arriving() const {
  std::vector<int> workers;
  for (const auto& [worker, member] : arriving_) workers.push_back(worker);
  return workers;
}

Member* Roster::admit(int worker, std::uint32_t epoch) {
  const auto arrived = arriving_.extract(worker);
  Member* const member = arrived.empty() ? nullptr : arrived.mapped();
  in_[worker] = {.member = member, .epoch = epoch};
  return member;
}

bool Roster::is_in(const Member& member) const {
  const auto found = in_.find(member.worker());
  return found != in_.end() && found->second.member == &member;
}

Member* Roster::present(int worker) const {
  const auto found = in_.find(worker);
  if (found == in_.end() || found->second.member == nullptr || found->second.member->is_closed())
    return nullptr;
  return found->second.member;
}

Member& Roster::committer(const Event& commit) const {
  const auto found = in_.find(static_cast<int>(commit.worker));
  TRAINYARD_CHECK(found != in_.end() && found->second.member != nullptr);
  Member& member = *found->second.member;
  TRAINYARD_CHECK(member.clock() == commit.clock && member.gradient_complete());
  return member;
}

Member* Roster::remove(int worker, std::uint32_t epoch) {
  const auto found = in_.find(worker);
  TRAINYARD_CHECK(found != in_.end() && found->second.epoch == epoch);
  Member* const member = found->second.member;
  in_.erase(found);
  return member;
}

std::vector<Member*> Roster::remove_all() {
  std::vector<Member*> members;
  for (const auto& [worker, seat] : std::exchange(in_, {}))
    if (seat.member != nullptr) members.push_back(seat.member);
  return members;
}

void WeightsSender::send_newest(Member* to) {
  if (to == nullptr) return;
  Member& member = *to;
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
    member.connection().send(
        {.kind = wire(Kind::weights),
         .flags = static_cast<std::uint16_t>((bf16_ ? kBf16 : 0) | (last ? kLast : 0)),
         .epoch = member.epoch(),
         .key = key,
         .clock = static_cast<std::uint64_t>(updates)},
        std::as_bytes(shard_.slice(values, key)),
        // Until all of it is sent. NOLINTNEXTLINE(bugprone-use-after-move): the last is one
        last ? std::move(keep) : std::function<void()>());
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
