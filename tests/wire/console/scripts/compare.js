// Returns the share of the pixels in which two pictures differ by more than a limit; 1 for other sizes.
async ([one, other, limit]) => {
  const pixels = async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return [image.width, image.height, context.getImageData(0, 0, image.width, image.height).data];
  };
  const [[width, height, a], [width2, height2, b]] = [await pixels(one), await pixels(other)];
  if (width !== width2 || Math.abs(height - height2) > 1) return 1;
  let different = 0;
  const size = Math.min(a.length, b.length);
  for (let i = 0; i < size; i += 4) {
    if (Math.max(Math.abs(a[i] - b[i]), Math.abs(a[i + 1] - b[i + 1]), Math.abs(a[i + 2] - b[i + 2])) > limit) different++;
  }
  return different / (size / 4);
}
