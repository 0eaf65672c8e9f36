// Starts pprof's flame graph in a frame without an address of its own. pprof keeps
// the chosen box in the page's address, which such a page cannot change, and its menu
// leads to pages that are not there.
(() => {
  'use strict';
  let address = 'about:srcdoc';
  Object.defineProperty(document, 'URL', {get: () => address});
  history.pushState = (state, title, url) => { address = String(url); };
  document.addEventListener('contextmenu', (e) => e.stopPropagation(), true);
  document.addEventListener('keydown', (e) => {
    if (e.key == 'Escape') {
      address = 'about:srcdoc';
      window.dispatchEvent(new Event('popstate'));
    }
  });
  // A frame may get its size after its scripts have run, which is no event to pprof.
  new ResizeObserver(() => dispatchEvent(new Event('resize'))).observe(document.documentElement);
})();
var pprofUnitDefs;
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('stacks').textContent);
  pprofUnitDefs = data.Units;
  // Places can be told from the stacks.
  for (const source of data.Sources) source.Places = [];
  data.Stacks.forEach(({Sources}, Stack) => {
    new Set(Sources).forEach((i) => data.Sources[i].Places.push({Stack, Pos: Sources.indexOf(i)}));
  });
  stackViewer(data, data.Sources.map((s, i) => i == 0 ? '' : s.FullName));
})();
