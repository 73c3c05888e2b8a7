#include "report/page_parts.h"

namespace trainyard::report {

const char* const kFitScript = R"js(function fit_spec(spec, width) {
  const fit = spec.usermeta, fitted = JSON.parse(JSON.stringify(spec));
  const letters = Math.max(...spec.data.values.map(row => (row.series || '').length));
  fitted.config.legend.columns = Math.max(1, Math.floor(width / (Math.min(7 * letters, 260) + 50)));
  if (!fitted.facet) {
    fitted.width = width;
    fitted.autosize = {type: 'fit-x', contains: 'padding'};
    return fitted;
  }
  fitted.columns = Math.max(1, Math.min(fit.most_columns, Math.floor(width / fit.least_width)));
  fitted.spec.width = Math.max(120, Math.floor(width / fitted.columns) - fit.margin);
  fitted.spacing = {column: fit.margin, row: 84};
  fitted.bounds = 'flush';
  fitted.config.header.labelLimit = fitted.spec.width;
  return fitted;
}
)js";

}  // namespace trainyard::report
