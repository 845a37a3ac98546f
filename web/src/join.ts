// Curves with places of their own, on one axis. Pure.
export type Points = { label: string; points: [number, number | null][] };

/** All places in order, and each curve's value there; null where it has none. */
export function joined(all: Points[]): { x: number[]; curves: { label: string; values: (number | null)[] }[] } {
  const places = new Set<number>();
  for (const one of all) for (const [x] of one.points) places.add(x);
  const x = [...places].sort((a, b) => a - b), index = new Map(x.map((place, at) => [place, at]));
  const curves = all.map((one) => {
    const values: (number | null)[] = Array.from({ length: x.length }, () => null);
    for (const [place, value] of one.points) values[index.get(place)!] = value;
    return { label: one.label, values };
  });
  return { x, curves };
}
