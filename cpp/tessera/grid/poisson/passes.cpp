#include "tessera/grid/poisson/passes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "tessera/base/fixed_point.h"

namespace tessera::grid {

namespace {

/// Runs function(begin, end) on shares of n values.
template <class Function>
void for_shares(std::size_t n, ThreadPool& threads, Function&& function) {
  threads.parallel_for(static_cast<std::int64_t>(n), [&](std::int64_t begin, std::int64_t end) {
    function(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  });
}

template <class From>
void scale_values(std::span<const From> from, double factor, std::span<double> to, ThreadPool& threads) {
  for_shares(from.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = factor * static_cast<double>(from[i]);
  });
}

template <class From>
void add_values(std::span<const From> from, double factor, std::span<double> to, ThreadPool& threads) {
  for_shares(from.size(), threads, [&](std::size_t begin, std::size_t end) {
    const From* source = from.data();
    double* target = to.data();
    for (std::size_t i = begin; i < end; ++i) target[i] += static_cast<double>(source[i]) * factor;
  });
}

}  // namespace

double largest_of(std::span<const double> values, double shift, const comm::Communicator& comm, ThreadPool& threads) {
  double found = 0;
  std::mutex one_at_a_time;
  for_shares(values.size(), threads, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t lanes = 8;
    std::array<double, lanes> most{}, faults{};  // x − x is 0 where x is finite
    const auto visit = [&](double value, std::size_t lane) {
      const double size = std::abs(value + shift);
      most[lane] = size > most[lane] ? size : most[lane];
      faults[lane] += size - size;
    };
    std::size_t i = begin;
    for (; i + lanes <= end; i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) visit(values[i + lane], lane);
    for (; i < end; ++i) visit(values[i], 0);
    const std::scoped_lock lock(one_at_a_time);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      found = faults[lane] == 0 ? std::max(found, most[lane]) : std::numeric_limits<double>::infinity();
  });
  comm.all_reduce_max(std::span(&found, 1));
  return found;
}

double mean_of(std::span<const double> values, double largest, std::int64_t points, const comm::Communicator& comm,
               ThreadPool& threads) {
  if (largest == 0) return 0;
  const int bits = std::min(40, 61 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(points))));
  int exponent = 0;
  std::frexp(largest, &exponent);
  const double radix = std::ldexp(1.0, bits);
  const double to_units = std::ldexp(1.0, std::min(bits - exponent, 1000));
  std::array<std::int64_t, 2> digits{};
  std::mutex one_at_a_time;
  for_shares(values.size(), threads, [&](std::size_t begin, std::size_t end) {
    std::array<std::int64_t, 2> sums{};
    // A number below 2⁵¹ plus this one is rounded to a whole number, which its lowest bits hold.
    constexpr double rounder = 6755399441055744.0;  // 3 · 2⁵¹
    constexpr auto none = std::bit_cast<std::int64_t>(rounder);
    for (std::size_t i = begin; i < end; ++i) {
      const double units = values[i] * to_units, whole = units + rounder;
      const double rest = (units - (whole - rounder)) * radix + rounder;
      sums[0] += std::bit_cast<std::int64_t>(whole) - none;
      sums[1] += std::bit_cast<std::int64_t>(rest) - none;
    }
    const std::scoped_lock lock(one_at_a_time);
    add_fixed(digits[0], sums[0]);
    add_fixed(digits[1], sums[1]);
  });
  comm.all_reduce_sum(digits);
  return (static_cast<double>(digits[0]) + static_cast<double>(digits[1]) / radix) / to_units /
         static_cast<double>(points);
}

void add_constant(double shift, std::span<double> values, ThreadPool& threads) {
  for_shares(values.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) values[i] += shift;
  });
}

void scale(std::span<const double> from, double factor, std::span<double> to, ThreadPool& threads) {
  scale_values(from, factor, to, threads);
}
void scale(std::span<const float> from, double factor, std::span<double> to, ThreadPool& threads) {
  scale_values(from, factor, to, threads);
}

void shift_and_scale(std::span<const double> from, double shift, double factor, std::span<float> to,
                     ThreadPool& threads) {
  for_shares(from.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<float>((from[i] + shift) * factor);
  });
}

void add_scaled(std::span<const double> from, double factor, std::span<double> to, ThreadPool& threads) {
  add_values(from, factor, to, threads);
}
void add_scaled(std::span<const float> from, double factor, std::span<double> to, ThreadPool& threads) {
  add_values(from, factor, to, threads);
}

}  // namespace tessera::grid
