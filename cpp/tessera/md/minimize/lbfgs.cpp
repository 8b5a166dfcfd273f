#include "tessera/md/minimize/lbfgs.h"

#include <cmath>

namespace tessera::md::minimize {

void Lbfgs::set(std::size_t i, const Row& row) {
  for (std::size_t j = 0; j < n_basis; ++j) product_[i][j] = product_[j][i] = row[j];
}

void Lbfgs::add(const Row& with_s, const Row& with_y, const Row& with_g) {
  const std::size_t s = next_, y = y_of(next_);
  set(g, with_g);
  // A pair of little curvature would make H very large or indefinite.
  constexpr double least_cosine = 1e-6;
  const bool is_curved = with_s[y] > least_cosine * std::sqrt(with_s[s] * with_y[y]);
  if (!is_curved) {
    if (size_ == memory) --size_;  // its vectors lie where the oldest were
    return;
  }
  set(s, with_s);
  set(y, with_y);
  next_ = (next_ + 1) % memory;
  if (size_ < memory) ++size_;
}

Lbfgs::Row Lbfgs::direction() const {
  Row c{};
  c[g] = -1;
  const auto with = [&](std::size_t i) {
    double sum = 0;
    for (std::size_t j = 0; j < n_basis; ++j)
      if (c[j] != 0) sum += c[j] * product_[j][i];
    return sum;
  };
  std::array<double, memory> alpha{};
  for (std::size_t age = 0; age < size_; ++age) {
    const auto s = place(age), y = y_of(s);
    alpha[age] = with(s) / product_[s][y];
    c[y] -= alpha[age];
  }
  const auto newest = place(0);
  const double scale = product_[newest][y_of(newest)] / product_[y_of(newest)][y_of(newest)];
  for (auto& value : c) value *= scale;
  for (std::size_t age = size_; age-- > 0;) {
    const auto s = place(age), y = y_of(s);
    c[s] += alpha[age] - with(y) / product_[s][y];
  }
  return c;
}

}  // namespace tessera::md::minimize
