// Passes over the memory of a rank that solvers of Poisson's equation need besides stencils.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/threads.h"
#include "tessera/comm/communicator.h"

namespace tessera::grid {

/// Returns the greatest |value + shift| of all ranks; infinity where one is not finite. Collective.
double largest_of(std::span<const double> values, double shift, const comm::Communicator& comm, ThreadPool& threads);

/// Returns the mean of `points` values on all ranks, none of which exceeds `largest`. Each is cut into two digits of up
/// to 40 bits, and the digits are summed as integers, so that the sum does not depend on an order. Collective.
double mean_of(std::span<const double> values, double largest, std::int64_t points, const comm::Communicator& comm,
               ThreadPool& threads);

/// Adds: values += shift.
void add_constant(double shift, std::span<double> values, ThreadPool& threads);
/// Multiplies: to = factor · from.
void scale(std::span<const double> from, double factor, std::span<double> to, ThreadPool& threads);
void scale(std::span<const float> from, double factor, std::span<double> to, ThreadPool& threads);
/// Computes to = factor · (from + shift).
void shift_and_scale(std::span<const double> from, double shift, double factor, std::span<float> to,
                     ThreadPool& threads);
/// Computes to += factor · from.
void add_scaled(std::span<const double> from, double factor, std::span<double> to, ThreadPool& threads);
void add_scaled(std::span<const float> from, double factor, std::span<double> to, ThreadPool& threads);

}  // namespace tessera::grid
