#include "ps/client/link.h"

#include "base/clock.h"

namespace trainyard::ps {

using comm::transport::Frame;

Link::Link(Owner& owner, int server, const std::vector<Key>& keys, std::span<float> parameters,
           std::unique_ptr<comm::transport::Connection> connection)
    : owner_(owner),
      server_(server),
      keys_(keys),
      parameters_(parameters),
      connection_(std::move(connection)) {
  connection_->start(*this);
}

void Link::send(Kind kind, std::uint64_t clock, std::uint32_t key, std::uint16_t flags,
                std::span<const std::byte> payload, std::function<void()> sent) {
  if (kind == Kind::push) in_use_ = false;  // the server answers when it has all of them
  connection_->send({.kind = wire(kind), .flags = flags, .epoch = epoch_, .key = key, .clock = clock},
                    payload, std::move(sent));
}

void Link::take_weights() {
  has_weights_ = false;
  in_use_ = true;
}

std::span<float> Link::slice(std::uint32_t key) const {
  if (key >= keys_.size() || keys_[key].server != server_)
    fail(ErrorKind::peer, "server {} sent key {}, which is not its own", server_, key);
  return parameters_.subspan(static_cast<std::size_t>(keys_[key].first),
                             static_cast<std::size_t>(keys_[key].elements));
}

std::span<std::byte> Link::room_for(const Frame& frame) {
  if (static_cast<Kind>(frame.kind) != Kind::weights) {
    words_.resize(frame.payload_bytes);
    return words_;
  }
  if (in_use_ || frame.epoch != epoch_) fail(ErrorKind::peer, "server {} sent weights out of turn", server_);
  has_weights_ = false;  // newer ones, before those were used
  if (!std::exchange(coming_, true)) first_came_at_ = now_seconds();
  const std::span<float> to = slice(frame.key);
  const bool rounded = (frame.flags & kBf16) != 0;
  if (frame.payload_bytes != to.size() * (rounded ? sizeof(BFloat16) : sizeof(float)))
    fail(ErrorKind::peer, "server {} sent key {} with {} bytes", server_, frame.key, frame.payload_bytes);
  if (!rounded) return std::as_writable_bytes(to);
  rounded_.resize(to.size());
  return std::as_writable_bytes(std::span(rounded_));
}

void Link::arrived(const Frame& frame, std::span<std::byte> payload) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::welcome: {
      const Welcome welcome = decode_welcome(payload);
      if (welcome.elements != static_cast<std::int64_t>(parameters_.size()) || welcome.server != server_ ||
          welcome.keys != static_cast<std::int32_t>(keys_.size()))
        fail(ErrorKind::peer, "server {} has {} parameters in {} keys as number {}, this worker {} in {}",
             server_, welcome.elements, welcome.keys, welcome.server, parameters_.size(), keys_.size());
      epoch_ = frame.epoch;
      clock_ = frame.clock;
      return owner_.welcomed(*this);
    }
    case Kind::weights:
      if ((frame.flags & kBf16) != 0) widen_numbers(rounded_, slice(frame.key));
      if ((frame.flags & kLast) == 0) return;
      has_weights_ = true;
      coming_ = false;
      updates_ = static_cast<std::int64_t>(frame.clock);
      return owner_.weights_are_here(*this);
    case Kind::lease:
      return owner_.lent(*this, static_cast<std::int64_t>(frame.clock));
    case Kind::done:
      return owner_.all_done(*this);
    case Kind::refusal:
      refused_ = (frame.flags & kReturn) == 0;
      refusal_ = {reinterpret_cast<const char*>(payload.data()), payload.size()};
      return;
    default:
      return;
  }
}

void Link::closed(const std::string& reason) {
  owner_.lost(*this, refusal_.empty() ? reason : "it was refused: " + refusal_, refused_);
}

}  // namespace trainyard::ps
