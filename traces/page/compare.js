// Branches of what was explored, and two of them side by side; explore.js has the tree.

function drawBranches() {
  const ends = nodes.filter((node) => isEnd(node.id)).map((node) => node.id);
  byId("branches").querySelector(".count").textContent = `(${ends.length})`;
  const items = ends.map((id) => {
    const { scene, failing, variant } = nodes[id];
    const marks = failing.length ? `✗ ${failing.join(", ")}` : "";
    const states = `${scene.number} state${scene.number > 1 ? "s" : ""}`;
    const label = `${variant}, ${states}: ${readable(scene)}`;
    const link = make("a", { href: `#${id}` }, label);
    const compare = make("button", { type: "button", "data-compare": id }, "Compare");
    const isHere = branchOf(at).at(-1) === id;
    return make(
      "li",
      { "aria-current": isHere ? "true" : null },
      link,
      marks ? make("span.fails", {}, marks) : "",
      isHere ? make("span.hint", {}, "shown") : compare
    );
  });
  byId("branches").querySelector("ul").replaceChildren(...items.reverse());
}

let pair = null; // the two branches that are compared, each as a path

async function compare(left, right, number) {
  pair = [pathTo(left), pathTo(right)];
  const { fork } = await ask({ do: "compare", left, right });
  const most = Math.max(...pair.map((path) => path.length));
  const states = fork === 1 ? "initial state" : `${fork} states`;
  byId("common").textContent = fork ? `Both branches begin with the same ${states}.` : "";
  byId("both-slider").max = most;
  byId("comparison").hidden = false;
  byId("stage").hidden = true;
  await showBoth(number ?? Math.min(fork + 1, most));
  scrollTo(0, 0);
}

async function showBoth(number) {
  const most = Number(byId("both-slider").max);
  const wanted = Math.min(Math.max(number, 1), most);
  byId("both-slider").value = wanted;
  byId("both-counter").value = `${wanted} / ${most}`;
  byId("both-back").disabled = wanted === 1;
  byId("both-forward").disabled = wanted === most;
  const [left, right] = pair.map((path) => path[Math.min(wanted, path.length) - 1]);
  ["left", "right"].forEach((side, index) => drawSide(side, pair[index], wanted));
  const { differences } = await ask({ do: "compare", left, right });
  const rows = differences.map((piece) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, piece.at),
      make("td", {}, piece.left || "–"),
      make("td", {}, piece.right || "–")
    )
  );
  const heads = ["", "left", "right"].map((head) => make("th", { scope: "col" }, head));
  const table = make("table", {}, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
  byId("differences").replaceChildren(rows.length ? table : make("p", {}, "The states are equal."));
}

function drawSide(side, path, number) {
  tell(asStory(path));
  const id = path[Math.min(number, path.length) - 1];
  const { scene, failing, variant } = nodes[id];
  const lanes = drawLanes(scene);
  const ended = number > path.length ? make("p.hint", {}, "This branch has ended.") : "";
  const fails = failing.map((name) => make("p.fails", {}, make("b", {}, `✗ ${name} fails here`)));
  const go = make("a", { href: `#${id}` }, "Go on from here");
  byId(side).setAttribute("aria-label", `${side}: ${variant}`);
  byId(side).replaceChildren(
    make("p.kind", {}, variant),
    drawTelling(scene),
    make("div.outcome", {}, fails),
    lanes,
    ended,
    make("p", {}, go)
  );
  for (const log of lanes.querySelectorAll(".log")) showWhatMatters(log, 0);
  drawArrows(lanes, scene, true);
}

async function closeComparison(id = at) {
  pair = null;
  byId("comparison").hidden = true;
  byId("stage").hidden = false;
  await go(id);
}
