// Starts what stands in the scripts before, section by section. Without it the page is complete, too.
for (const section of document.querySelectorAll("section")) {
  const held = section.querySelector(":scope > script[type='application/json']");
  const data = held ? JSON.parse(held.textContent) : { charts: {}, cells: {} };
  const state = { hidden: new Set(), charts: [], calls: Object.keys(data.cells).length ? callsOf(data) : null };
  for (const figure of section.querySelectorAll("figure[data-chart]"))
    if (data.charts[figure.dataset.chart]) new Chart(figure, data.charts[figure.dataset.chart], state);
  for (const table of section.querySelectorAll("table.map")) mapped(table, state.calls);
  for (const link of section.querySelectorAll("figure a.svg")) {  // the page may be sent without its folder
    link.href = link.closest("figure").querySelector("img").src;
    link.hidden = false;
  }
  for (const table of section.querySelectorAll("table.sorts")) sortable(table);
}
