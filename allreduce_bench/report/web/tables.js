// Tables that sort by a click on a column's head (third click: as written).
const UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, us: 1e-6, ms: 1e-3, s: 1, "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12 };

function valueOf(cell) {
  const text = cell ? cell.textContent.trim() : "", found = /^([+-]?[\d.,]+(?:e[+-]?\d+)?)\s*([kMGT]?B\/s|[KMGT]iB|B|us|ms|s)?(?![\w])/.exec(text);
  if (!found) return [text === "" || text === "-" ? 2 : 1, text.toLowerCase()];
  return [0, parseFloat(found[1].replace(/,/g, "")) * (UNITS[found[2]] || 1)];
}

function compare(a, b) {
  if (a[0] !== b[0]) return a[0] - b[0];
  return a[0] === 0 ? a[1] - b[1] : a[1].localeCompare(b[1]);
}

function sortable(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells], written = [...body.rows];
  if (written.length < 2) return;
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort") || "none"];
      heads.forEach(other => other.removeAttribute("aria-sort"));
      if (next !== "none") head.setAttribute("aria-sort", next);
      const keys = new Map(written.map(row => [row, valueOf(row.cells[column])])), turn = next === "descending" ? -1 : 1;
      const order = (a, b) => keys.get(a)[0] === 2 || keys.get(b)[0] === 2 ? compare(keys.get(a), keys.get(b)) : turn * compare(keys.get(a), keys.get(b));
      body.append(...(next === "none" ? written : [...written].sort(order)));
    });
  });
}
