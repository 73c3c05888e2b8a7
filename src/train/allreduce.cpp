#include "train/exchange.h"

namespace trainyard::train {
namespace {

using comm::collective::Collective;

// Of gradients that are sent while others are still computed: large enough that the messages cost more than
// their number.
constexpr std::size_t kBucketElements = std::size_t{1} << 18;

class AllReduce final : public Exchange {
 public:
  AllReduce(const std::vector<Session*>& sessions, const std::vector<Collective*>& ranks) {
    for (std::size_t i = 0; i < sessions.size(); ++i) members_.push_back({sessions[i], ranks[i], {}, 0});
  }

  void fetch(int) override {}

  // Layers end from the last to the first, so a bucket grows downwards as a rule.
  void ready(int device, std::size_t first, std::size_t elements) override {
    Member& member = members_[static_cast<std::size_t>(device)];
    Bucket& bucket = member.bucket;
    if (first + elements == bucket.first) {
      bucket = {first, bucket.elements + elements};
    } else if (bucket.first + bucket.elements == first) {
      bucket.elements += elements;
    } else {
      send(member);
      bucket = {first, elements};
    }
    if (bucket.elements >= kBucketElements) send(member);
  }

  void update(int device, const backend::StepContext& context) override {
    Member& member = members_[static_cast<std::size_t>(device)];
    if (member.sent + member.bucket.elements == 0) {
      member.session->executor().device().wait();
      member.rank->all_reduce_mean(gradients(member));
    } else {
      send(member);
      TRAINYARD_CHECK(member.sent == gradients(member).size());
      member.rank->finish();
      member.sent = 0;
    }
    member.session->executor().run_update(context);
  }

  Session& keeper() override { return *members_.front().session; }

 private:
  struct Bucket {
    std::size_t first = 0, elements = 0;
  };
  struct Member {
    Session* session;
    Collective* rank;
    Bucket bucket;     // final, and not sent yet
    std::size_t sent;  // elements, in this step
  };

  static std::span<float> gradients(const Member& member) {
    return member.session->numbers(plan::Region::gradients);
  }

  static void send(Member& member) {
    if (member.bucket.elements > 0) {
      member.session->executor().device().wait();
      member.rank->start(gradients(member).subspan(member.bucket.first, member.bucket.elements));
    }
    member.sent += member.bucket.elements;
    member.bucket = {};
  }

  std::vector<Member> members_;  // by device of this process
};

}  // namespace

std::unique_ptr<Exchange> make_allreduce(const std::vector<Session*>& sessions,
                                         const std::vector<Collective*>& ranks) {
  TRAINYARD_CHECK(sessions.size() == ranks.size());
  return std::make_unique<AllReduce>(sessions, ranks);
}

}  // namespace trainyard::train
