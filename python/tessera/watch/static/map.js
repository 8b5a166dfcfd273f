// The map of the network: subnets in each other, and in them hosts with their ranks.

import { listAt, make, numberAt, shown } from "./dom.js";

const MOST_HOSTS = 256;

/** Returns a rate in words. */
function rate(bytes) {
  return bytes >= 1e9 ? `${shown(bytes / 1e9, 1)} GB/s` : `${shown(bytes / 1e6, 0)} MB/s`;
}

function hostsOf(hosts) {
  const items = hosts.slice(0, MOST_HOSTS).map((host) => {
    const ranks = numberAt(host, "ranks") ?? 0, first = numberAt(host, "first_rank");
    const words = ranks === 1 ? `rank ${first}` : `${ranks} ranks from ${first}`;
    return make("li", {}, make("b", {}, String(host.name)), ` ${words}`);
  });
  if (hosts.length > MOST_HOSTS) items.push(make("li", {}, `and ${hosts.length - MOST_HOSTS} more`));
  return make("ul", { class: "hosts" }, ...items);
}

const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** Returns lists of those that have the same key, by key: there may be thousands. */
function grouped(all, keyOf) {
  const found = new Map();
  for (const one of all) {
    const key = keyOf(one);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(one);
  }
  return found;
}

function linkOf(subnet, what) {
  const latency = numberAt(subnet, "latency_seconds"), bandwidth = numberAt(subnet, "bytes_per_second");
  const medium = { __proto__: null, bus: " by a bus", fabric: " by a switch" }[subnet.medium] ?? "";
  const figures = latency !== null && bandwidth !== null ? `, ${shown(latency * 1e6, 1)} µs, ${rate(bandwidth)}` : "";
  return `${what}${medium}${figures}`;
}

/** Returns the map of a network of status.json. */
export function networkMap(network) {
  const hosts = listAt(network, "hosts"), subnets = listAt(network, "subnets");
  const below = grouped(subnets.keys(), (i) => subnets[i].parent), within = grouped(hosts, (host) => host.subnet);
  let colour = 0;
  const build = (number, depth) => {
    const parts = depth < 20 ? partsOf(number, depth + 1) : [], own = within.get(number) ?? [];
    if (parts.length + own.length === 0) return null;
    const what = parts.length > 0 ? counted(parts.length, "subnet") : counted(own.length, "host");
    const inner = [make("p", {}, linkOf(subnets[number], what))];
    if (own.length > 0) inner.push(hostsOf(own));
    if (parts.length > 0) inner.push(make("ul", {}, ...parts.map((part) => make("li", {}, part))));
    return make("div", { class: `subnet colour-${parts.length > 0 ? 5 : colour++ % 5}` }, ...inner);
  };
  const partsOf = (parent, depth) => (below.get(parent) ?? []).map((i) => build(i, depth)).filter(Boolean);
  const roots = partsOf(-1, 0);
  return roots.length > 0 ? roots : [hostsOf(hosts)];
}
