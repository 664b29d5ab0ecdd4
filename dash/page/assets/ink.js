// Marks drawn by hand on a canvas; r is the screen's pixels to one of CSS.

export function disc(c, x, y, r) {
  c.beginPath();
  c.arc(x, y, r, 0, 7);
  c.fill();
}

export function cross(c, x, y, r, stroke, w) {
  c.strokeStyle = stroke;
  c.lineWidth = 1.5 * w;
  c.beginPath();
  c.moveTo(x - r, y - r);
  c.lineTo(x + r, y + r);
  c.moveTo(x + r, y - r);
  c.lineTo(x - r, y + r);
  c.stroke();
}

export function dashes(c, x, top, bottom, r) {
  c.lineWidth = r;
  c.setLineDash([2 * r, 3 * r]);
  c.beginPath();
  c.moveTo(x, top);
  c.lineTo(x, bottom);
  c.stroke();
  c.setLineDash([]);
}

export function triangle(c, x, y, s) {
  c.beginPath();
  c.moveTo(x - s, y - s);
  c.lineTo(x + s, y - s);
  c.lineTo(x, y + s * 0.7);
  c.fill();
}

export function word(c, text, x, y, r, align = "left") {
  c.font = `${11 * r}px system-ui, sans-serif`;
  c.textAlign = align;
  c.textBaseline = "middle";
  c.fillText(text, x, y);
}
