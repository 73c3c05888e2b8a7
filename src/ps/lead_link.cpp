#include "ps/lead_link.h"

#include <utility>

namespace trainyard::ps {

namespace transport = comm::transport;
using transport::Frame;

void LeadLink::call(const transport::Address& lead) {
  call_ = transport::call(
      loop_, lead, &key_,
      {.role = static_cast<std::uint8_t>(Role::server), .id = static_cast<std::uint32_t>(server_)}, {},
      [this](std::unique_ptr<transport::Connection> connection) {
        peer_ = std::make_unique<Peer>(
            std::move(connection),
            [this](const Frame& frame, std::span<const std::byte> payload) {
              owner_.heard_from_lead(frame, payload);
            },
            [this](const std::string& reason) { owner_.lead_is_lost(reason); });
        owner_.lead_is_here();
      },
      [this, lead](const std::string&) { retry_ = loop_.after(0.1, [this, lead] { call(lead); }); });
}

void LeadLink::agree() {
  agreed_ = true;
  say({.kind = wire(Kind::agreed)});
}

void LeadLink::seen(int worker) {
  if (is_here() && agreed_) say({.kind = wire(Kind::seen), .key = static_cast<std::uint32_t>(worker)});
}

void LeadLink::lost(int worker, std::uint32_t epoch, const std::string& reason, bool may_return) {
  if (!is_here() || !agreed_) return;
  const std::span<const std::byte> words = bytes_of(reason);
  say({.kind = wire(Kind::lost),
       .flags = may_return ? kReturn : std::uint16_t{0},
       .epoch = epoch,
       .key = static_cast<std::uint32_t>(worker)},
      {words.begin(), words.end()});
}

void LeadLink::prepared(int worker, std::uint32_t epoch, std::uint64_t clock,
                        std::optional<std::uint32_t> bad_key) {
  if (!is_here() || !agreed_) return;
  say({.kind = wire(Kind::prepared),
       .flags = bad_key ? kBad : std::uint16_t{0},
       .epoch = epoch,
       .sender = bad_key.value_or(0),
       .key = static_cast<std::uint32_t>(worker),
       .clock = clock});
}

}  // namespace trainyard::ps
