// Runs before the first paint, so that a chosen theme does not flash. `d` changes it (keys.js).
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen) document.documentElement.dataset.theme = chosen;
  } catch { /* storage may be forbidden: the system's theme then */ }
})();
