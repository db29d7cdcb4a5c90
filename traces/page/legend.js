// -- the legend: only what this trace shows ------------------------------------------------

const BLANK = { text: "", colour: null, title: "", change: "", failing: false, sign: "" };

// Each sign and term, with what it means; below them the keys, and a hint.
function drawLegend(keysSaid, tip) {
  const legend = byId("legend");
  legend.replaceChildren();
  const part = (title, body) => legend.append(make("section", {}, make("h2", {}, title), body));
  const signs = signsUsed().map(([sign, text]) => {
    sign.setAttribute("aria-hidden", "true");
    return make("li", {}, sign, make("span", {}, text));
  });
  if (signs.length) part("Signs", make("ul.signs", {}, signs));
  const words = Object.entries(story.words).map(([word, meaning]) =>
    make("div", {}, make("dt", {}, word), make("dd", {}, meaning))
  );
  if (words.length) part("Terms", make("dl.words", {}, words));
  const keys = keysSaid.map((key) =>
    make("span", {}, key.slice(0, -1).map((name) => make("kbd", {}, name)), ` ${key.at(-1)}`)
  );
  legend.append(make("p.keys", {}, keys, make("span", {}, tip)));
}

// Each sign with what it means.
function signsUsed() {
  const lanes = scenes.flatMap((scene) => scene.lanes);
  const cells = lanes.flatMap((lane) => lane.cells);
  const colours = new Set(cells.filter((cell) => cell.text).map((cell) => cell.colour));
  const marks = new Map(lanes.flatMap((lane) => lane.marks.map((mark, i) => [mark.label, i % 2])));
  const signs = [];
  const like = (cell) => make("ol.cells", {}, drawCell({ ...BLANK, ...cell }, 0, false));
  const cellSign = (used, cell, text) => cells.some(used) && signs.push([like(cell), text]);
  const changed = (change) => (cell) => cell.change === change;
  for (const colour of [...colours].filter((c) => c !== null).sort((a, b) => a - b)) {
    signs.push([like({ text: `${colour}`, colour }), `${story.colour || "colour"} ${colour}`]);
  }
  cellSign(changed("new"), { text: "…", change: "new" }, "added by this step");
  cellSign(changed("gone"), { text: "…", change: "gone" }, "removed by this step");
  cellSign((cell) => !cell.text, {}, "empty");
  cellSign((cell) => cell.failing, { text: "…", failing: true }, "where the property fails");
  for (const [label, kind] of marks) {
    const line = make("span.markline", { "data-mark": `${kind}` });
    signs.push([line, `${label}: its position in the log`]);
  }
  if (lanes.some((lane) => lane.facts.some((fact) => fact.before !== null))) {
    const fact = drawFact({ name: "x", value: "2", before: "1", pieces: [] });
    signs.push([make("dl.facts", {}, fact), "changed by this step, from 1 to 2"]);
  }
  if (scenes.some((scene) => scene.arrows.length)) {
    signs.push([make("p.message", {}, "…"), "a message of this step"]);
  }
  return signs;
}
