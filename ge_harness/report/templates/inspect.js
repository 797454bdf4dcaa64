"use strict";
// Everything is written with textContent: names are data, never markup.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const HEIGHT = 20;
  const MOST_HEIGHT = 0.6;
  // Characters that would move or hide what stands beside them.
  const UNSEEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f"
    + "\\u2028-\\u202e\\u2060-\\u206f\\ufeff]", "g");
  const plain = (text) => text.replace(UNSEEN,
    (each) => "\\u" + each.charCodeAt(0).toString(16).padStart(4, "0"));
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) { made.textContent = plain(text); }
    if (kind) { made.className = kind; }
    return made;
  };

  // The rows of a stage are those of the first one and every difference since.
  const kept = {};
  function rowsOf(graph, stage) {
    const name = graph + ":" + stage;
    if (kept.name === name) { return kept.rows; }
    const rows = new Map();
    const tables = data.graphs[graph].tables;
    for (let i = 0; i <= stage && i < tables.length; i += 1) {
      for (const key of tables[i].del) { rows.delete(key); }
      for (const key of Object.keys(tables[i].set)) { rows.set(key, tables[i].set[key]); }
    }
    kept.name = name;
    kept.rows = rows;
    return rows;
  }

  // Only the rows in view are in the page.
  function list(holder, rows, cells) {
    const most = Math.floor(window.innerHeight * MOST_HEIGHT);
    holder.style.height = Math.min(most, Math.max(2, rows.length) * HEIGHT + 2) + "px";
    const space = make("div");
    space.style.height = rows.length * HEIGHT + "px";
    const view = make("div");
    holder.replaceChildren(space, view);
    function draw() {
      const first = Math.max(0, Math.floor(holder.scrollTop / HEIGHT) - 5);
      const last = Math.min(rows.length,
        first + Math.ceil(holder.clientHeight / HEIGHT) + 10);
      const shown = [];
      for (let i = first; i < last; i += 1) {
        const row = make("div", undefined, "row " + (rows[i].kind || ""));
        row.style.top = i * HEIGHT + "px";
        for (const [text, kind] of cells(rows[i])) {
          const cell = make("span", text, kind);
          cell.title = plain(text);
          row.append(cell);
        }
        shown.push(row);
      }
      view.replaceChildren(...shown);
    }
    holder.onscroll = draw;
    holder.scrollTop = 0;
    draw();
  }

  const state = { graph: 0, stage: 0 };

  function showNodes() {
    if (!data.graphs.length) { return; }
    const asked = byId("search").value.toLowerCase();
    const rows = [];
    for (const row of rowsOf(state.graph, state.stage).values()) {
      const text = (row[1] + " " + row[2] + " " + row[3] + " " + row[4]).toLowerCase();
      if (!asked || text.includes(asked)) { rows.push({ row: row }); }
    }
    byId("found").textContent = rows.length + (rows.length === 1 ? " node" : " nodes");
    list(byId("nodes"), rows, (item) => [
      [String(item.row[5]), "tiny"], [item.row[1], ""], [item.row[2], "narrow"],
      [item.row[3], ""], [item.row[4], ""]]);
  }

  function showDiff() {
    if (!data.graphs.length) { return; }
    const left = new Map(rowsOf(state.graph, Number(byId("left").value)));
    const right = new Map(rowsOf(state.graph, Number(byId("right").value)));
    const rows = [];
    for (const key of new Set([...left.keys(), ...right.keys()])) {
      const a = left.get(key), b = right.get(key);
      const same = a && b && a[2] === b[2] && a[3] === b[3] && a[4] === b[4];
      if (!same || a[6] !== b[6]) {
        rows.push({ a: a, b: b, kind: !a ? "came" : !b ? "went" : "differs",
          what: !a ? "added" : !b ? "removed" : same ? "attributes" : said(a, b) });
      }
    }
    byId("differing").textContent = rows.length
      + (rows.length === 1 ? " node differs" : " nodes differ");
    const half = (row) => row
      ? [[row[1], ""], [row[2], "narrow"], [row[3] + " \u2192 " + row[4], ""]]
      : [["", ""], ["", "narrow"], ["", ""]];
    list(byId("diff"), rows, (item) => [
      [item.what, "short"], ...half(item.a), ...half(item.b)]);
  }

  function said(a, b) {
    const words = ["type", "inputs", "outputs"];
    return words.filter((word, place) => a[place + 2] !== b[place + 2]).join(", ");
  }

  function showChanges() {
    const holder = byId("changes");
    const graph = data.graphs[state.graph];
    const stage = graph && graph.stages[state.stage];
    holder.replaceChildren();
    if (!stage) { return; }
    byId("title").textContent = stage.name;
    byId("file").textContent = stage.file;
    const lines = stage.changes.length ? stage.changes : [stage.said];
    const shown = lines.slice(0, 2000).map((line) => make("div", line));
    if (lines.length > 2000) {
      shown.push(make("div", (lines.length - 2000) + " more", "quiet"));
    }
    holder.append(...shown);
  }

  function choose(graph, stage) {
    state.graph = graph;
    state.stage = stage;
    for (const button of document.querySelectorAll("nav button")) {
      const here = Number(button.dataset.graph) === graph
        && Number(button.dataset.stage) === stage;
      button.setAttribute("aria-current", String(here));
    }
    const stages = data.graphs.length ? data.graphs[graph].stages : [];
    for (const [id, place] of [["left", Math.max(0, stage - 1)], ["right", stage]]) {
      byId(id).replaceChildren(...stages.map((each, number) => {
        const option = make("option", number + " " + each.name);
        option.value = String(number);
        return option;
      }));
      byId(id).value = String(place);
    }
    showChanges();
    showNodes();
    showDiff();
  }

  for (const button of document.querySelectorAll("nav button")) {
    button.onclick = () => choose(Number(button.dataset.graph),
      Number(button.dataset.stage));
  }
  let waiting = 0;
  byId("search").oninput = () => {
    clearTimeout(waiting);
    waiting = setTimeout(showNodes, 120);
  };
  byId("left").onchange = showDiff;
  byId("right").onchange = showDiff;
  window.addEventListener("resize", () => { showNodes(); showDiff(); });
  // Begin where something happened.
  const stages = data.graphs.length ? data.graphs[0].stages : [];
  const first = stages.findIndex(
    (stage, place) => place && stage.said !== "no change");
  choose(0, Math.max(0, first));
}());
