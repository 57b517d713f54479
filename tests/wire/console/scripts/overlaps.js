// Returns pairs of texts whose boxes have more than a sliver in common. Scrolled and hidden texts are cut.
() => {
  const boxes = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && boxes.length < 1500) {
    const text = walker.currentNode, parent = text.parentElement;
    if (!text.data.trim() || parent.closest("script, style, title, option, .hidden, .skip, details:not([open]) > :not(summary)")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const { left, top, right, bottom } of [...range.getClientRects()].slice(0, 4)) {
      let box = { left, top, right, bottom, text: text.data.trim().slice(0, 30) };
      for (let above = parent; above; above = above.parentElement) {
        if (getComputedStyle(above).overflowX === "visible") continue;
        const frame = above.getBoundingClientRect();
        box = { ...box, left: Math.max(box.left, frame.left), right: Math.min(box.right, frame.right),
          top: Math.max(box.top, frame.top), bottom: Math.min(box.bottom, frame.bottom) };
      }
      if (box.right - box.left > 2 && box.bottom - box.top > 2) boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  const found = [];
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom - 5; j++) {
      const a = boxes[i], b = boxes[j];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3) found.push([a.text, b.text]);
    }
  }
  return found.slice(0, 5);
}
