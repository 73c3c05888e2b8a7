#include "train/exchange/exchange.h"

namespace trainyard::train {

namespace {

using comm::collective::Collective;

// Number of gradients that are sent at once while others are still computed: large enough that the cost of a
// message is dominated by its size.
constexpr std::size_t kBucketElements = std::size_t{1} << 18;

// A member is one device's part. It sends gradients in buckets while the backward pass goes on, where the
// ranks can take them then and the executor tells which are final; else all of them at the end. Both give the
// same bits.
class Member {
 public:
  Member(Session& session, Collective& rank)
      : session_(session),
        rank_(rank),
        early_(rank.overlaps() && session.executor().on_host()),
        ready_([this](std::int64_t first, std::int64_t elements) {
          add(static_cast<std::size_t>(first), static_cast<std::size_t>(elements));
        }) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  Session& session() { return session_; }

  void gradients(const backend::StepContext& context) {
    if (early_) return session_.executor().run_gradients(context, ready_);
    session_.executor().run_gradients(context);
  }

  void update(const backend::StepContext& context) {
    const std::span<float> all = session_.numbers(plan::Region::gradients);
    if (sent_ + bucket_.elements == 0) {
      session_.executor().device().wait();
      rank_.all_reduce_mean(all);
    } else {
      send();
      TRAINYARD_CHECK(sent_ == all.size());
      rank_.finish();
      sent_ = 0;
    }
    session_.executor().run_update(context);
  }

 private:
  struct Bucket {
    std::size_t first = 0, elements = 0;
  };

  // Layers end from the last to the first, so a bucket grows downwards as a rule.
  void add(std::size_t first, std::size_t elements) {
    if (first + elements == bucket_.first) {
      bucket_ = {first, bucket_.elements + elements};
    } else if (bucket_.first + bucket_.elements == first) {
      bucket_.elements += elements;
    } else {
      send();
      bucket_ = {first, elements};
    }
    if (bucket_.elements >= kBucketElements) send();
  }

  void send() {
    if (bucket_.elements > 0)
      rank_.start(session_.numbers(plan::Region::gradients).subspan(bucket_.first, bucket_.elements));
    sent_ += bucket_.elements;
    bucket_ = {};
  }

  Session& session_;
  Collective& rank_;
  const bool early_;
  const engine::Executor::Ready ready_;
  Bucket bucket_;         // final, and not sent yet
  std::size_t sent_ = 0;  // elements, in this step
};

// Every device keeps parameters and optimizer of its own: equal updates keep them equal.
class AllReduce final : public Exchange {
 public:
  AllReduce(const std::vector<Session*>& sessions, const std::vector<Collective*>& ranks) {
    TRAINYARD_CHECK(sessions.size() == ranks.size());
    for (std::size_t i = 0; i < sessions.size(); ++i)
      members_.push_back(std::make_unique<Member>(*sessions[i], *ranks[i]));
  }

  std::optional<std::int64_t> fetch(int, std::int64_t step) override { return step; }
  void gradients(int device, const backend::StepContext& context) override {
    member(device).gradients(context);
  }
  void update(int device, const backend::StepContext& context) override { member(device).update(context); }
  Session& keeper() override { return member(0).session(); }

 private:
  Member& member(int device) { return *members_[static_cast<std::size_t>(device)]; }

  std::vector<std::unique_ptr<Member>> members_;  // by device of this process
};

}  // namespace

std::unique_ptr<Exchange> make_allreduce(const std::vector<Session*>& sessions,
                                         const std::vector<Collective*>& ranks) {
  return std::make_unique<AllReduce>(sessions, ranks);
}

}  // namespace trainyard::train
