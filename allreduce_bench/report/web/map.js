// The map of the fastest algorithm answers: what is known of a cell on hover and focus, its calls on a click or Enter.
function mapped(table, calls) {
  const rows = [...table.tBodies[0].rows].map(row => [...row.cells].filter(cell => cell.dataset.words));
  const cells = rows.flat(), said = element("output", { class: "said" }, "Point at a cell, or reach it by Tab and the arrow keys, to read it" + (calls ? "; a click or Enter shows its calls." : "."));
  if (!cells.length) return;
  table.closest(".scroll").after(said);
  const tell = cell => { if (cell) said.textContent = cell.dataset.words; };
  const open = cell => { if (cell && calls) calls(table.closest("figure"), cell.dataset.cell); };
  const hold = cell => { for (const each of cells) each.tabIndex = each === cell ? 0 : -1; };
  hold(cells[0]);
  const found = event => event.target.closest("td[data-words]");
  for (const kind of ["pointerover", "focusin"]) table.addEventListener(kind, event => tell(found(event)));
  table.addEventListener("click", event => open(found(event)));
  table.addEventListener("keydown", event => {
    const cell = found(event), [right, down] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] || [0, 0];
    if (cell && event.key === "Enter") open(cell);
    if (!cell || !(right || down)) return;
    event.preventDefault();
    const row = rows.findIndex(each => each.includes(cell)), line = rows[row + down] || [];
    const next = line[Math.min(line.length - 1, rows[row].indexOf(cell) + right)];
    if (next) { hold(next); next.focus(); }
  });
}
