#pragma once

// All of the library: build or import a network, train it, measure it, predict it. docs/library.md is the
// guide.

#include "trainyard/error.h"
#include "trainyard/measure.h"
#include "trainyard/network.h"
#include "trainyard/predict.h"
#include "trainyard/settings.h"
#include "trainyard/train.h"
#include "trainyard/version.h"
