// Each word becomes a box whose width depends on its number of characters, so that no font matters. Drawings keep
// their shapes and lose their texts. Controls, which have the sizes of their fonts, get fixed ones.
() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    if (text.parentElement.closest("svg, select, script, style, title")) continue;
    const words = text.data.split(/(\s+)/).filter((word) => word.trim()).map((word) => {
      const box = document.createElement("span");
      Object.assign(box.style, { display: "inline-block", height: "0.7em", background: "currentColor",
        width: Math.min(word.length, 40) * 0.55 + "em", maxWidth: "100%", margin: "0.25em 0.3em 0 0", verticalAlign: "top" });
      return box;
    });
    text.replaceWith(...words);
  }
  for (const each of document.querySelectorAll("svg text")) each.style.visibility = "hidden";
  for (const each of document.querySelectorAll("input, select, button")) {
    Object.assign(each.style, { boxSizing: "border-box", height: "36px", width: "140px", color: "transparent" });
  }
}
