// Distributes messages over the links of a torus or a fat tree. It is the inner loop of bench/scale/platforms.py, which
// describes the routes.
#include <cstdint>

namespace {

using Number = std::int64_t;

/// Adds the bytes of a message to `kept` (direction, ring, way, place): differences of loads from place to place along
/// rings, cut open and repeated once.
void route_torus(const Number* shape, Number nodes, Number a, Number b, double bytes, double* kept) {
  const Number strides[3] = {shape[1] * shape[2], shape[2], 1};
  Number at = a;
  for (int d = 0; d < 3; ++d, kept += 4 * nodes) {
    const Number k = shape[d], stride = strides[d], place = at / stride % k, goal = b / stride % k;
    if (place == goal) continue;
    const Number steps = (goal - place + k) % k;
    const bool is_up = 2 * steps <= k;
    // Down from p: the links that leave p, p − 1, …, counted from the second copy of the ring.
    const Number length = is_up ? steps : k - steps, begin = is_up ? place : place - length + 1 + k;
    const Number ring = at / (stride * k) * stride + at % stride;
    double* places = kept + (ring * 2 + (is_up ? 0 : 1)) * 2 * k;
    places[begin] += bytes;
    if (begin + length < 2 * k) places[begin + length] -= bytes;
    at += (goal - place) * stride;
  }
}

/// Adds the bytes of a message to `kept`: links of leaf switches up and down, of middle switches up and down.
void route_tree(const Number* shape, Number nodes, Number a, Number b, double bytes, double* kept) {
  const Number down = shape[0], up = shape[1], leaves = (nodes + down - 1) / down;
  const Number low = leaves * up, high = (leaves + down - 1) / down * up * up;
  const Number leaf_a = a / down, leaf_b = b / down;
  if (leaf_a == leaf_b) return;
  kept[leaf_a * up + b % up] += bytes;
  kept[low + leaf_b * up + b % up] += bytes;
  const Number group_a = leaf_a / down, group_b = leaf_b / down;
  if (group_a == group_b) return;
  const Number port = b % up * up + leaf_b % up;
  kept[2 * low + group_a * up * up + port] += bytes;
  kept[2 * low + high + group_b * up * up + port] += bytes;
}

}  // namespace

/// Distributes messages (n, 3): sender, receiver, bytes. Adds to counts of messages [sent, received][rank] between
/// nodes and inside them, and to bytes inside nodes [node], of ports [out, in][node], and of links.
extern "C" void add_messages(const Number* messages, Number n, Number per_node, Number nodes, Number is_torus,
                             const Number* shape, Number* far, Number* near, double* inside, double* ports,
                             double* links) {
  for (const Number* m = messages; m != messages + 3 * n; m += 3) {
    const Number a = m[0] / per_node, b = m[1] / per_node;
    const auto bytes = static_cast<double>(m[2]);
    Number* counted = a == b ? near : far;
    ++counted[m[0]];
    ++counted[nodes * per_node + m[1]];
    if (a == b) {
      inside[a] += bytes;
      continue;
    }
    ports[a] += bytes;
    ports[nodes + b] += bytes;
    (is_torus != 0 ? route_torus : route_tree)(shape, nodes, a, b, bytes, links);
  }
}
