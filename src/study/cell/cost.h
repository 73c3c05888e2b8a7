#pragma once

#include "predict/analytic/predictor.h"
#include "study/cell/check.h"
#include "study/run/folder.h"
#include "study/run/run_study.h"
#include "study/spec/job.h"
#include "study/spec/plan.h"

namespace trainyard::study {

enum class EstimatedBy { nothing, measured, predicted, similar };

const char* name(EstimatedBy by);

// The estimated time of one run of a cell.
struct Estimate {
  EstimatedBy by = EstimatedBy::nothing;
  double seconds = 0;
  std::optional<double> low_seconds{}, high_seconds{};  // of a prediction whose model has intervals
  std::string reason{};                                 // why the model does not predict it

  bool known() const { return by != EstimatedBy::nothing; }
};

using Estimates = std::map<std::string, Estimate>;  // by cell; none of cells that can never run

// Shows the progress of runs by their estimated times. One without an estimate counts as the mean of the
// others.
class TimeLeft {
 public:
  TimeLeft(const Estimates& estimates, std::span<const Job> jobs);

  bool known() const { return total_seconds_ > 0; }
  void finished(const record::RunRecord& run);
  double share() const;    // that is done. REQUIRES: known()
  double seconds() const;  // of what is not, times how far off the estimates of the finished runs were

 private:
  double seconds_of(const std::string& cell) const;

  std::map<std::string, double> known_seconds_;  // by cell
  double mean_seconds_ = 0, total_seconds_ = 0, done_seconds_ = 0;
  double actual_seconds_ = 0, estimated_seconds_ = 0;  // of good runs with an estimate
};

// A CostModel is a model of time and the device that it is asked for.
struct CostModel {
  std::string file;
  std::unique_ptr<predict::Predictor> predictor;
  predict::DeviceSheet device;
};

// Measured: the mean of the cell's good runs among `earlier`. Else predicted, by a model if there is one.
// Else similar: the mean of the estimates of other cells, where one of those is measured.
Estimates estimate_cells(const Spec& spec, const Plan& plan, const std::vector<record::RunRecord>& earlier,
                         const CostModel* model);

// The same, from every run that lies in the folder; it need not be there.
Estimates estimate_cells(const Spec& spec, const Plan& plan, const Folder& folder, const CostModel* model);

// The cost of several runs together. `seconds` adds up the runs that have an estimate, as if they ran one
// after the other.
struct RunsCost {
  double seconds = 0;
  std::optional<double> low_seconds{}, high_seconds{};                 // as if all predictions erred alike
  std::int64_t measured = 0, predicted = 0, similar = 0, unknown = 0;  // runs
  double core_hours = 0, gpu_hours = 0;
  std::optional<double> node_hours{};             // where nodes are asked for
  std::map<std::string, std::int64_t> reasons{};  // runs without an estimate, by why the model has none

  std::int64_t known() const { return measured + predicted + similar; }
  std::int64_t runs() const { return known() + unknown; }
  std::string sources() const;  // "12 measured, 10 predicted"
};

RunsCost cost_of_runs(const Estimates& estimates, std::span<const Job> jobs, Where where);

struct StudyCost {
  double steps = 0, images = 0;  // 0: not known from the settings
  double at_most_seconds = 0;    // by the time limit; 0: there is none
  std::int64_t done = 0;         // runs of the plan
  RunsCost left;                 // of the others, but those that can never run
};

StudyCost cost_of(const Spec& spec, const Plan& plan, const Folder& folder, const Estimates& estimates,
                  Where where);

}  // namespace trainyard::study
