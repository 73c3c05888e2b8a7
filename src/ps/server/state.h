#pragma once

#include <atomic>

#include "ps/wire/ledger.h"
#include "ps/wire/messages.h"

namespace trainyard::ps {

// All numbers of a run at one moment, and what counts by then: what a run begins with, what a checkpoint has.
struct State {
  // Holds the parameters, then the slots of the optimizer, each as long as the parameters.
  std::vector<std::vector<float>> arrays;
  LedgerStart start;
};

// A server's part of an array: its keys one behind the other; and back.
std::vector<float> part_of(std::span<const float> array, const std::vector<Key>& keys, int server);
void put_part(std::span<const float> part, const std::vector<Key>& keys, int server, std::span<float> array);

// Holds the state that a server must still have after it was killed: parameters, optimizer state, gradients
// that it has promised to take, and the ledger. The state lies in a mapped file: the system keeps what was
// written to it, however the process ends. It does not protect against a machine that fails; checkpoints do.
//
// Nothing that counts is ever overwritten: a new version is written beside the old one, and one store of one
// word puts it in its place.
class StateMemory {
 public:
  struct Sizes {
    std::int64_t elements = 0;  // of the shard
    int slots = 0;              // arrays of the optimizer, each as long as the parameters
    int versions = 2, gradients = 1;
    std::uint64_t run = 0;  // which one: what another run left is not taken over

    bool operator==(const Sizes&) const = default;
  };

  // The state lies in `file`, which is taken over if it is of this run and was begun. Without a file it lies
  // in memory that goes with the process. Error (io).
  StateMemory(const std::filesystem::path& file, const Sizes& sizes);
  ~StateMemory();
  StateMemory(const StateMemory&) = delete;
  StateMemory& operator=(const StateMemory&) = delete;

  const Sizes& sizes() const { return sizes_; }

  // Returns false until the first version is there.
  bool has_begun() const { return head_->begun.load(std::memory_order_acquire) != 0; }
  void mark_begun() { head_->begun.store(1, std::memory_order_release); }

  // Returns the port at which the server listened, because a restarted server must be found in the same
  // place; 0: none yet.
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(head_->port.load(std::memory_order_acquire));
  }
  void set_port(std::uint16_t port) { head_->port.store(port, std::memory_order_release); }

  // Returns the memory of the versions: as many parameter arrays as the sizes say, and two of the optimizer
  // state.
  std::vector<std::span<float>> parameters() const;
  std::span<float> slots(int copy) const;

  struct Version {
    std::int64_t updates = 0;
    int parameters = 0, slots = 0;  // numbers of what they lie in
  };
  Version version() const;
  void set_version(const Version& version);
  void count_update();  // of a version that is changed where it is; by any thread

  const Ledger& ledger() const { return ledgers_[head_->ledger.load(std::memory_order_acquire)]; }
  void set_ledger(const Ledger& ledger);

  std::vector<std::span<float>> gradients() const;
  // From here on the gradient survives, as that of this worker and clock, until it is dropped.
  void keep_gradient(int number, std::uint32_t worker, std::uint64_t clock);
  void drop_gradient(int number);
  // Empty when there is none.
  std::span<const float> kept_gradient(std::uint32_t worker, std::uint64_t clock) const;
  void drop_all_gradients();

 private:
  struct Tag {
    std::atomic<std::uint32_t> kept;
    std::uint32_t worker;
    std::uint64_t clock;
  };
  struct Head {
    char magic[8];
    std::uint32_t format;
    std::atomic<std::uint32_t> begun;
    Sizes sizes;
    std::atomic<std::uint64_t> version;  // packed
    std::atomic<std::uint32_t> ledger;   // which of the two
    std::atomic<std::uint32_t> port;
  };
  std::span<float> floats(std::size_t offset, std::int64_t count) const;

  Sizes sizes_;
  std::size_t bytes_ = 0, tags_at_ = 0, parameters_at_ = 0, slots_at_ = 0, gradients_at_ = 0;
  std::byte* memory_ = nullptr;
  Head* head_ = nullptr;
  Ledger* ledgers_ = nullptr;
  Tag* tags_ = nullptr;
};

}  // namespace trainyard::ps
