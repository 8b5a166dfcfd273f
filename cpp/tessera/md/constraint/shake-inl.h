// Implements SHAKE and RATTLE with one group per lane; formulas and sources are in shake.h. It is included once for
// each instruction set.
//
// N is the number of constraints if it is known to the compiler, else −1, and A that of atoms. Systems are solved without row exchanges: at
// positions that satisfy the constraints the matrix is symmetric and positive definite, and it is close to that nearby.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::constraint {
namespace HWY_NAMESPACE {

template <int N>
struct Sizes {
  static constexpr int most = N < 0 ? max_group_constraints : std::max(N, 1);
};

/// Solves matrix·x = right by elimination, in place.
template <int N>
HWY_INLINE void Solve(V* matrix, V* right, int size) {
  const int n = N < 0 ? size : N;
  TESSERA_UNROLL
  for (int k = 0; k < n; ++k) {
    const V inverse = set(1) / matrix[k * n + k];
    matrix[k * n + k] = inverse;
    TESSERA_UNROLL
    for (int i = k + 1; i < n; ++i) {
      const V factor = matrix[i * n + k] * inverse;
      TESSERA_UNROLL
      for (int j = k + 1; j < n; ++j) matrix[i * n + j] = simd::NegMulAdd(factor, matrix[k * n + j], matrix[i * n + j]);
      right[i] = simd::NegMulAdd(factor, right[k], right[i]);
    }
  }
  TESSERA_UNROLL
  for (int k = n; k-- > 0;) {
    TESSERA_UNROLL
    for (int j = k + 1; j < n; ++j) right[k] = simd::NegMulAdd(matrix[k * n + j], right[j], right[k]);
    right[k] = right[k] * matrix[k * n + k];
  }
}

/// Returns the value of one of A atoms. A device keeps values in registers where it looks at each number in turn.
template <int N, int A>
HWY_INLINE Vectors Of(const Vectors* value, int atom) {
#ifdef TESSERA_LANE
  if constexpr (N >= 0) {
    Vectors found = value[0];
    TESSERA_UNROLL
    for (int a = 1; a < A; ++a)
      if (a == atom) found = value[a];
    return found;
  }
#endif
  return value[atom];
}
/// Changes the value of one of A atoms.
template <int N, int A>
HWY_INLINE void Change(Vectors* value, int atom, const Vectors& to) {
#ifdef TESSERA_LANE
  if constexpr (N >= 0) {
    TESSERA_UNROLL
    for (int a = 0; a < A; ++a)
      if (a == atom) value[a] = to;
    return;
  }
#endif
  value[atom] = to;
}

/// Computes vectors[k] = value[i] − value[j] of constraint k.
template <int N, int A>
HWY_INLINE void Differences(const ConstraintGroup& group, const Vectors* value, Vectors* vectors) {
  const int n = N < 0 ? group.n_constraints : N;
  TESSERA_UNROLL
  for (int k = 0; k < n; ++k) vectors[k] = Sub(Of<N, A>(value, group.pair[k][0]), Of<N, A>(value, group.pair[k][1]));
}

/// Applies velocity[i] += w_i·impulse and velocity[j] −= w_j·impulse with impulse = strength_k·direction_k.
template <int N, int A>
HWY_INLINE void Apply(const ConstraintGroup& group, const V* strength, const Vectors* direction, Vectors* velocity) {
  const int n = N < 0 ? group.n_constraints : N;
  TESSERA_UNROLL
  for (int k = 0; k < n; ++k) {
    const auto [i, j] = group.pair[k];
    Change<N, A>(velocity, i, MulAdd(strength[k] * set(group.inverse_mass[i]), direction[k], Of<N, A>(velocity, i)));
    Change<N, A>(velocity, j, NegMulAdd(strength[k] * set(group.inverse_mass[j]), direction[k], Of<N, A>(velocity, j)));
  }
}

/// Changes `velocity` so that a drift over `timestep` from `position` keeps the distances to a relative error of
/// `tolerance`. Returns the lanes where Newton's method converged.
template <int N, int A>
HWY_INLINE Mask Shake(const ConstraintGroup& group, const Vectors* position, Vectors* velocity, double timestep,
                      double tolerance) {
  constexpr int most = Sizes<N>::most;
  constexpr int max_iterations = 30;  // 3 or 4 suffice; a molecule that needs more has blown up
  const int n = N < 0 ? group.n_constraints : N;
  const D d;
  Vectors s[most], start[most], r[most];
  V lambda[most];
  Differences<N, A>(group, position, s);
  Differences<N, A>(group, velocity, start);
  TESSERA_UNROLL
  for (int k = 0; k < n; ++k) {
    r[k] = start[k] = MulAdd(set(timestep), start[k], s[k]);
    lambda[k] = hn::Zero(d);
  }
  for (int iteration = 0;; ++iteration) {
    V step[most], matrix[most * most];
    Mask done = hn::Eq(hn::Zero(d), hn::Zero(d));
    TESSERA_UNROLL
    for (int k = 0; k < n; ++k) {
      step[k] = set(0.5) * (set(group.distance2[k]) - Dot(r[k], r[k]));
      done = hn::And(done, hn::Abs(step[k]) <= set(tolerance * group.distance2[k]));
    }
    if (hn::AllTrue(d, done) || iteration == max_iterations) {
      TESSERA_UNROLL
      for (int k = 0; k < n; ++k) lambda[k] = lambda[k] * set(1 / timestep);
      Apply<N, A>(group, lambda, s, velocity);
      return done;
    }
    TESSERA_UNROLL
    for (int k = 0; k < n; ++k) {
      TESSERA_UNROLL
      for (int l = 0; l < n; ++l) matrix[k * n + l] = set(group.coupling[k * n + l]) * Dot(r[k], s[l]);
    }
    Solve<N>(matrix, step, n);
    // A converged lane stays as it is, however many iterations the others take.
    TESSERA_UNROLL
    for (int k = 0; k < n; ++k) lambda[k] = lambda[k] + hn::IfThenZeroElse(done, step[k]);
    // Velocities are computed from the initial ones each time, so that no error adds up over iterations.
    TESSERA_UNROLL
    for (int k = 0; k < n; ++k) {
      r[k] = start[k];
      TESSERA_UNROLL
      for (int l = 0; l < n; ++l) r[k] = MulAdd(set(group.coupling[k * n + l]) * lambda[l], s[l], r[k]);
    }
  }
}

/// Holds the result of RATTLE: an impulse μ_k along each constrained vector r_k, amu·(unit of velocity)/Å.
template <int N>
struct Impulses {
  V mu[Sizes<N>::most];
  Vectors r[Sizes<N>::most];
  Mask is_solved;
};

/// Removes the part of `velocity` that would change the distances.
template <int N, int A>
HWY_INLINE Impulses<N> Rattle(const ConstraintGroup& group, const Vectors* position, Vectors* velocity) {
  constexpr int most = Sizes<N>::most;
  const int n = N < 0 ? group.n_constraints : N;
  Impulses<N> impulses;
  auto& [mu, r, is_solved] = impulses;
  Vectors v[most];
  V matrix[most * most];
  Differences<N, A>(group, position, r);
  Differences<N, A>(group, velocity, v);
  TESSERA_UNROLL
  for (int k = 0; k < n; ++k) {
    mu[k] = hn::Neg(Dot(r[k], v[k]));
    TESSERA_UNROLL
    for (int l = 0; l < n; ++l) matrix[k * n + l] = set(group.coupling[k * n + l]) * Dot(r[k], r[l]);
  }
  Solve<N>(matrix, mu, n);
  is_solved = hn::Eq(hn::Zero(D()), hn::Zero(D()));
  TESSERA_UNROLL
  for (int k = 0; k < n; ++k) is_solved = hn::And(is_solved, hn::IsFinite(mu[k]));
  Apply<N, A>(group, mu, r, velocity);
  return impulses;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::constraint
HWY_AFTER_NAMESPACE();
