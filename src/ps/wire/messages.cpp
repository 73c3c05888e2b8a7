#include "ps/wire/messages.h"

#include <sstream>

namespace trainyard::ps {

namespace {

// Keys begin at cache lines.
constexpr std::int64_t kAlignment = 64 / sizeof(float);

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::vector<Key> make_keys(std::int64_t elements, int servers, std::int64_t most_key_bytes) {
  TRAINYARD_CHECK(elements >= 0 && servers >= 1);
  const std::int64_t lines = divide_up(elements, kAlignment);
  const std::int64_t most_lines =
      std::max<std::int64_t>(1, most_key_bytes / static_cast<std::int64_t>(sizeof(float)) / kAlignment);
  // As many for every server; fewer where there are not enough lines for that.
  const std::int64_t count = std::min(lines, divide_up(lines, servers * most_lines) * servers);
  std::vector<Key> keys;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = lines * i / count * kAlignment;
    const std::int64_t end = std::min(lines * (i + 1) / count * kAlignment, elements);
    keys.push_back({first, end - first, static_cast<int>(i % servers)});
  }
  return keys;
}

namespace {

// Appends numbers, little end first.
class Writer {
 public:
  template <typename... Numbers>
  Writer& add(const Numbers&... numbers) {
    (add_one(numbers), ...);
    return *this;
  }
  Writer& add_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Bytes take() { return std::move(bytes_); }

 private:
  template <typename Number>
  void add_one(Number number) {
    std::array<std::byte, sizeof(Number)> place;
    comm::transport::put(place.data(), number);
    add_bytes(place);
  }

  Bytes bytes_;
};

class Reader {
 public:
  Reader(const char* what, std::span<const std::byte> bytes) : what_(what), bytes_(bytes) {}

  template <typename... Numbers>
  Reader& get(Numbers&... numbers) {
    (get_one(numbers), ...);
    return *this;
  }
  std::span<const std::byte> rest() { return std::exchange(bytes_, {}); }
  std::size_t left() const { return bytes_.size(); }
  void end() const {
    if (!bytes_.empty()) fail(ErrorKind::peer, "{} came with {} bytes too many", what_, bytes_.size());
  }
  void need(std::size_t bytes) const {
    if (bytes_.size() < bytes) fail(ErrorKind::peer, "{} came {} bytes short", what_, bytes - bytes_.size());
  }

 private:
  template <typename Number>
  void get_one(Number& number) {
    need(sizeof(Number));
    comm::transport::get(bytes_.data(), number);
    bytes_ = bytes_.subspan(sizeof(Number));
  }

  const char* what_;
  std::span<const std::byte> bytes_;
};

}  // namespace

Bytes encode(const Welcome& welcome) {
  return Writer().add(welcome.elements, welcome.keys, welcome.servers, welcome.server).take();
}

Welcome decode_welcome(std::span<const std::byte> bytes) {
  Welcome welcome;
  Reader("a welcome", bytes).get(welcome.elements, welcome.keys, welcome.servers, welcome.server).end();
  return welcome;
}

Bytes encode(const Event& event) {
  return Writer()
      .add(static_cast<std::uint8_t>(event.kind), event.worker, event.epoch, event.clock, event.batch,
           static_cast<std::uint8_t>(event.may_return))
      .add_bytes(bytes_of(event.reason))
      .take();
}

Event decode_event(std::span<const std::byte> bytes) {
  Event event;
  std::uint8_t kind = 0, may_return = 0;
  Reader reader("an event", bytes);
  reader.get(kind, event.worker, event.epoch, event.clock, event.batch, may_return);
  event.reason = text_of(reader.rest());
  if (kind < 1 || kind > 6) fail(ErrorKind::peer, "an event of kind {} came", kind);
  event.kind = static_cast<Event::Kind>(kind);
  event.may_return = may_return != 0;
  return event;
}

Bytes encode(const std::vector<Counted>& gradients) {
  Writer writer;
  for (const Counted& one : gradients) writer.add(one.update, one.batch, one.clock, one.worker);
  return writer.take();
}

std::vector<Counted> decode_history(std::span<const std::byte> bytes) {
  std::vector<Counted> gradients;
  Reader reader("a history", bytes);
  while (reader.left() > 0) {
    Counted one;
    reader.get(one.update, one.batch, one.clock, one.worker);
    gradients.push_back(one);
  }
  return gradients;
}

Bytes encode(const Noted& noted, std::span<const std::byte> note) {
  return Writer()
      .add(noted.worker, noted.clock, noted.batch, noted.updates, noted.staleness, noted.nanoseconds,
           noted.waiting)
      .add_bytes(note)
      .take();
}

Noted decode_noted(std::span<const std::byte> bytes, Bytes& note) {
  Noted noted;
  Reader reader("a note", bytes);
  reader.get(noted.worker, noted.clock, noted.batch, noted.updates, noted.staleness, noted.nanoseconds,
             noted.waiting);
  const std::span<const std::byte> rest = reader.rest();
  note.assign(rest.begin(), rest.end());
  return noted;
}

LedgerStart start_of(const Ledger& ledger) {
  return {.updates = ledger.updates(),
          .next_batch = ledger.next_batch(),
          .loose = {ledger.loose().begin(), ledger.loose().end()}};
}

Bytes encode(const LedgerStart& start) {
  Writer writer;
  writer.add(start.updates, start.next_batch);
  for (const std::int64_t batch : start.loose) writer.add(batch);
  return writer.take();
}

LedgerStart decode_start(std::span<const std::byte> bytes) {
  LedgerStart start;
  Reader reader("the beginning of a ledger", bytes);
  reader.get(start.updates, start.next_batch);
  while (reader.left() > 0) reader.get(start.loose.emplace_back());
  if (start.loose.size() > Ledger::kMostLoose)
    fail(ErrorKind::peer, "a ledger with {} loose batches came", start.loose.size());
  return start;
}

Bytes encode(const ServerCounts& counts) {
  Writer writer;
  writer.add(counts.updates, counts.gradients, counts.refused_gradients, counts.joined, counts.left,
             counts.most_waiting, counts.interruptions, counts.apply_nanoseconds, counts.elements,
             counts.bytes_received, counts.bytes_sent);
  for (const auto& [staleness, gradients] : counts.staleness) writer.add(staleness, gradients);
  return writer.take();
}

ServerCounts decode_counts(std::span<const std::byte> bytes) {
  ServerCounts counts;
  Reader reader("counts", bytes);
  reader.get(counts.updates, counts.gradients, counts.refused_gradients, counts.joined, counts.left,
             counts.most_waiting, counts.interruptions, counts.apply_nanoseconds, counts.elements,
             counts.bytes_received, counts.bytes_sent);
  while (reader.left() > 0) {
    std::int64_t staleness = 0, gradients = 0;
    reader.get(staleness, gradients);
    counts.staleness[staleness] = gradients;
  }
  return counts;
}

std::vector<comm::transport::Address> addresses_of(std::span<const std::byte> lines) {
  std::vector<comm::transport::Address> addresses;
  std::istringstream text(text_of(lines));
  for (std::string line; std::getline(text, line);)
    addresses.push_back(comm::transport::Address::parse(line));
  return addresses;
}

// The bytes are exchanged between machines of one kind, as weights are.
Bytes encode(const Ledger& ledger) {
  Bytes bytes(sizeof ledger);
  std::memcpy(bytes.data(), &ledger, sizeof ledger);
  return bytes;
}

Ledger decode_ledger(std::span<const std::byte> bytes) {
  Ledger ledger;
  if (bytes.size() != sizeof ledger)
    fail(ErrorKind::peer, "a ledger of {} bytes came, it has {}", bytes.size(), sizeof ledger);
  std::memcpy(static_cast<void*>(&ledger), bytes.data(), sizeof ledger);
  if (!ledger.is_sound()) fail(ErrorKind::peer, "a ledger came that contradicts itself");
  return ledger;
}

}  // namespace trainyard::ps
