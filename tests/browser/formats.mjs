// How report.html writes its values, and back: written for the tests a second time, so that a page is compared with its
// document rather than with itself.

/** Like fmt: a tie goes to the even digit, where toFixed takes the larger one. */
export function fixed(value, decimals) {
  const rounded = value.toFixed(decimals), unit = 10 ** -decimals;
  const [, fraction] = Math.abs(value).toFixed(60).split(".");
  const isTie = /^50*$/.test(fraction.slice(decimals));
  if (!isTie || +rounded.at(-1) % 2 === 0) return rounded;
  return (value - Math.sign(value) * unit / 2).toFixed(decimals);
}

const scaled = units => value => {
  if (value === 0) return `0 ${units.at(-1)[1]}`;
  const [size, name] = units.find(([size]) => value / size >= 0.9995) ?? units.at(-1);
  const shown = value / size;
  return `${fixed(shown, shown >= 100 ? 0 : shown >= 10 ? 1 : 2)} ${name}`;
};

const durationUnits = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
export const duration = scaled(durationUnits);
export const bytes = scaled([[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);

/** "97.6 %", "0.04 %", "100 %"; nearly all is "> 99.9 %" */
export function percent(ratio) {
  const shown = 100 * ratio;
  if (shown >= 99.95) return shown < 100 ? "> 99.9 %" : `${fixed(shown, 0)} %`;
  if (shown < 0.005) return shown > 0 ? "< 0.01 %" : "0.0 %";
  return `${fixed(shown, shown < 0.095 ? 2 : 1)} %`;
}
export const ofRoof = ratio => (ratio > 1.0005 ? "≥ 100 %" : percent(Math.min(1, ratio)));

/** "+5.0 %", "−0.2 %", "0.0 %" */
export function change(ratio) {
  const size = `${fixed(100 * Math.abs(ratio), 1)} %`;
  return size === "0.0 %" ? size : (ratio > 0 ? "+" : "−") + size;
}

/** "2.69 ± 0.13 J": of what is uncertain one digit, or two where it begins with 1. */
export function energy(joules, uncertaintyRatio) {
  const [digits, unit] = scaled([[1e3, "kJ"], [1, "J"], [1e-3, "mJ"], [1e-6, "µJ"]])(joules).split(" ");
  const apart = +digits * (uncertaintyRatio ?? 0);
  if (!(apart > 0)) return `${digits} ${unit}`;
  const power = Math.floor(Math.log10(apart)), begins = apart / 10 ** power;
  const decimals = Math.min(3, Math.max(0, begins < 2 ? 1 - power : -power));
  return `${fixed(+digits, decimals)} ± ${fixed(apart, decimals)} ${unit}`;
}

/** Four digits: "1731", "84.21", "0.5774" */
export function number(value) {
  if (value < 1) return fixed(value, Math.min(9, 3 - Math.floor(Math.log10(value))));
  return fixed(value, [10, 100, 1000].filter(limit => value < limit - limit * 5e-5).length);
}

/** What a cell of the table shows, as a number to sort by: times in ns, shares in percent; nothing is less than anything. */
export function shownValue(text) {
  if (text === "" || text === "–") return 0;
  if (text === "≥ 100 %") return Infinity;
  const [digits, unit] = text.replace(/^[<>] /, "").split(" ");
  return +digits * (durationUnits.find(([, name]) => name === unit)?.[0] ?? 1);
}
