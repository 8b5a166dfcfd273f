// Makes and fills elements. Texts come from files of others, so they are set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/** Returns the element with this id. */
export const the = (id) => document.getElementById(id);

/** Returns a new element with attributes, a text and children. */
export function make(tag, attributes = {}, ...content) {
  return fill(document.createElement(tag), attributes, content);
}

/** Returns a new element of a drawing. */
export function draw(tag, attributes = {}, ...content) {
  return fill(document.createElementNS(SVG, tag), attributes, content);
}

function fill(element, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...content.map((one) => (one instanceof Node ? one : document.createTextNode(String(one)))));
  return element;
}

/** Sets a text where it has changed, so that what reads the page aloud says news alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Returns whether a value is a finite number. */
export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Returns a number at keys below an object, or null. */
export function numberAt(object, ...keys) {
  const found = keys.reduce((at, key) => (at && typeof at === "object" ? at[key] : undefined), object);
  return isNumber(found) ? found : null;
}

/** Returns a list at a key; empty where there is none. */
export const listAt = (object, key) => (object && Array.isArray(object[key]) ? object[key] : []);

/** Returns a number with groups of digits and so many decimals. */
export function shown(value, decimals = 0) {
  return (value || 0).toLocaleString("en-GB", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
    .replace(/^-/, "−");
}

/** Returns a duration in words. */
export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}
