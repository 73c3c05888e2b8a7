#pragma once

#include "backend/flat_update.h"
#include "backend/input.h"
#include "engine/canonical.h"
#include "ps/server/shard.h"
#include "ps/server/state.h"
#include "train/session/session.h"

namespace trainyard::train {

// WireLayout is the order of the numbers of a network in the one array that servers keep: parameters, then
// running statistics.
enum class WireLayout {
  native,  // as this plan has them in its memory: nothing is put in another order, and on the host, without
           // statistics, nothing is copied; but all workers must have the same
  canonical,  // plain and without gaps: whatever kernels a worker has
};

const char* name(WireLayout layout);

// Returns whether a gradient lies in the session's memory as its parameter does: in f32, in the same place.
bool can_be_native(const Session& session);

// SharedNumbers holds the numbers of a session in the layout of that array.
class SharedNumbers {
 public:
  // REQUIRES: the session outlives this; for gradients, that it keeps them.
  SharedNumbers(Session& session, WireLayout layout);

  std::int64_t elements() const { return parameters_count_ + statistics_count_; }
  std::int64_t parameters() const { return parameters_count_; }  // before the statistics
  // Returns a checksum of the layout; it is equal for two sessions only if each element means the same in
  // both.
  std::uint32_t fingerprint() const { return fingerprint_; }

  // Returns the arrays into which a client puts weights and from which it reads gradients: the session's own
  // memory if that has the layout of the array.
  std::span<float> weights() const { return weights_; }
  std::span<float> gradients() const { return gradients_here_; }
  // Takes the weights that have arrived in weights().
  void take_weights();
  // Computes the gradients of a step, and the statistics that it left; `ready` is told of ranges of
  // gradients().
  void run_gradients(const backend::StepContext& context, const engine::Executor::Ready& ready);

  // Returns all of it with the optimizer's slots.
  ps::State read_state();
  void write_state(const ps::State& state);

 private:
  engine::Executor& executor() { return session_.executor(); }
  std::size_t region_floats(plan::Region region) const;
  void read_region(plan::Region region, std::size_t first, std::span<float> to);
  void write_region(plan::Region region, std::size_t first, std::span<const float> from);
  void make_room();

  Session& session_;
  WireLayout layout_;
  bool direct_;  // weights and gradients are the session's memory
  engine::CanonicalArray parameters_, statistics_, gradients_;
  std::int64_t parameters_count_ = 0, statistics_count_ = 0;
  std::uint32_t fingerprint_ = 0;
  // Copies, used when the session's memory has another layout. They lie in memory that copies to and from the
  // device fastest, if the device has such.
  std::vector<float> weights_copy_, gradients_copy_;
  std::unique_ptr<backend::CopyQueue> pinned_;
  std::span<float> weights_, gradients_here_;
};

// Updates a server's shard: parameters by the optimizer, as every other run does, bit for bit; running
// statistics, which lie behind the parameters, become those that the workers send.
class ServerUpdate final : public ps::Updater {
 public:
  // `parameters`: how many of all elements are parameters; the rest are statistics.
  ServerUpdate(const ops::UpdateAttrs& attrs, const std::vector<ps::Key>& keys, int server,
               std::int64_t parameters);

  void apply(const From& from, const To& to, std::span<const float> gradient, std::int64_t step,
             int summed) override;
  float rate(std::int64_t step) const override;
  int slots() const override { return update_.slots(); }

 private:
  ops::UpdateAttrs attrs_;
  backend::FlatUpdate update_;
  std::int64_t parameters_ = 0;  // of the shard
};

}  // namespace trainyard::train
