// Figures that answer: a page's pictures drawn again from their numbers, with values on hover and focus.
// A chart is panels over one x axis. Panels have tags and series have names; buttons hide and show both.
"use strict";

const SVG_NAMES = (() => { const box = document.createElement("div"); box.innerHTML = "<svg></svg>"; return box.firstChild.namespaceURI; })();
const MARKERS = { o: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", s: "M-3.6,-3.6h7.2v7.2h-7.2z", D: "M0,-5l5,5l-5,5l-5,-5z", "^": "M0,-5l5,9h-10z",
  v: "M0,5l5,-9h-10z", P: "M-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z", X: "M-5,-3l2,-2l3,3l3,-3l2,2l-3,3l3,3l-2,2l-3,-3l-3,3l-2,-2l3,-3z",
  "<": "M-5,0l9,-5v10z", ">": "M5,0l-9,-5v10z", p: "M0,-5l5,3.6l-2,5.4h-6l-2,-5.4z", h: "M0,-5l4.5,2.5v5l-4.5,2.5l-4.5,-2.5v-5z", "*": "M0,-6l2,4l4,2l-4,2l-2,4l-2,-4l-4,-2l4,-2z" };
const HEIGHT = 280, EDGE = { left: 78, right: 14, top: 22, bottom: 40 }, NEAR = 36, LETTER = 6.6, LEAST_PLOT = 180, LABEL_HEIGHT = 13, MOST_LABELS = 12;

function element(name, attributes, ...children) {
  const node = name.startsWith("svg:") ? document.createElementNS(SVG_NAMES, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const UNITS_OF = { us: [["ns", 1e-3], ["us", 1], ["ms", 1e3], ["s", 1e6]], "GB/s": [["B/s", 1e-9], ["kB/s", 1e-6], ["MB/s", 1e-3], ["GB/s", 1], ["TB/s", 1e3]], J: [["nJ", 1e-9], ["uJ", 1e-6], ["mJ", 1e-3], ["J", 1], ["kJ", 1e3]] };

// A value with three digits, in the unit that leaves no long row of zeros.
function number(value, unit) {
  if (value === 0) return "0";
  const units = UNITS_OF[unit] || [["", 1]], [name, size] = units.findLast(each => Math.abs(value) >= each[1] * 0.9995) || units[0];
  return (Number((value / size).toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 6 }) + " " + name).trim();
}

function scale(low, high, from, to, log) {
  const f = log ? Math.log : v => v, span = f(high) - f(low) || 1;
  return value => from + (f(value) - f(low)) / span * (to - from);
}

function ticks(low, high, log) {
  if (!log) {
    const rough = (high - low) / 5 || 1, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(n => n * unit).find(n => n >= rough);
    return Array.from({ length: Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1 }, (_, i) => (Math.ceil(low / step - 1e-9) + i) * step);
  }
  const decades = Math.log10(high / low), parts = decades > 3.5 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8];
  const found = [];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent++)
    for (const part of parts) if (part * 10 ** exponent >= low * 0.999 && part * 10 ** exponent <= high * 1.001) found.push(part * 10 ** exponent);
  const every = Math.ceil(found.length / 8);
  const decade = Math.max(0, found.findIndex(value => Number.isInteger(Math.round(Math.log10(value) * 1e9) / 1e9)));
  return found.filter((_, i) => (i - decade) % every === 0);
}

class Chart {
  constructor(figure, data, state) {
    Object.assign(this, { figure, data, state, log: data.y.log, place: null, folded: new Set(data.hidden) });
    state.charts.push(this);
    this.hint = element("div", { class: "hint", role: "status" });
    this.panels = element("div", { class: "panels" });
    this.chart = element("div", { class: "chart" }, this.buttons(), this.panels, this.hint);
    figure.prepend(this.chart);
    figure.classList.add("live");
    this.draw();
    new ResizeObserver(() => { if (this.width !== this.panels.clientWidth) this.draw(); }).observe(this.panels);
  }

  buttons() {
    const bar = element("div", { class: "toggles", role: "group", "aria-label": "what " + this.data.title + " shows" });
    const names = [...new Set(this.data.panels.flatMap(panel => panel.series.map(series => series.name)))];
    for (const name of names) bar.append(this.toggle(name, this.swatch(this.data.looks[name])));
    for (const facet of this.data.facets.filter(facet => facet.length > 1)) {
      bar.append(element("span", { class: "gap" }));
      for (const tag of facet) bar.append(this.toggle(tag));
    }
    const log = element("button", { type: "button", "aria-pressed": String(this.log), class: "scale" }, "logarithmic");
    log.addEventListener("click", () => { this.log = !this.log; log.setAttribute("aria-pressed", String(this.log)); this.draw(); });
    bar.append(element("span", { class: "gap" }), log);
    const bounds = new Map(this.data.panels.flatMap(panel => panel.lines.map(line => [line.name, line.kind])));
    for (const [name, kind] of bounds) {
      const line = element("svg:svg", { width: 26, height: 12, "aria-hidden": "true", class: "swatch" }, element("svg:path", { d: "M0,6H26", class: "bound " + kind }));
      bar.append(element("span", { class: "key-of-bound" }, line, " " + name));
    }
    return bar;
  }

  toggle(name, ...swatch) {
    const button = element("button", { type: "button", "data-name": name, "aria-pressed": String(!this.hides(name)) }, ...swatch, name);
    button.addEventListener("click", () => {
      if (!this.folded.delete(name) && !this.state.hidden.delete(name)) this.state.hidden.add(name);
      for (const chart of this.state.charts) chart.refresh();
    });
    return button;
  }

  hides(name) { return this.folded.has(name) || this.state.hidden.has(name); }

  refresh() {
    for (const button of this.chart.querySelectorAll("[data-name]")) button.setAttribute("aria-pressed", String(!this.hides(button.dataset.name)));
    this.draw();
  }

  paint(node, look) {
    if (look) { node.style.setProperty("--light", look.light); node.style.setProperty("--dark", look.dark); }
    return node;
  }

  swatch(look) {
    const line = element("svg:path", { d: "M0,6H26", class: "line", "stroke-dasharray": look.dash || null });
    const mark = element("svg:path", { d: MARKERS[look.marker] || MARKERS.o, transform: "translate(13,6)", class: look.hollow ? "mark hollow" : "mark" });
    return this.paint(element("svg:svg", { width: 26, height: 12, "aria-hidden": "true", class: "swatch" }, line, mark), look);
  }

  shown() { return this.data.panels.filter(panel => !panel.tags.some(tag => this.hides(tag))); }

  draw() {
    this.width = this.panels.clientWidth;
    const shown = this.shown(), columns = Math.max(1, Math.min(shown.length, 3, Math.floor((this.width + 12) / 330)));
    const named = this.labelWidth(shown), room = this.width - named - 12 * (columns - 1);
    const labels = named && room / columns - EDGE.left - EDGE.right >= LEAST_PLOT ? named : 0;
    const width = Math.max(240, Math.floor((labels ? room : room + named) / columns)), last = i => (i + 1) % columns === 0 || i === shown.length - 1, shared = this.data.y.shared && this.range(shown);
    this.hint.hidden = true;
    this.panels.replaceChildren(...shown.map((panel, i) => this.panel(panel, width, shared, last(i) ? labels : 0)));
    if (!shown.length) this.panels.append(element("p", {}, "Nothing is chosen."));
  }

  // The width of the names at the ends of lines; 0: too many lines to name.
  labelWidth(panels) {
    const names = panels.flatMap(panel => this.visible(panel).map(series => series.name));
    return names.length && new Set(names).size <= MOST_LABELS ? Math.max(...names.map(name => name.length)) * LETTER + 22 : 0;
  }

  visible(panel) { return panel.series.filter(series => !this.state.hidden.has(series.name)); }

  range(panels) {
    const used = value => typeof value === "number" && (!this.log || value > 0), values = [];
    for (const panel of panels) {
      for (const series of this.visible(panel)) values.push(...series.y, ...series.low, ...series.high);
      for (const line of panel.lines) if (line.kind === "one") values.push(...line.y);
    }
    const found = values.filter(used), least = found.reduce((a, b) => Math.min(a, b), Infinity), most = found.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!found.length) return [this.log ? 0.1 : 0, 1];
    return this.log ? [least / 1.15, most * 1.15] : [Math.min(0, least), most * 1.08 || 1];
  }

  panel(panel, width, shared, labels) {
    const values = this.data.x.values, [low, high] = shared || this.range([panel]), ends = [values[0], values[values.length - 1]];
    const bottom = HEIGHT - EDGE.bottom, pad = 10;
    const x = scale(ends[0], ends[1], EDGE.left + pad, width - EDGE.right - pad, true), y = scale(low, high, bottom, EDGE.top, this.log);
    const inside = value => typeof value === "number" && (!this.log || value > 0) && value >= low * 0.999 && value <= high * 1.001;
    const words = this.data.title + ", " + panel.title + ". The arrow keys move from value to value" + (this.state.calls ? "; Enter shows the calls." : ".");
    const picture = element("svg:svg", { width: width + labels, height: HEIGHT, viewBox: `0 0 ${width + labels} ${HEIGHT}`, class: panel.pale ? "pale" : null, tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": words });
    this.axes(picture, x, y, ticks(low, high, this.log), width, bottom);
    for (const mark of panel.marks) this.mark(picture, mark, x, bottom, width);
    for (const line of panel.lines)
      picture.append(element("svg:path", { class: "bound " + line.kind, d: this.path(line, x, y, inside) }, element("svg:title", {}, line.name)));
    const points = [];
    for (const series of this.visible(panel)) this.series(picture, series, x, y, inside, points);
    if (labels) this.labels(picture, points, width, bottom);
    const ring = element("svg:circle", { r: 8, class: "ring", visibility: "hidden" });
    picture.append(ring);
    this.answer(picture, panel, points, ring);
    return element("div", { class: "panel" }, element("p", { class: "panel-title" }, panel.title), picture);
  }

  axes(picture, x, y, marks, width, bottom) {
    for (const value of marks)
      picture.append(element("svg:path", { class: "grid", d: `M${EDGE.left},${y(value)}H${width - EDGE.right}` }),
        element("svg:text", { x: EDGE.left - 6, y: y(value) + 4, "text-anchor": "end" }, number(value, this.data.y.unit)));
    const { values, names } = this.data.x;
    const widest = Math.max(...names.map(name => name.length)) * 6.6 + 10, every = names.length > 8 ? Math.ceil(names.length * widest / (width - EDGE.left)) : 1;
    let last = Infinity;
    [...values.keys()].reverse().forEach(i => {
      const value = values[i], half = names[i].length * LETTER / 2;
      if ((values.length - 1 - i) % every || x(value) + half > last - 4) return;
      last = x(value) - half;
      const anchor = x(value) + half > width ? "end" : "middle";
      picture.append(element("svg:text", { x: anchor === "end" ? width - 1 : x(value), y: bottom + 17, "text-anchor": anchor }, names[i]));
    });
    picture.append(element("svg:path", { class: "axis", d: `M${EDGE.left},${EDGE.top}V${bottom}H${width - EDGE.right}` }),
      element("svg:text", { x: (EDGE.left + width - EDGE.right) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "soft" }, this.data.x.label),
      element("svg:text", { transform: `translate(12,${bottom / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft" }, this.data.y.label));
  }

  mark(picture, mark, x, bottom, width) {
    const right = x(mark.x) + 9 * LETTER < width;
    const title = () => element("svg:title", {}, mark.words);
    picture.append(element("svg:rect", { class: "switch", x: x(mark.low), width: Math.max(1, x(mark.high) - x(mark.low)), y: EDGE.top, height: bottom - EDGE.top }, title()),
      element("svg:path", { class: "switch", d: `M${x(mark.x)},${EDGE.top}V${bottom}` }, title()),
      element("svg:text", { x: right ? x(mark.x) - 2 : width - 2, y: EDGE.top - 7, "text-anchor": right ? "start" : "end", class: "soft" }, "crossover"));
  }

  // The name of each line at its end, moved apart where ends meet.
  labels(picture, points, width, bottom) {
    const ends = [...new Map(points.map(point => [point.series.name, point])).values()].sort((a, b) => a.at[1] - b.at[1]);
    const places = ends.map(end => Math.max(EDGE.top + 4, end.at[1]));
    for (let i = 1; i < places.length; i++) places[i] = Math.max(places[i], places[i - 1] + LABEL_HEIGHT);
    for (let i = places.length - 1, low = bottom; i >= 0; i--, low = places[i + 1] - LABEL_HEIGHT) places[i] = Math.min(places[i], low);
    ends.forEach((end, i) => {
      const edge = Math.max(end.at[0] + 6, width - EDGE.right);  // nothing is drawn where nothing was measured
      const lead = element("svg:path", { class: "line to-name", d: `M${edge.toFixed(1)},${end.at[1].toFixed(1)}L${width},${places[i].toFixed(1)}` });
      picture.append(this.paint(lead, this.data.looks[end.series.name]), element("svg:text", { x: width + 4, y: places[i] + 4 }, end.series.name));
    });
  }

  path(line, x, y, inside) {
    let open = false;
    return line.x.map((value, i) => {
      if (!inside(line.y[i])) { open = false; return ""; }
      if (line.breaks && line.breaks.includes(i)) open = false;
      const step = (open ? "L" : "M") + x(value).toFixed(1) + "," + y(line.y[i]).toFixed(1);
      open = true;
      return step;
    }).join("");
  }

  series(picture, series, x, y, inside, points) {
    const look = this.data.looks[series.name], group = this.paint(element("svg:g", { class: "series", "data-name": series.name }), look);
    group.append(element("svg:path", { class: "line", d: this.path(series, x, y, inside), "stroke-dasharray": look.dash || null }));
    series.x.forEach((value, i) => {
      if (!inside(series.y[i])) return;
      const at = [x(value), y(series.y[i])];
      if (inside(series.low[i]) && inside(series.high[i])) group.append(element("svg:path", { class: "bar", d: `M${at[0]},${y(series.low[i])}V${y(series.high[i])}` }));
      group.append(element("svg:path", { class: look.hollow ? "mark hollow" : "mark", d: MARKERS[look.marker] || MARKERS.o, transform: `translate(${at[0].toFixed(1)},${at[1].toFixed(1)})` }));
      points.push({ at, series, i });
    });
    picture.append(group);
  }

  answer(picture, panel, points, ring) {
    let chosen = -1;
    const choose = index => {
      chosen = index;
      const point = points[index];
      ring.setAttribute("visibility", point ? "visible" : "hidden");
      this.hint.hidden = !point;
      if (!point) return;
      ring.setAttribute("cx", point.at[0]);
      ring.setAttribute("cy", point.at[1]);
      const { series, i } = point, size = this.data.x.names[this.data.x.values.indexOf(series.x[i])];
      this.hint.replaceChildren(element("strong", {}, series.name), ` · ${panel.title} · ${size}: ${series.words[i]}`);
      const box = picture.getBoundingClientRect(), outer = this.chart.getBoundingClientRect(), wide = this.hint.offsetWidth;
      const left = box.left - outer.left + point.at[0] - wide / 2;
      this.hint.style.left = Math.max(0, Math.min(left, outer.width - wide)) + "px";
      this.hint.style.top = box.top - outer.top + point.at[1] - this.hint.offsetHeight - 14 + "px";
    };
    const open = () => { if (points[chosen] && this.state.calls) this.state.calls(this.figure, points[chosen].series.cells[points[chosen].i]); };
    picture.addEventListener("pointermove", event => {
      const box = picture.getBoundingClientRect(), distance = point => Math.hypot(point.at[0] - event.clientX + box.left, point.at[1] - event.clientY + box.top);
      let best = -1;
      points.forEach((point, i) => { if (distance(point) < NEAR && (best < 0 || distance(point) < distance(points[best]))) best = i; });
      if (best !== chosen) choose(best);
    });
    picture.addEventListener("pointerleave", () => { if (document.activeElement !== picture) choose(-1); });
    picture.addEventListener("focus", () => { if (chosen < 0 && points.length) choose(0); });
    picture.addEventListener("blur", () => choose(-1));
    picture.addEventListener("click", open);
    picture.addEventListener("keydown", event => this.key(event, points, chosen, choose, open));
  }

  key(event, points, chosen, choose, open) {
    if (event.key === "Escape") return choose(-1);
    if (event.key === "Enter") return open();
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 0, ArrowDown: 0 }[event.key];
    if (step === undefined || !points.length) return undefined;
    event.preventDefault();
    if (step) return choose((chosen + step + points.length) % points.length);
    const here = points[Math.max(0, chosen)], column = points.map((_, i) => i).filter(i => points[i].series.x[points[i].i] === here.series.x[here.i]);
    column.sort((a, b) => points[b].at[1] - points[a].at[1]);
    const turn = column.indexOf(Math.max(0, chosen)) + (event.key === "ArrowUp" ? 1 : -1);
    return choose(column[(turn + column.length) % column.length]);
  }
}
