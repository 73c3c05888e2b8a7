#pragma once

#include "data/recipe/augment.h"
#include "data/source/dataset.h"
#include "data/view/batch_stream.h"
#include "networks/zoo/zoo.h"
#include "train/session/session.h"

namespace trainyard::train {

// MatchedInput is the preprocessing that samples of a data set get on their way into a network.
struct MatchedInput {
  Shape network;    // for ModelOptions::input
  int classes = 0;  // for ModelOptions::classes; 0: the network reads sequences, and has its vocabulary
  data::Preprocess preprocess;
};

// Error (usage) when the network reads images and the data set has sequences, or the other way round.
// `dataset` is a name as DatasetOptions has it.
void want_readable(const networks::NetworkInfo& network, const std::string& dataset);

// Returns the sequences that the network reads. REQUIRES: it reads sequences.
data::SequenceOptions sequences_for(const networks::NetworkInfo& network,
                                    const networks::generator::Given& parameters);

// Returns the network's own rows and columns with the data set's channels; a network on flat input takes the
// whole image as it comes, of encoded ones in the size of the first. `preprocess` empty: the network's own.
// Error (config) when the preprocessing cannot make that size; Error (usage) as want_readable().
MatchedInput match_input(const networks::NetworkInfo& network, const data::Dataset& dataset,
                         const std::string& preprocess);

// Returns a synthetic set for a network: images of its input, as many as fit into a modest memory.
data::SyntheticOptions synthetic_for(const networks::NetworkInfo& network, int classes, std::uint64_t seed);

// The course of the loss over time, in a bounded number of points: when there are too many, neighbours are
// merged.
class LossCurve {
 public:
  static constexpr std::size_t kMostPoints = 1000;

  struct Point {
    double seconds = 0;  // since the first step of this run began, until the last gradient of the point
    std::int64_t gradients = 0;  // made by all workers in that time
    double loss = 0;             // mean over the gradients of this point

    bool operator==(const Point&) const = default;
  };

  LossCurve() { points_.reserve(kMostPoints); }

  // So many more gradients, of this mean loss; `seconds` as in Point, never less than before.
  void add(double seconds, std::int64_t gradients, double loss);
  // Returns the points of all gradients added so far; the last may cover fewer gradients than the others.
  const std::vector<Point>& points() const { return points_; }

 private:
  void merge_neighbours();

  std::vector<Point> points_;
  std::int64_t per_point_ = 1;    // calls of add()
  std::int64_t in_last_ = 0;      // the same, so far
  std::int64_t before_last_ = 0;  // gradients before the last point
};

// Returns true when the last losses of a run, the first one of all not among them, are in the median more
// than a thousand times the first, or a thousand where that is below one: what was learnt is lost, though
// each is a number. A network that says one class with certainty has no loss at all on a batch that happens
// to be of it, so that single low losses do not count. A loss that jumps and comes back before the end is
// none.
bool has_diverged(double first_loss, std::span<const double> last_losses);

// Runs the session's network on the test samples; it is built once and run many times. It uses the moving
// average of the weights if the session keeps one.
class Evaluator {
 public:
  // The session must outlive it. Error when there are no test samples.
  Evaluator(const Session& session, data::MakeBatches batches, const data::Preprocess& preprocess);

  // The share that it names right, over the whole test split: of images, of steps, or of anchors that are to
  // find a box. Stops early, with a meaningless result, when StopRequest::asked().
  double accuracy();

  // The mean loss of a step that is asked for a token, in nats, of the last accuracy() of a network that
  // reads sequences; of one that finds boxes, of a batch.
  std::optional<double> loss() const { return loss_; }

  // Is told of each test image in turn, or of each step of each sequence that counts, whose label is the next
  // token or the masked one; a label below 0: the image is damaged, and counts for nothing.
  using Hear = std::function<void(std::span<const float> logits, std::int32_t label)>;
  void evaluate(const Hear& hear);

 private:
  void hear_images(const data::Batch& batch, const Hear& hear) const;
  void hear_steps(const data::Batch& batch, const Hear& hear) const;
  void hear_anchors(const data::Batch& batch, const Hear& hear);

  const Session& session_;
  const data::MakeBatches batches_;
  const Session::InputNames names_;
  const bool sequences_;
  data::BatchStreamOptions stream_;
  std::optional<double> loss_;
  std::vector<double> batch_losses_;  // of a network that finds boxes
  std::unique_ptr<engine::Executor> executor_;
  HostTensor logits_;
};

}  // namespace trainyard::train
