"use strict";
const { before, after, losses } = JSON.parse(document.getElementById("losses").textContent);
const viewer = document.getElementById("viewer");
const frame = document.getElementById("loss");
for (const button of document.querySelectorAll("button[data-loss]")) {
  button.addEventListener("click", () => {
    const page = before + losses[Number(button.dataset.loss)] + after;
    frame.src = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    viewer.showModal();
  });
}
viewer.addEventListener("close", () => {
  URL.revokeObjectURL(frame.src);
  frame.removeAttribute("src");
});
