// Implements SETTLE with one water per lane; formula and sources are in settle.h. It is included once for each
// instruction set.
// Cost: about 170 operations, five square roots and four divisions for a vector of waters.
HWY_BEFORE_NAMESPACE();
namespace tessera::md::constraint {
namespace HWY_NAMESPACE {

/// Changes `velocity` (O, H, H) so that a drift over `timestep` from `position` keeps the shape. Returns the lanes
/// where that was possible; values in the others are undefined.
HWY_INLINE Mask Settle(const SettleParameters& p, const Vectors* position, Vectors* velocity, double timestep) {
  const V dt = set(timestep), one = set(1);
  const Vectors b0 = Sub(position[1], position[0]), c0 = Sub(position[2], position[0]);
  // These are relative to the oxygen, then to the centre of mass, after a drift without constraints.
  const Vectors from_o_to_b = MulAdd(dt, Sub(velocity[1], velocity[0]), b0);
  const Vectors from_o_to_c = MulAdd(dt, Sub(velocity[2], velocity[0]), c0);
  const Vectors from_o_to_centre = Mul(set(p.weight_h), Add(from_o_to_b, from_o_to_c));
  const Vectors b1 = Sub(from_o_to_b, from_o_to_centre), c1 = Sub(from_o_to_c, from_o_to_centre);

  // The frame is that of the paper: z is normal to the old plane, and y is the direction of the new oxygen within that
  // plane.
  Vectors z = Cross(b0, c0);
  Vectors x = Cross(z, from_o_to_centre);
  const V z2 = Dot(z, z), x2 = Dot(x, x);
  z = Mul(one / hn::Sqrt(z2), z);
  x = Mul(one / hn::Sqrt(x2), x);
  const Vectors y = Cross(z, x);

  const V b0x = Dot(x, b0), b0y = Dot(y, b0), c0x = Dot(x, c0), c0y = Dot(y, c0);
  const V b1x = Dot(x, b1), b1y = Dot(y, b1), b1z = Dot(z, b1);
  const V c1x = Dot(x, c1), c1y = Dot(y, c1), c1z = Dot(z, c1);
  const V a1z = hn::Neg(Dot(z, from_o_to_centre));

  // The molecule tilts out of the plane, according to the heights of the atoms after the unconstrained step.
  const V sin_phi = a1z * set(1 / p.centre_to_o);
  const V cos2_phi = simd::NegMulAdd(sin_phi, sin_phi, one);
  const V cos_phi = hn::Sqrt(cos2_phi);
  const V sin_psi = (b1z - c1z) / (set(2 * p.half_hh) * cos_phi);
  const V cos2_psi = simd::NegMulAdd(sin_psi, sin_psi, one);

  const V a2y = set(p.centre_to_o) * cos_phi;
  const V b2x = set(-p.half_hh) * hn::Sqrt(cos2_psi);
  const V down = set(-p.centre_to_hh) * cos_phi, lean = set(p.half_hh) * sin_psi * sin_phi;
  const V b2y = down - lean, c2y = down + lean;

  // The rotation in the plane conserves angular momentum: α sin θ + β cos θ = γ.
  const V alpha = simd::MulAdd(b2x, b0x - c0x, simd::MulAdd(b0y, b2y, c0y * c2y));
  const V beta = simd::MulAdd(b2x, c0y - b0y, simd::MulAdd(b0x, b2y, c0x * c2y));
  const V gamma = simd::MulAdd(b0x, b1y, simd::MulAdd(c0x, c1y, hn::Neg(simd::MulAdd(b1x, b0y, c1x * c0y))));
  const V length2 = simd::MulAdd(alpha, alpha, beta * beta), root2 = simd::NegMulAdd(gamma, gamma, length2);
  // The cosine follows from the same α, β and γ without 1 − sin², which would lose digits for a large rotation.
  const V root = hn::Sqrt(root2), inverse = one / length2;
  const V sin_theta = simd::MulSub(alpha, gamma, beta * root) * inverse;
  const V cos_theta = simd::MulAdd(beta, gamma, alpha * root) * inverse;

  // Each atom is displaced like the drifting oxygen to the centre of mass, and from there to its new place.
  const V per_time = set(1 / timestep);
  const Vectors centre = MulAdd(dt, velocity[0], from_o_to_centre);
  const auto placed = [&](V px, V py, V pz) HWY_ATTR { return MulAdd(px, x, MulAdd(py, y, MulAdd(pz, z, centre))); };
  const V turned = b2x * cos_theta, raised = b2x * sin_theta;
  velocity[0] = Mul(per_time, placed(hn::Neg(a2y * sin_theta), a2y * cos_theta, a1z));
  velocity[1] = Mul(
      per_time, Sub(placed(simd::NegMulAdd(b2y, sin_theta, turned), simd::MulAdd(b2y, cos_theta, raised), b1z), b0));
  velocity[2] =
      Mul(per_time,
          Sub(placed(hn::Neg(simd::MulAdd(c2y, sin_theta, turned)), simd::MulSub(c2y, cos_theta, raised), c1z), c0));
  const V zero = hn::Zero(D());
  return hn::And(hn::And(hn::And(z2 > zero, x2 > zero), hn::And(cos2_phi > zero, cos2_psi > zero)),
                 hn::And(root2 >= zero, length2 > zero));
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::md::constraint
HWY_AFTER_NAMESPACE();
