// The calls of one cell, a column of points for each launch, where the reader asks for them.
const CALLS_HEIGHT = 230;

function callsPanel(title, launches, all) {
  const values = launches.flatMap(launch => launch.us), low = Math.min(...values) / 1.1, high = Math.max(...values) * 1.1;
  const width = Math.max(260, Math.min(1000, 82 + 110 * launches.length)), bottom = CALLS_HEIGHT - 40, room = (width - 82) / launches.length;
  const y = scale(low, high, bottom, 8, true);
  const picture = element("svg:svg", { width, height: CALLS_HEIGHT, viewBox: `0 0 ${width} ${CALLS_HEIGHT}`, role: "img", "aria-label": `${title}: every call of each launch` });
  for (const value of ticks(low, high, true))
    picture.append(element("svg:path", { class: "grid", d: `M66,${y(value)}H${width - 10}` }), element("svg:text", { x: 60, y: y(value) + 4, "text-anchor": "end" }, number(value, "us")));
  launches.forEach((launch, i) => {
    const left = 70 + room * i, step = (room - 14) / Math.max(1, launch.us.length);
    launch.us.forEach((us, call) => picture.append(element("svg:circle", { class: "call", r: 2.2, cx: (left + step * (call + 0.5)).toFixed(1), cy: y(us).toFixed(1) })));
    const sorted = [...launch.us].sort((a, b) => a - b), middle = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
    picture.append(element("svg:path", { class: "median", d: `M${left},${y(middle)}h${room - 14}` }, element("svg:title", {}, `median of launch ${launch.name}: ${number(middle)} us`)),
      element("svg:text", { x: left + (room - 14) / 2, y: bottom + 17, "text-anchor": "middle" }, launch.name));
  });
  picture.append(element("svg:text", { x: width / 2, y: CALLS_HEIGHT - 6, "text-anchor": "middle", class: "soft" }, "launch; calls in their order, from left to right"),
    element("svg:text", { transform: `translate(12,${bottom / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft" }, "time"));
  const rest = all ? "" : " Long launches are thinned: every n-th time in ascending order, the shortest and the longest among them.";
  return [element("p", { class: "panel-title" }, title), element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title }, picture),
    element("p", { class: "note" }, `Each point is one call, the line the median of a launch.${rest}`)];
}

function callsOf(data) {
  return (where, id) => {
    const cell = data.cells[id];
    if (!cell) return;
    let box = where.nextElementSibling;
    if (!box || !box.classList.contains("calls")) where.after(box = element("div", { class: "calls", tabindex: -1 }));
    const shut = element("button", { type: "button" }, "close");
    shut.addEventListener("click", () => box.remove());
    const launches = Object.entries(cell.launches).map(([name, us]) => ({ name, us }));
    box.replaceChildren(...callsPanel(cell.title, launches, cell.all), shut);
    box.scrollIntoView({ block: "nearest" });
  };
}
