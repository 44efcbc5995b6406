// A page inside another page: without its heading, and as high as what it shows.

/** Hides the page's own head, and tells the page around it, whoever that is, how high this one is. */
export function embed() {
  document.documentElement.classList.add("gv-embedded");
  const tell = () => parent.postMessage({ gradviz: { height: document.body.offsetHeight } }, "*");
  new ResizeObserver(tell).observe(document.body);
}
